# confluent-kafka has types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportPrivateImportUsage=false
"""How well quotas hold: ``python -m benchmarks.quotas [--peer kafka]`` prints one table.

A producer and a consumer go as fast as they can against a quota. What counts is the rate of records
for ``--seconds`` from ``--settle`` on, when what a silent client may do at once is used up. Kafka's
quotas let a client have ten seconds' worth in one go and then nothing for as long, so that a rate
means something over many such rounds only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.table import Table

from benchmarks.jbodlab_target import JbodlabTarget
from benchmarks.peer.kafka import BUILD_DIR, KafkaPeer, PeerMissingError
from benchmarks.targets import Target, new_target
from jbodlab.asking.rpc import BlockingClient
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)

_TOPIC: Final = "limited"
_RECORD_BYTES: Final = 1024
_SMALL_BATCHES: Final = {"acks": "1", "linger.ms": 5, "batch.num.messages": 50}
"""One batch must be little beside what the quota lets through in a second."""
_POLL_S: Final = 0.1
_TIMEOUT_MS: Final = 30_000


class Held(NamedTuple):
    """What was asked of one quota and what came."""

    key: str
    asked_bytes_per_s: int
    obtained_bytes_per_s: float

    @property
    def ratio(self) -> float:
        """Obtained by asked."""
        return self.obtained_bytes_per_s / self.asked_bytes_per_s


class Span(NamedTuple):
    """When a rate is measured, in seconds from the begin."""

    settle_s: float
    measured_s: float


@click.command()
@click.option("--peer", type=click.Choice(["kafka"]), help="Measure Apache Kafka 3.9.2 too.")
@click.option("--rate", default=1_000_000, show_default=True, help="Bytes a second.")
@click.option("--settle", default=15.0, show_default=True, help="Seconds before it counts.")
@click.option("--seconds", default=120.0, show_default=True, help="Seconds that count.")
def main(*, peer: str | None, rate: int, settle: float, seconds: float) -> None:
    """Hold a producer and a consumer to a rate and print what they obtained."""
    makers: list[Callable[[Path], Target]] = [JbodlabTarget]
    if peer is not None:
        makers.append(partial(KafkaPeer, BUILD_DIR))
    table = Table("target", "quota", "asked B/s", "obtained B/s", "share")
    try:
        for maker in makers:
            for name, held in _measured(maker, rate, Span(settle, seconds)):
                table.add_row(
                    name,
                    held.key,
                    f"{held.asked_bytes_per_s:,}",
                    f"{held.obtained_bytes_per_s:,.0f}",
                    f"{held.ratio:.3f}",
                )
    except PeerMissingError as error:
        raise click.ClickException(str(error)) from error
    Console().print(table)


def _measured(maker: Callable[[Path], Target], rate: int, span: Span) -> Iterator[tuple[str, Held]]:
    with new_target(maker, "quotas", Console(stderr=True)) as target:
        target.launch()
        target.wait_until_up()
        admin = AdminClient({"bootstrap.servers": target.bootstrap})
        created: Any = admin.create_topics([NewTopic(_TOPIC, 1, 1)])
        created[_TOPIC].result(_TIMEOUT_MS / 1000)
        # What is consumed later, unlimited: more than the consumer may have by then.
        _fill(target.bootstrap, int(rate * (span.settle_s + span.measured_s) * 2))
        for key, rates in (("producer_byte_rate", _produced), ("consumer_byte_rate", _consumed)):
            _set_quota(target.bootstrap, key, rate)
            yield target.name, Held(key, rate, rates(target.bootstrap, span))


def _set_quota(bootstrap: str, key: str, rate: int) -> None:
    """Limit every client id; the producer's limit goes on while the consumer is measured."""
    host, _, port = bootstrap.split(",", maxsplit=1)[0].partition(":")
    every = AlterClientQuotasRequestEntityData(entity_type="client-id", entity_name=None)
    entry = AlterClientQuotasRequestEntryData(
        entity=[every], ops=[OpData(key=key, value=float(rate), remove=False)]
    )
    with closing(BlockingClient(host, int(port), timeout_ms=_TIMEOUT_MS)) as client:
        request = AlterClientQuotasRequest(entries=[entry], validate_only=False)
        (answer,) = client.request(request, 1).entries
        assert answer.error_code == 0, answer


def _fill(bootstrap: str, size_bytes: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **_SMALL_BATCHES})
    for _ in range(size_bytes // _RECORD_BYTES):
        _offer(producer, lambda _error, _record: None)
    producer.flush()


def _offer(producer: Producer, told: Callable[[Any, Any], None]) -> None:
    try:
        producer.produce(_TOPIC, bytes(_RECORD_BYTES), on_delivery=told)
    except BufferError:
        producer.poll(_POLL_S)
    else:
        producer.poll(0)


def _produced(bootstrap: str, span: Span) -> float:
    acknowledged = 0

    def told(error: Any, _record: Any) -> None:
        nonlocal acknowledged
        assert error is None, error
        acknowledged += 1

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "queue.buffering.max.messages": 2000,
            **_SMALL_BATCHES,
        }
    )
    obtained = _rate(lambda: _offer(producer, told), lambda: acknowledged, span)
    producer.purge()
    return obtained


def _consumed(bootstrap: str, span: Span) -> float:
    count = 0
    # A small queue, or what librdkafka fetched ahead is measured instead of what it was let have.
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 60_000,
            "queued.max.messages.kbytes": 100,
        }
    )
    consumer.assign([TopicPartition(_TOPIC, 0, 0)])

    def read() -> None:
        nonlocal count
        for record in consumer.consume(100, _POLL_S):
            assert record.error() is None, record.error()
            count += 1

    try:
        return _rate(read, lambda: count, span)
    finally:
        consumer.close()


def _rate(work: Callable[[], None], records: Callable[[], int], span: Span) -> float:
    """Return bytes per second of what ``records`` counts while ``work`` is done again and again."""
    began_s = time.perf_counter()
    while (at_s := time.perf_counter() - began_s) < span.settle_s:
        work()
    first_s, first = at_s, records()
    while (at_s := time.perf_counter() - began_s) < span.settle_s + span.measured_s:
        work()
    return (records() - first) * _RECORD_BYTES / (at_s - first_s)


if __name__ == "__main__":
    main()
