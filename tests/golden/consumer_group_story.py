"""The story of one group of the consumer protocol, for Apache Kafka and for ours to be asked.

What is told of each step are the answer and the records that it made, with names in the place of
topics' ids, and without what is a run's own: times, and where a client is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from protocol.errors import KafkaError
from protocol.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from protocol.stored_records import GROUP_RECORDS, decode_key, decode_versioned, encode_versioned

GROUP: Final = "story"
TOPICS: Final[Mapping[str, int]] = {"orders": 4, "bills": 2}
_OWN: Final = ("client_id", "client_host", "assignment_timestamp", "throttle_time_ms")
_SUBSCRIPTION: Final = encode_versioned(ConsumerProtocolSubscription(topics=["orders"]), 1)

Ask: TypeAlias = Callable[[Any, int], Any]
"""Returns the answer to a request of a version; ours raises KafkaError instead of some."""
Written: TypeAlias = Callable[[], Sequence[tuple[bytes, bytes | None]]]
"""Returns the records since the last call."""


class Story:
    """Asks as members do, and tells."""

    def __init__(self, ask: Ask, written: Written, names: Mapping[bytes, str]) -> None:
        self._ask = ask
        self._written = written
        self._names = names
        self._epochs: dict[str, int] = {}
        self._owned: dict[str, Sequence[Any]] = {}

    def beat(self, member_id: str, **said: Any) -> dict[str, Any]:
        """Have a member go on as a real one does."""
        epoch = said.pop("member_epoch", self._epochs.get(member_id, 0))
        first: dict[str, Any] = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["orders"],
        }
        rows = [
            TopicPartitions(topic_id=bytes(row.topic_id), partitions=row.partitions)
            for row in self._owned.get(member_id, ())
        ]
        words: dict[str, Any] = {"topic_partitions": [] if epoch == 0 else rows}
        words |= {**(first if epoch == 0 else {}), **said}
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, **words
        )
        answer = self._answer(request, 1)
        if isinstance(answer, dict):
            return self._told(f"{member_id} at {epoch}", answer)
        if answer.error_code == 0 and answer.member_epoch >= 0:
            self._epochs[member_id] = answer.member_epoch
            if answer.assignment is not None:
                self._owned[member_id] = answer.assignment.topic_partitions
        return self._told(f"{member_id} at {epoch}", answer)

    def ask(self, told: str, request: Any, version: int) -> dict[str, Any]:
        """Ask something else."""
        return self._told(told, self._answer(request, version))

    def _answer(self, request: Any, version: int) -> Any:
        try:
            return self._ask(request, version)
        except KafkaError as error:
            return {"error_code": int(error.code)}

    def _told(self, step: str, answer: Any) -> dict[str, Any]:
        records = [self._record(key, value) for key, value in self._written()]
        plain = self._plain(answer)
        if plain.get("error_code"):
            plain = {"error_code": plain["error_code"]}
        return {"step": step, "answer": plain, "records": sorted(records, key=str)}

    def _record(self, key: bytes, value: bytes | None) -> list[Any]:
        record, about = decode_key(GROUP_RECORDS, key)
        found = None if value is None else decode_versioned(record.value, value)[0]
        return [record.number, self._plain(about), self._plain(found)]

    def _plain(self, value: Any) -> Any:
        if dataclasses.is_dataclass(value):
            fields = [one.name for one in dataclasses.fields(value) if one.name not in _OWN]
            return {name: self._plain(getattr(value, name)) for name in fields}
        if value.__class__ in (bytes, bytearray, memoryview):
            data = bytes(value)
            return self._names.get(data, data.hex())
        if value.__class__ in (list, tuple):
            return _sorted([self._plain(one) for one in value])
        return value


def _sorted(rows: list[Any]) -> list[Any]:
    """Sort what Kafka keeps in maps: partitions with their epochs, topics, members."""
    for row in rows:
        if hasattr(row, "get") and row.get("assignment_epochs"):
            epochs = dict(zip(row["partitions"], row["assignment_epochs"], strict=True))
            row["partitions"] = sorted(epochs)
            row["assignment_epochs"] = [epochs[index] for index in sorted(epochs)]
    return sorted(rows, key=str)


def told(ask: Ask, written: Written, names: Mapping[bytes, str]) -> Iterator[dict[str, Any]]:
    """Go through the story, and tell each step."""
    story = Story(ask, written, names)
    for member_id in ("a", "a", "b", "a", "b", "a", "b"):
        yield story.beat(member_id)
    yield from _refusals(story)
    yield from _static_members(story)
    yield from _classic_members(story)
    for member_id in ("a", "b"):
        yield story.beat(member_id, member_epoch=-1)


def _refusals(story: Story) -> Iterator[dict[str, Any]]:
    yield story.beat("a", member_epoch=9)
    yield story.beat("a", member_epoch=1)
    yield story.beat("x", member_epoch=3)
    yield story.beat("x", member_epoch=-1)
    yield story.beat("", member_epoch=0)
    yield story.beat("x", member_epoch=-3)
    yield story.beat("x", member_epoch=0, server_assignor="mine")
    yield story.beat("x", member_epoch=0, rebalance_timeout_ms=-1)


def _static_members(story: Story) -> Iterator[dict[str, Any]]:
    both = ["orders", "bills"]
    desk = {"instance_id": "desk"}
    yield story.beat("c", rack_id="r", subscribed_topic_names=both, **desk)
    for _ in range(2):
        for member_id, said in (("a", {}), ("b", {}), ("c", desk)):
            yield story.beat(member_id, **said)
    yield story.beat("d", **desk)
    yield story.beat("c", member_epoch=-2, **desk)
    yield story.beat("d", subscribed_topic_names=both, **desk)
    yield story.beat("c", **desk)
    describing = ConsumerGroupDescribeRequest(
        group_ids=[GROUP], include_authorized_operations=False
    )
    yield story.ask("describe", describing, 1)
    yield story.beat("d", member_epoch=-1, **desk)
    for member_id in ("a", "b", "a", "b"):
        yield story.beat(member_id)


def _classic_members(story: Story) -> Iterator[dict[str, Any]]:
    protocol = JoinGroupRequestProtocol(name="range", metadata=_SUBSCRIPTION)
    joining = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        member_id="k",
        protocol_type="consumer",
        protocols=[protocol],
    )
    joined = story.ask("k joins", joining, 5)
    yield joined
    generation = int(joined["answer"]["generation_id"])
    beating = HeartbeatRequest(group_id=GROUP, generation_id=generation, member_id="k")
    syncing = SyncGroupRequest(
        group_id=GROUP, generation_id=generation, member_id="k", assignments=[]
    )
    yield story.ask("k syncs", syncing, 3)
    yield story.ask("k is there", beating, 3)
    for member_id in ("a", "b", "a", "b"):
        yield story.beat(member_id)
    yield story.ask("k hears", beating, 3)
    yield story.ask("k joins again", joining, 5)
    yield story.ask("k syncs", syncing, 3)
    yield story.ask("k is there", beating, 3)
    yield story.ask("k at 1", dataclasses.replace(beating, generation_id=1), 3)
    leaving = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="k")])
    yield story.ask("k leaves", leaving, 3)
