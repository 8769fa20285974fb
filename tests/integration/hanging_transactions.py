"""Leaves a transaction open that no coordinator knows, on a jbodlab or on Apache Kafka.

Leaders verify transactions, so the leader is told not to while it is written.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Final

from jbodlab.asking.rpc import BlockingClient
from protocol.admin.cluster import cluster_view, metadata_request
from protocol.admin.configs import alter_configs_request
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.deadlines import DEADLINE_S

LONG_AGO_MS: Final = 20 * 60 * 1000
"""Longer than a transaction may last, as find-hanging takes it where it is not told."""
STRANGER: Final = 9_000_000
"""A producer id that no coordinator gave."""
_VERIFICATION: Final = "transaction.partition.verification.enable"


def long_ago_ms() -> int:
    return time.time_ns() // 1_000_000 - LONG_AGO_MS


def plant_hanging_transaction(bootstrap: str, topic: str, producer_id: int = STRANGER) -> None:
    """Write one record of 20 minutes ago to partition 0 of a topic."""
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    with closing(BlockingClient(host, int(port))) as any_broker:
        view = cluster_view(any_broker.request(metadata_request([topic]), 9))
    leader = view.brokers[view.partition(topic, 0).leader]
    with (
        closing(BlockingClient(leader.host, leader.port)) as client,
        _unverified(client, leader.id),
    ):
        end = time.monotonic() + DEADLINE_S
        while (code := _written(client, topic, producer_id)) is not ErrorCode.NONE:
            # Apache Kafka hears of the setting a moment later.
            assert time.monotonic() < end, code


def _written(client: BlockingClient, topic: str, producer_id: int) -> ErrorCode:
    answer = client.request(_transactional(topic, producer_id), 9)
    (row,) = answer.responses[0].partition_responses
    return ErrorCode(row.error_code)


@contextmanager
def _unverified(client: BlockingClient, broker: int) -> Generator[None]:
    set_verification(client, broker, "false")
    try:
        yield
    finally:
        set_verification(client, broker, None)


def set_verification(client: BlockingClient, broker: int, value: str | None) -> None:
    """Set whether a broker verifies transactions; None: as it is configured."""
    request = alter_configs_request(ResourceType.BROKER, {str(broker): {_VERIFICATION: value}})
    answer = client.request(request, 1)
    assert [one.error_code for one in answer.responses] == [ErrorCode.NONE]


def _transactional(topic: str, producer_id: int) -> ProduceRequest:
    options = BatchOptions(
        producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    batch = build_batch([NewRecord(b"v", timestamp_ms=long_ago_ms())], options)
    data = PartitionProduceData(index=0, records=bytes(batch))
    return ProduceRequest(
        transactional_id="stranger",
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
