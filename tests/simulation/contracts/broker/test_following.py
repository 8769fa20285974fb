"""What the contracts of fetching from leaders, and of being fetched from, say of wrong rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.engine.control.leadership import Leadership
from broker.engine.control.stopping import Stopping
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import Followed, FollowState
from broker.engine.follow.follower import Following
from broker.engine.replica import Replica
from jbodlab.worlds.scenario_files import load_plan
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.simulation.contracts.broker.test_engine import LEADER_FAILS, is_well, told_by
from tests.simulation.contracts.wrong_rules import answers, told_of

TAKE_ROLE: Final = Leadership.take_role
UNFOLLOW: Final = Following.unfollow


def follows_nobody(leadership: Any, replica: Replica, decision: Any) -> None:
    TAKE_ROLE(leadership, replica, decision)
    leadership._following.unfollow(replica)


def fetches_before_it_asks(leadership: Any, replica: Replica, decision: Any) -> None:
    TAKE_ROLE(leadership, replica, decision)
    for source in leadership._following._sources.values():
        for entry in source.fetcher.unreconciled.values():
            entry.enter(FollowState.READY)


def asks_on_where_epochs_end(following: Any, replica: Replica) -> None:
    source, followed = following._source_of.get(replica.tp, (-1, None))
    UNFOLLOW(following, replica)
    if followed is not None:
        fetcher = following._sources[source].fetcher
        fetcher.ask(Followed(followed, replica.leader_epoch), FollowState.RECONCILING)


WRONG_RULES: Final[list[tuple[str, Callable[..., object], str]]] = [
    ("Leadership.take_role", follows_nobody, LEADER_FAILS),
    ("Leadership.take_role", fetches_before_it_asks, LEADER_FAILS),
    ("Following.unfollow", answers(None), LEADER_FAILS),
    ("Following.unfollow", asks_on_where_epochs_end, LEADER_FAILS),
    ("FollowedLog._on_written", answers(None), LEADER_FAILS),
    ("Fetches._note_follower", answers(ErrorCode.NONE), LEADER_FAILS),
]


@pytest.mark.parametrize(("rule", "wrong", "scenario"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], scenario: str
) -> None:
    assert is_well(scenario)
    assert told_by(load_plan(scenario), rule, wrong).startswith(f"{rule} breaks its promise")


def refused(entry: Any, code: ErrorCode) -> None:
    fetcher: Any = None
    Fetcher.refused(fetcher, entry, code)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (ErrorCode.FENCED_LEADER_EPOCH, FollowState.FAILED),
        (ErrorCode.OFFSET_OUT_OF_RANGE, FollowState.OUT_OF_RANGE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, FollowState.DELAYED),
    ],
)
def test_what_a_follower_does_after_a_refusal_is_told(code: ErrorCode, state: FollowState) -> None:
    for entered in FollowState:
        entry: Any = SimpleNamespace(state=entered, replica=SimpleNamespace(tp="orders-0"))
        use = partial(refused, entry, code)
        told = told_of(answers(None), "Fetcher.refused", use)
        assert bool(told) is (entered is not state)


def told_stopped(
    *, is_deleted: bool = False, code: ErrorCode = ErrorCode.NONE, **stands: bool
) -> list[str]:
    """Return what is told when a replica that is online stands so after its StopReplica."""
    tp = TopicPartition("orders", 0)
    replica = SimpleNamespace(tp=tp, is_stopped=stands.get("is_stopped", True))
    stopping: Any = object.__new__(Stopping)
    stopping._state = SimpleNamespace(hosted=SimpleNamespace(online_replica=answers(replica)))
    sources = {tp: (2, None)} if stands.get("is_fetched") else {}
    stopping._following = SimpleNamespace(_source_of=sources)
    mover = SimpleNamespace(has=answers(stands.get("is_moved", False)))
    stopping._moves = SimpleNamespace(_mover=answers(mover))
    state = SimpleNamespace(partition_index=0, delete_partition=is_deleted)
    request: Any = SimpleNamespace(
        topic_states=[SimpleNamespace(topic_name="orders", partition_states=[state])]
    )
    row = SimpleNamespace(topic_name="orders", partition_index=0, error_code=code)

    async def stops(*_: object) -> object:
        return SimpleNamespace(partition_errors=[row])

    def use() -> None:
        asyncio.run(stopping._stop_replica(request))

    return told_of(stops, "Stopping._stop_replica", use)


def test_a_replica_that_is_stopped_is_neither_fetched_nor_moved() -> None:
    assert not told_stopped()
    assert told_stopped(is_fetched=True)
    assert told_stopped(is_moved=True)
    assert told_stopped(is_stopped=False)
    assert told_stopped(is_deleted=True)
    assert not told_stopped(is_deleted=True, code=ErrorCode.KAFKA_STORAGE_ERROR)
