"""What somebody asks who takes himself for a member: it can be sent, and no group serves it."""

from __future__ import annotations

from random import Random

from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.joins import Joining
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from protocol.messages.groups import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from protocol.wire.fast import codec
from simulation.core.intrusions import intrusion
from simulation.core.restless_members import Asking
from tests.broker.core.groups.consumer.lab import GROUP, Lab

KINDS = {JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, ConsumerGroupHeartbeatRequest}


def drawn(count: int) -> list[Asking]:
    chance = Random(3)
    return [intrusion(GROUP, ["i"], chance.randrange(6), ["orders"], chance) for _ in range(count)]


def code_of(lab: Lab, asking: Asking) -> ErrorCode:
    """Return what a group answers."""
    message, version = asking.message, asking.version
    try:
        match message:
            case JoinGroupRequest():
                joining = Joining(7, message, version, "client", "/h", "unique")
                lab.take(lab.members.join(joining, 0, 0))
            case SyncGroupRequest():
                lab.take(lab.members.sync(7, message, version, 0, 0))
            case HeartbeatRequest():
                lab.take(lab.members.heartbeat(7, message, 0, 0))
            case _:
                beat = Heartbeating(message, version, "client", "/h", "unique")
                lab.take(lab.members.beat(7, beat, 0, 0))
    except KafkaError as refused:
        return refused.code
    return ErrorCode(lab.told.pop(7).error_code)


def test_all_kinds_are_drawn_and_can_be_sent() -> None:
    found = drawn(200)
    assert {type(each.message) for each in found} == KINDS
    for kind in KINDS:
        for each in found:
            assert type(each.message) is not kind or codec(kind, each.version).encode(each.message)


def test_no_group_serves_any_of_it() -> None:
    empty, consumers, classic, both = Lab(), Lab(), Lab(), Lab()
    for lab in (consumers, both):
        lab.beat("a", instance_id="i")
    classic.stable_classic({"orders": [0]})
    both.join_classic(group_instance_id="j")
    for lab in (empty, consumers, classic, both):
        codes = {code_of(lab, asking) for asking in drawn(200)}
        assert ErrorCode.NONE not in codes, lab
        assert ErrorCode.UNKNOWN_MEMBER_ID in codes
