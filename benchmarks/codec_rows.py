"""The messages of the codec benchmark, and the same tables as stock construct objects."""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import construct as c

from protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.groups import JoinGroupResponse, JoinGroupResponseMember
from protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.wire import types as t
from protocol.wire.record import Record

SMALL_BYTES: Final = 16 * 1024
LARGE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True)
class Row:
    """One message at one version; ``peer`` is the module of kafka.protocol that has it, or None."""

    name: str
    version: int
    peer: str | None
    make: Callable[[], Any]


def api_versions() -> ApiVersionsResponse:
    """Return what a broker answers that serves 60 APIs."""
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, max_version=9) for key in range(60)]
    )


def metadata() -> MetadataResponse:
    """Return 100 topics of 12 partitions on three brokers."""
    partitions = [
        MetadataResponsePartition(
            partition_index=index,
            leader_id=index % 3,
            leader_epoch=5,
            replica_nodes=[0, 1, 2],
            isr_nodes=[0, 1, 2],
        )
        for index in range(12)
    ]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=index, host=f"broker-{index}", port=9092)
            for index in range(3)
        ],
        cluster_id="abcdefghijklmnopqrstuv",
        controller_id=1,
        topics=[
            MetadataResponseTopic(name=f"topic-{index}", partitions=partitions)
            for index in range(100)
        ],
    )


def produce(size_bytes: int) -> ProduceRequest:
    """Return one batch for one partition."""
    partition = PartitionProduceData(index=3, records=bytes(size_bytes))
    topic = TopicProduceData(name="orders", partition_data=[partition])
    return ProduceRequest(acks=ACKS_ALL, timeout_ms=30_000, topic_data=[topic])


def fetch(size_bytes: int) -> FetchResponse:
    """Return the records of one partition."""
    partition = PartitionData(
        partition_index=3,
        high_watermark=1_000_000,
        last_stable_offset=1_000_000,
        records=bytes(size_bytes),
    )
    return FetchResponse(responses=[FetchableTopicResponse(topic="orders", partitions=[partition])])


def leader_and_isr() -> LeaderAndIsrRequest:
    """Return 1,000 partitions in ten topics."""
    states = [
        LeaderAndIsrPartitionState(
            partition_index=index,
            controller_epoch=3,
            leader=1,
            leader_epoch=5,
            isr=[1, 2, 3],
            partition_epoch=4,
            replicas=[1, 2, 3],
        )
        for index in range(100)
    ]
    return LeaderAndIsrRequest(
        controller_id=1,
        topic_states=[
            LeaderAndIsrTopicState(topic_name=f"topic-{index}", partition_states=states)
            for index in range(10)
        ],
    )


def describe_log_dirs() -> DescribeLogDirsResponse:
    """Return 1,000 partitions in ten topics of one log dir."""
    partitions = [
        DescribeLogDirsPartition(partition_index=index, partition_size=1_000_000 + index)
        for index in range(100)
    ]
    topics = [
        DescribeLogDirsTopic(name=f"topic-{index}", partitions=partitions) for index in range(10)
    ]
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir="/d1", topics=topics)])


def join_group() -> JoinGroupResponse:
    """Return a group of 20 members, as its leader sees it."""
    return JoinGroupResponse(
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader="consumer-0",
        member_id="consumer-0",
        members=[
            JoinGroupResponseMember(member_id=f"consumer-{index}-0123abcd", metadata=bytes(60))
            for index in range(20)
        ],
    )


ROWS: Final = (
    Row("ApiVersions response", 3, "metadata", api_versions),
    Row("Metadata 100 x 12", 8, "metadata", metadata),
    Row("Metadata 100 x 12", 12, "metadata", metadata),
    Row("Produce 16 KiB", 9, "producer", lambda: produce(SMALL_BYTES)),
    Row("Produce 1 MiB", 9, "producer", lambda: produce(LARGE_BYTES)),
    Row("Fetch 16 KiB", 12, "consumer", lambda: fetch(SMALL_BYTES)),
    Row("Fetch 1 MiB", 12, "consumer", lambda: fetch(LARGE_BYTES)),
    Row("LeaderAndIsr 1,000", 7, None, leader_and_isr),
    Row("DescribeLogDirs 1,000", 4, "admin", describe_log_dirs),
    Row("JoinGroup 20 members", 9, "consumer", join_group),
)


def stock(con: c.Construct) -> c.Construct:
    """Return what one would write with construct alone for the same bytes."""
    match con:
        case Record():
            fields = [name / stock(child) for name, child in con.fields]
            return c.Struct(*fields, *[_TAGS] * con.flexible)
        case t.Blob():
            return _prefixed(con, _text_or_bytes(con))
        case t.Array():
            return _prefixed(con, c.Array(c.this.n, stock(con.element)))
        case _:
            return con


_TAGS: Final = "tags" / c.Rebuild(
    c.PrefixedArray(c.VarInt, c.Sequence(c.VarInt, c.Prefixed(c.VarInt, c.GreedyBytes))),
    lambda _: [],
)


def _text_or_bytes(con: t.Blob) -> c.Construct:
    content = c.Bytes(c.this.n)
    return c.StringEncoded(content, "utf8") if con.kind == "string" else content


def _prefixed(con: t.Blob | t.Array, content: c.Construct) -> c.Construct:
    length = con.length.fixed
    if con.length.compact:
        length = c.ExprAdapter(c.VarInt, lambda obj, _: obj - 1, lambda obj, _: obj + 1)
    count = c.Rebuild(length, lambda context: -1 if context.v is None else len(context.v))
    return c.FocusedSeq("v", "n" / count, "v" / c.If(c.this.n >= 0, content))


def plain(value: Any, con: c.Construct) -> Any:
    """Return ``value`` as the dicts and lists that stock construct builds from."""
    if isinstance(con, Record):
        return {name: plain(getattr(value, name), child) for name, child in con.fields}
    if isinstance(con, t.Array) and value is not None:
        return [plain(item, con.element) for item in value]
    return value
