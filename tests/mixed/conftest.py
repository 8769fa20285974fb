"""One cluster for all stories: ZooKeeper and brokers of Apache Kafka with two log dirs each."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from benchmarks.peer.kafka import BUILD_DIR, PeerMissingError
from tests.kafka_tools.tools import KafkaTools
from tests.mixed.mixed_lab import MixedLab, mixed_lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[MixedLab]:
    folder = tmp_path_factory.mktemp("mixed")
    try:
        with mixed_lab(folder) as running:
            yield running
    except PeerMissingError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def tools(lab: MixedLab, tmp_path_factory: pytest.TempPathFactory) -> Generator[KafkaTools]:
    """Apache Kafka's own tools, which ask the brokers of the lab."""
    folder = tmp_path_factory.mktemp("mixed-tools")
    running = KafkaTools("3.9.2", BUILD_DIR, folder, lab.nodes.bootstrap)
    try:
        yield running
    finally:
        running.close()
