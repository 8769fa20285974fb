"""Groups of the consumer protocol with a clock that stands, topics, and members that are heard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from broker.core.coordination import Decided, Record
from broker.core.groups.assignors.builtin import BUILTIN_ASSIGNORS
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.group_members import GroupMembers
from broker.core.groups.joins import Joining
from broker.core.groups.subscription import encoded_assignment
from broker.core.metadata_image import MetadataImage
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId
from protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription, TopicPartition
from protocol.messages.control import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from protocol.stored_records import (
    GROUP_RECORDS,
    decode_key,
    decode_versioned,
    encode_versioned,
)

GROUP = "readers"
WALL_MS = 1_700_000_000_000
SESSION_MS = 45_000
CLASSIC_SESSION_MS = 10_000
REBALANCE_MS = 60_000
Parts = dict[str, list[int]]


def topic_id(name: str) -> bytes:
    """Give each name an id."""
    return name.encode().ljust(16, b"\0")


def image_with(racks: Mapping[int, str] | None = None, **partitions: int) -> MetadataImage:
    """Return metadata of these topics, with one replica on broker 1 for each partition."""
    image = MetadataImage(broker_id=BrokerId(1))
    tell_brokers(image, racks or {1: ""})
    for name, count in partitions.items():
        tell(image, name, count)
    return image


def tell_brokers(image: MetadataImage, racks: Mapping[int, str]) -> None:
    """Say which brokers are alive."""
    endpoint = UpdateMetadataEndpoint(
        port=9092, host="h", listener="PLAINTEXT", security_protocol=0
    )
    brokers = [
        UpdateMetadataBroker(id=broker, endpoints=[endpoint], rack=rack or None)
        for broker, rack in racks.items()
    ]
    image.update(UpdateMetadataRequest(controller_id=100, live_brokers=brokers, topic_states=[]))


def tell(
    image: MetadataImage,
    name: str,
    count: int,
    *,
    leader: int = 1,
    replicas: Sequence[int] = (1,),
    ident: bytes = b"",
) -> None:
    """Say how many partitions a topic has; leader -2 deletes them."""
    states = [
        UpdateMetadataPartitionState(
            partition_index=index, leader=leader, isr=[1], replicas=list(replicas)
        )
        for index in range(count)
    ]
    topic = UpdateMetadataTopicState(
        topic_name=name, topic_id=ident or topic_id(name), partition_states=states
    )
    brokers = [
        UpdateMetadataBroker(
            id=broker.id,
            endpoints=[
                UpdateMetadataEndpoint(
                    port=9092, host="h", listener="PLAINTEXT", security_protocol=0
                )
            ],
            rack=broker.rack,
        )
        for broker in image.live_brokers()
    ]
    image.update(
        UpdateMetadataRequest(controller_id=100, live_brokers=brokers, topic_states=[topic])
    )


class Lab:
    """One shard's members; those of the consumer protocol keep what they are told."""

    def __init__(self, image: MetadataImage | None = None, **config: Any) -> None:
        self.image = image if image is not None else image_with(orders=4)
        self.config = replace(
            CoordinationConfig(), **{"group_consumer_assignment_interval_ms": 0, **config}
        )
        self.batch_bytes_max = 1_048_588
        """What the log takes."""
        self.members = self.new_members()
        self.now_ms = 0
        self.clock_ahead_ms = 0
        self.records: list[Record] = []
        self.told: dict[int, Any] = {}
        """Answers by waiter."""
        self.waiter = 100
        self.epochs: dict[str, int] = {}
        """What members were told last."""
        self.owned: dict[str, Parts] = {}
        """What members have been told and took; they give back when they are heard next."""

    def new_members(self) -> GroupMembers:
        topics = KnownTopics(self.image)
        return GroupMembers(self.config, lambda: self.batch_bytes_max, topics, BUILTIN_ASSIGNORS)

    @property
    def group(self) -> ConsumerGroup:
        group = self.members.consumer.get(GROUP)
        assert group is not None
        return group

    @property
    def wall_ms(self) -> int:
        return WALL_MS + self.now_ms + self.clock_ahead_ms

    def take(self, decided: Decided) -> None:
        self.records += decided.records
        self.told |= {answer.waiter: answer.response for answer in decided.answers}

    # Members of the classic protocol.

    def join_classic(self, member_id: str = "", **said: Any) -> int:
        """Send a JoinGroup that may have to wait; its answer comes to ``told``."""
        subscription = ConsumerProtocolSubscription(
            topics=said.pop("topics", ["orders"]),
            owned_partitions=[
                TopicPartition(topic=name, partitions=indexes)
                for name, indexes in said.pop("owned", {}).items()
            ],
        )
        version, unique = said.pop("version", 3), said.pop("unique", "c")
        words: dict[str, Any] = {
            "session_timeout_ms": CLASSIC_SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": [
                JoinGroupRequestProtocol(name="range", metadata=encode_versioned(subscription, 1))
            ],
            "member_id": member_id,
            **said,
        }
        request = JoinGroupRequest(group_id=GROUP, **words)
        self.waiter += 1
        joining = Joining(self.waiter, request, version, "client", "/h", unique)
        self.take(self.members.join(joining, self.now_ms, self.wall_ms))
        return self.waiter

    def sync_classic(
        self, member_id: str, generation: int, assignments: Mapping[str, Parts] | None = None
    ) -> Any:
        """Send a SyncGroup and return its answer."""
        rows = [
            SyncGroupRequestAssignment(member_id=each, assignment=encoded_assignment(parts, 1))
            for each, parts in (assignments or {}).items()
        ]
        request = SyncGroupRequest(
            group_id=GROUP, member_id=member_id, generation_id=generation, assignments=rows
        )
        self.take(self.members.sync(0, request, 3, self.now_ms, self.wall_ms))
        return self.told[0]

    def beat_classic(self, member_id: str, generation: int, instance: str | None = None) -> int:
        """Send a Heartbeat and return the code of its answer."""
        request = HeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            generation_id=generation,
            group_instance_id=instance,
        )
        self.take(self.members.heartbeat(0, request, self.now_ms, self.wall_ms))
        return int(self.told[0].error_code)

    def leave_classic(self, member_id: str, instance: str | None = None) -> list[int]:
        """Send a LeaveGroup and return the codes of its answer."""
        leaving = [MemberIdentity(member_id=member_id, group_instance_id=instance)]
        request = LeaveGroupRequest(group_id=GROUP, members=leaving)
        self.take(self.members.leave(0, request, self.now_ms, self.wall_ms))
        return [int(row.error_code) for row in self.told[0].members]

    def stable_classic(self, assignment: Parts, **said: Any) -> str:
        """Have a classic group with one member that has this assignment; return its id."""
        waiter = self.join_classic(**said)
        self.later(self.config.group_initial_rebalance_delay_ms)
        joined = self.told[waiter]
        self.sync_classic(joined.member_id, 1, {joined.member_id: assignment})
        return str(joined.member_id)

    # Members of the consumer protocol.

    def ask(
        self, member_id: str, epoch: int = 0, *, version: int = 1, **said: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """Send one heartbeat; the first says all that it has to."""
        first: dict[str, Any] = {
            "rebalance_timeout_ms": REBALANCE_MS,
            "subscribed_topic_names": None if "subscribed_topic_regex" in said else ["orders"],
            "topic_partitions": [],
        }
        words: dict[str, Any] = {**(first if epoch == 0 else {}), "group_id": GROUP, **said}
        request = ConsumerGroupHeartbeatRequest(member_id=member_id, member_epoch=epoch, **words)
        heartbeating = Heartbeating(request, version, "client", "/127.0.0.1", "unique")
        self.take(self.members.beat(1, heartbeating, self.now_ms, self.wall_ms))
        told: ConsumerGroupHeartbeatResponse = self.told[1]
        return told

    def refused(self, member_id: str, epoch: int = 0, **said: Any) -> ErrorCode:
        """Send one heartbeat that is refused, and return why."""
        try:
            self.ask(member_id, epoch, **said)
        except KafkaError as error:
            return error.code
        raise AssertionError("it was taken")

    def beat(self, member_id: str, **said: Any) -> Parts:
        """Have a member go on as a real one does; return what it has after that."""
        epoch = self.epochs.get(member_id, 0)
        owned = self.owned.setdefault(member_id, {})
        if epoch:
            said = {"topic_partitions": rows(owned), **said}
        told = self.ask(member_id, epoch, **said)
        self.epochs[member_id] = told.member_epoch
        if told.assignment is not None:
            self.owned[member_id] = parts(told.assignment.topic_partitions)
        return self.owned[member_id]

    def settle(self, *member_ids: str, rounds: int = 4) -> None:
        """Have members go on until all are where they shall be."""
        for _ in range(rounds):
            for member_id in member_ids:
                self.beat(member_id)

    def later(self, ms: int) -> None:
        """Let time pass, and what is due be done."""
        end_ms = self.now_ms + ms
        while (due_ms := self.members.next_due_ms()) is not None and due_ms <= end_ms:
            self.now_ms = due_ms
            self.take(self.members.expire(self.now_ms, self.wall_ms))
        self.now_ms = end_ms

    def restart(self) -> None:
        """Load the log into a shard of another coordinator."""
        self.members = self.new_members()
        self.told = {}
        for key, value in self.records:
            record, about = decode_key(GROUP_RECORDS, key)
            self.members.replay(record, about, value)
        self.members.loaded(self.now_ms, self.wall_ms)

    def written(self, since: int = 0) -> list[tuple[int, Any, Any]]:
        """Return what was written: number, key and value of each record."""
        found: list[tuple[int, Any, Any]] = []
        for key, value in self.records[since:]:
            record, about = decode_key(GROUP_RECORDS, key)
            decoded = None if value is None else decode_versioned(record.value, value)[0]
            found.append((record.number, about, decoded))
        return found


def rows(owned: Mapping[str, Sequence[int]]) -> list[TopicPartitions]:
    """Write partitions as a request does."""
    return [
        TopicPartitions(topic_id=topic_id(name), partitions=list(partitions))
        for name, partitions in owned.items()
    ]


def parts(told: Iterable[TopicPartitions]) -> Parts:
    """Read partitions of a response."""
    return {bytes(row.topic_id).rstrip(b"\0").decode(): sorted(row.partitions) for row in told}
