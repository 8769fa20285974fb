"""A group's story, answered and stored as Apache Kafka 4.3.1 answered and stored it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.core.coordination import Decided, Record
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.group_catalog import describe_consumer_group
from broker.core.groups.group_shard import GroupShard
from broker.core.groups.joins import Joining
from broker.core.metadata_image import MetadataImage
from protocol.configs.parsing import broker_config
from protocol.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
)
from protocol.messages.groups import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from protocol.wire.fast import codec
from tests.broker.core.groups.consumer.lab import WALL_MS, image_with, tell
from tests.golden.consumer_group_story import TOPICS, told
from tests.golden.vectors import load_vectors


class Asked:
    """Our shard, asked as a broker is."""

    def __init__(self, image: MetadataImage) -> None:
        config = broker_config({"group.consumer.assignment.interval.ms": "0"})
        self.shard = GroupShard(config, lambda: 1_000_000, image)
        self.records: list[Record] = []

    def ask(self, request: Any, version: int) -> Any:
        decided = self._decided(request, version)
        self.records += decided.records
        (answer,) = decided.answers
        response = answer.response
        if isinstance(request, ConsumerGroupDescribeRequest):
            response = ConsumerGroupDescribeResponse(groups=[response])
        both = codec(response.__class__, version)
        return both.decode(both.encode(response))

    def _decided(self, request: Any, version: int) -> Decided:
        members = self.shard.members
        match request:
            case ConsumerGroupHeartbeatRequest():
                beating = Heartbeating(request, version, "client", "/h", "unique")
                return members.beat(1, beating, 0, WALL_MS)
            case ConsumerGroupDescribeRequest():
                return describe_consumer_group(self.shard, 1, request.group_ids[0])
            case JoinGroupRequest():
                return members.join(Joining(1, request, version, "client", "/h", "u"), 0, WALL_MS)
            case SyncGroupRequest():
                return members.sync(1, request, version, 0, WALL_MS)
            case HeartbeatRequest():
                return members.heartbeat(1, request, 0, WALL_MS)
            case _:
                return members.leave(1, request, 0, WALL_MS)

    def written(self) -> Sequence[Record]:
        found, self.records = self.records, []
        return found


def test_each_step_is_answered_and_stored_as_kafka_does() -> None:
    first, *recorded = load_vectors("consumer_group")
    names = {bytes.fromhex(ident): name for name, ident in first["topics"].items()}
    image = image_with()
    for ident, name in names.items():
        tell(image, name, TOPICS[name], ident=ident)
    asked = Asked(image)
    ours = list(told(asked.ask, asked.written, names))
    assert [step["step"] for step in ours] == [step["step"] for step in recorded]
    for own, kafkas in zip(ours, recorded, strict=True):
        assert own == kafkas
