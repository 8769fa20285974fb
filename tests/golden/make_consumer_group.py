"""Asks a broker of Apache Kafka 4.3.1 the story of a group: ``consumer_group.jsonl.gz``.

The first line has the ids of the topics; each other one is a step: its answer and its records.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from broker.core.coordination import partition_for
from jbodlab.asking.rpc import BlockingClient
from protocol.errors import ErrorCode
from protocol.messages.consumer_groups import ConsumerGroupDescribeRequest
from protocol.messages.coordinators import FindCoordinatorRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from protocol.records.records import iterate_all_records
from protocol.topic_names import CONSUMER_OFFSETS
from tests.deadlines import DEADLINE_S
from tests.golden.consumer_group_story import GROUP, TOPICS, told
from tests.golden.kraft_broker import kraft_broker
from tests.golden.made import Made, write_vectors
from tests.golden.make_group_configs import altered
from tests.golden.vectors import load_vectors

NAME: Final = "consumer_group"
_SET: Final = 0
_PARTITIONS: Final = 50


class Records:
    """What the group's partition gets."""

    def __init__(self, client: BlockingClient) -> None:
        self._client = client
        self._at = 0

    def written(self) -> Sequence[tuple[bytes, bytes | None]]:
        """Return what came since the last call."""
        wanted = FetchPartition(
            partition=partition_for(GROUP, _PARTITIONS),
            fetch_offset=self._at,
            partition_max_bytes=1 << 20,
        )
        topic = FetchTopic(topic=CONSUMER_OFFSETS, partitions=[wanted])
        answer = self._client.request(FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic]), 11)
        (row,) = answer.responses[0].partitions
        assert row.error_code == 0, row.error_code
        found = [
            one for one in iterate_all_records(bytes(row.records or b"")) if one.offset >= self._at
        ]
        if found:
            self._at = found[-1].offset + 1
        return [(bytes(one.key or b""), one.value and bytes(one.value)) for one in found]


def asked() -> Iterator[dict[str, Any]]:
    """Ask a new broker everything."""
    with kraft_broker() as client:
        interval = ("consumer.assignment.interval.ms", _SET, "0")
        assert altered(client, GROUP, [interval], is_tried=False) == [0, None]
        topics = [
            CreatableTopic(name=name, num_partitions=count, replication_factor=1)
            for name, count in TOPICS.items()
        ]
        client.request(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
        names = _names(client)
        yield {"topics": {name: ident.hex() for ident, name in names.items()}}
        _find_coordinator(client)
        yield from told(client.request, Records(client).written, names)


def _names(client: BlockingClient) -> dict[bytes, str]:
    wanted = [MetadataRequestTopic(name=name) for name in TOPICS]
    end = time.monotonic() + DEADLINE_S
    while True:
        rows = client.request(MetadataRequest(topics=wanted), 12).topics
        if all(row.error_code == 0 for row in rows):
            return {bytes(row.topic_id): row.name for row in rows}
        assert time.monotonic() < end, "no topics"


def _find_coordinator(client: BlockingClient) -> None:
    """Have the offsets topic made, and wait until the group's partition of it is loaded."""
    end = time.monotonic() + DEADLINE_S
    finding = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    describing = ConsumerGroupDescribeRequest(
        group_ids=[GROUP], include_authorized_operations=False
    )
    while (
        client.request(finding, 4).coordinators[0].error_code != 0
        or client.request(describing, 1).groups[0].error_code != ErrorCode.GROUP_ID_NOT_FOUND
    ):
        assert time.monotonic() < end, "no coordinator"


def made() -> Made:
    """Compare the steps; ids of topics, and so hashes, are a run's own."""
    stands, found = load_vectors(NAME), list(asked())
    differing = [
        str(new["step"])
        for old, new in zip(stands[1:], found[1:], strict=True)
        if _without_hash(old) != _without_hash(new)
    ]
    write = functools.partial(write_vectors, NAME, found)
    return Made(f"{len(found) - 1} steps", differing, write)


def _without_hash(step: dict[str, Any]) -> dict[str, Any]:
    records = [
        [number, key, value and {**value, "metadata_hash": 0}]
        for number, key, value in step["records"]
    ]
    return {**step, "records": records}
