"""What the contracts of who asks for a refusal say where nobody is refused, or one who may."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest

from broker.core.coordination import Answer, Decided
from broker.core.groups.group_shard import Commit, GroupShard, NewOffset
from broker.core.groups.membership import Committer
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    SyncGroupRequest,
)
from tests.broker.core.groups.consumer.lab import GROUP, Lab
from tests.simulation.contracts.coordinators import consumer_stories as stories
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
Asks = Callable[[Lab, str, int], object]
COMMIT, FETCH = GroupShard.commit, GroupShard.fetch
ORDERS_0 = TopicPartition("orders", 0)
OUTSIDE: Final = Committer(is_transactional=True)


def commits_for_all(shard: GroupShard, waiter: int, commit: Commit, *args: int) -> Decided:
    return COMMIT(shard, waiter, commit._replace(committer=OUTSIDE), *args)


def fetches_for_all(shard: GroupShard, *args: Any, **said: Any) -> Decided:
    return FETCH(shard, *args, require_stable=said["require_stable"])


def serves(*_: object) -> Decided:
    return Decided(answers=[Answer(1, HeartbeatResponse(error_code=0))])


def refuses(*_: object, **__: object) -> Decided:
    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def shard_of(lab: Lab) -> GroupShard:
    shard = GroupShard(lab.config, lambda: 10_000, lab.image)
    shard.members = shard._membership = lab.members
    return shard


def commit(lab: Lab, member_id: str, epoch: int) -> object:
    who = Committer(
        member_id=member_id, generation=epoch, has_member_epoch=True, is_transactional=False
    )
    wanted = Commit(GROUP, who, [NewOffset(TopicPartition("bills", 0), 5)])
    return shard_of(lab).commit(1, wanted, 0, 0)


def fetch(lab: Lab, member_id: str, epoch: int) -> object:
    return shard_of(lab).fetch(
        1, GROUP, [ORDERS_0], require_stable=True, member_id=member_id, member_epoch=epoch
    )


def heartbeat(lab: Lab, member_id: str, epoch: int) -> object:
    request = HeartbeatRequest(group_id=GROUP, member_id=member_id, generation_id=epoch)
    return lab.members.heartbeat(1, request, 0, 0)


def sync(lab: Lab, member_id: str, epoch: int) -> object:
    request = SyncGroupRequest(
        group_id=GROUP, member_id=member_id, generation_id=epoch, assignments=[]
    )
    return lab.members.sync(1, request, 3, 0, 0)


RULES: Final[list[tuple[str, Wrong, Asks, str]]] = [
    ("GroupShard.commit", commits_for_all, commit, "a"),
    ("GroupShard.fetch", fetches_for_all, fetch, "a"),
    ("GroupMembers.heartbeat", serves, heartbeat, ""),
    ("GroupMembers.sync", serves, sync, ""),
]


@pytest.mark.parametrize(("rule", "wrong", "asks", "who"), RULES)
@pytest.mark.parametrize("is_member", [False, True])
def test_who_is_none_or_in_another_epoch_is_not_served(
    rule: str, wrong: Wrong, asks: Asks, who: str, *, is_member: bool
) -> None:
    lab, classic_id = stories.upgraded()
    member_id = (who or classic_id) if is_member else "nobody"
    epoch = lab.group.epoch + 1

    def use() -> None:
        with suppress(KafkaError):
            asks(lab, member_id, epoch)

    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


@pytest.mark.parametrize(("rule", "wrong", "asks", "who"), RULES)
def test_a_member_in_its_epoch_is_served(rule: str, wrong: Wrong, asks: Asks, who: str) -> None:
    del wrong
    lab, classic_id = stories.upgraded()
    member_id = who or classic_id
    epoch = lab.group.members[member_id].epoch
    assert told_of(None, rule, lambda: asks(lab, member_id, epoch)) == []
    assert told_of(refuses, rule, lambda: asks(lab, member_id, epoch))


def test_nobody_commits_as_a_member_of_a_group_that_is_not_there() -> None:
    def use() -> None:
        with suppress(KafkaError):
            commit(Lab(), "a", 1)

    assert told_of(None, "GroupShard.commit", use) == []
    assert told_of(commits_for_all, "GroupShard.commit", use)


def test_who_speaks_the_other_protocol_has_no_heartbeat() -> None:
    lab = stories.shared()
    assert told_of(serves, "GroupMembers.heartbeat", lambda: heartbeat(lab, "a", lab.epochs["a"]))


@pytest.mark.parametrize("more", [0, 5])
def test_a_heartbeat_in_another_epoch_is_refused(more: int) -> None:
    lab = stories.shared()
    epoch = lab.epochs["a"] + more

    def use() -> None:
        with suppress(KafkaError):
            lab.ask("a", epoch)

    assert told_of(None, "GroupMembers.beat", use) == []
    assert bool(told_of(serves, "GroupMembers.beat", use)) is bool(more)


def test_a_heartbeat_begins_no_group() -> None:
    assert told_of(serves, "GroupMembers.beat", lambda: Lab().ask("a", 3))


JOINED: Final = JoinGroupResponse(
    error_code=0, protocol_name="range", leader="", member_id="nobody", members=[]
)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"member_id": "nobody", "group_instance_id": "desk"}, "FENCED_INSTANCE_ID"),
        ({"member_id": "nobody", "group_instance_id": "other"}, "UNKNOWN_MEMBER_ID"),
        ({"protocol_type": "connect"}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocols": []}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"size_max": 2}, "GROUP_MAX_SIZE_REACHED"),
    ],
)
def test_who_may_not_join_by_the_other_protocol_is_refused(said: dict[str, Any], code: str) -> None:
    lab = Lab(group_consumer_max_size=said.pop("size_max", 5))
    lab.beat("a", instance_id="desk")
    lab.join_classic()

    def use() -> None:
        with suppress(KafkaError):
            lab.join_classic(**said)

    rule = "ClassicMembers.join"
    assert told_of(None, rule, use) == []
    for wrong in (refuses, answers(JOINED)):
        assert any(code in each for each in told_of(wrong, rule, use)) is (wrong is not refuses)


def test_who_may_join_is_not_refused_for_what_others_are() -> None:
    def fences(*_: object) -> object:
        raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)

    lab = Lab()
    lab.beat("a", instance_id="desk")
    assert told_of(fences, "ClassicMembers.join", lab.join_classic)
