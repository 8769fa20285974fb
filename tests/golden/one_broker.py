"""One broker of Apache Kafka 3.9.2 that is asked things, for the makers of golden files."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from jbodlab.asking.rpc import BlockingClient
from tests.integration.apache_kafka import NO_AUTO_CREATION, KnownTopic, apache_kafka

_TIMEOUT_MS = 30_000


@contextmanager
def one_broker(
    topics: Mapping[str, Mapping[str, str]], configs: Mapping[str, str] = NO_AUTO_CREATION
) -> Generator[BlockingClient]:
    """Run it for the length of a block; give a connection to it.

    Args:
        topics: the configs of each topic, which has one partition, by name.
        configs: the broker's own.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "d1").mkdir()
        with apache_kafka(
            root / "kafka",
            broker_id=1,
            cluster_id="golden-answers-0000000",
            log_dirs=[str(root / "d1")],
            topics=_known(topics),
            configs=configs,
        ) as kafka:
            client = BlockingClient("127.0.0.1", kafka.port, timeout_ms=_TIMEOUT_MS)
            try:
                yield client
            finally:
                client.close()


def _known(topics: Mapping[str, Mapping[str, str]]) -> Sequence[KnownTopic]:
    return [
        KnownTopic(name, bytes([number] * 16), {0: 0}, configs)
        for number, (name, configs) in enumerate(topics.items(), start=1)
    ]
