"""What the contracts of fetch sessions and throttles say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.fetch_session import FetchContext, FetchRequestHead, FetchSessions
from broker.core.follower_session import FollowerSession, SessionRequest
from broker.core.replication_quota import ReplicationQuota, is_throttled_replica
from broker.engine.follow.followed import Followed
from broker.engine.follow.follower_request import follower_request
from protocol.errors import ErrorCode, KafkaError
from tests.broker.core.test_closest_replica import choice, led
from tests.broker.core.test_fetch_session import Part, Result, go_on, key, make, part
from tests.broker.engine.follow.followers import SETTINGS, FakeReplica
from tests.simulation.contracts.wrong_rules import answers, told_of

EMPTY: Final[list[str]] = []
OPEN: Final[Callable[..., Any]] = vars(FetchSessions)["open"]
ANSWER: Final[Callable[..., Any]] = vars(FetchContext)["answer"]


def open_two(*, forget: bool = False) -> FetchContext[Part]:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0), part(1))
    return go_on(sessions, session_id, 1, part(0, 5), forgotten=(key(1),) if forget else ())


def reads(*parts: Part) -> Callable[..., object]:
    """Read these when a session goes on, whatever it asks for."""

    def rule(sessions: FetchSessions[Part], head: FetchRequestHead, *asked: Any, **how: Any) -> Any:
        if head.session_epoch == 0:
            return OPEN(sessions, head, *asked, **how)
        return FetchContext(sessions, head, list(parts), 0)

    return rule


def make_one() -> int:
    return make(FetchSessions(), part(0))


def open_in_another_epoch() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0), part(1))
    go_on(sessions, session_id, 1, part(0)._replace(current_leader_epoch=1))


def remembers_what_it_told(sessions: Any, head: Any, *asked: Any, **how: Any) -> Any:
    context = OPEN(sessions, head, *asked, **how)
    for session in sessions._sessions.values():
        for row in session.rows.values():
            row.high_watermark = 0
    return context


def leaves_all_out(context: FetchContext[Part], results: list[Result]) -> Any:
    return (1, EMPTY) if context.is_incremental else ANSWER(context, results)


def opens_another(sessions: Any, head: Any, asked: Any, **how: Any) -> Any:
    return OPEN(sessions, head, [], **how)


def answer(result: Result) -> None:
    open_two().answer([result, Result()])


def begun(session_id: int = 7) -> FollowerSession[str]:
    session: FollowerSession[str] = FollowerSession()
    session.next_request({"a": 1, "b": 1}, [], [])
    session.answered(0, session_id)
    return session


def limited(size_bytes: int = 2000) -> ReplicationQuota:
    quota = ReplicationQuota(1000)
    quota.record(size_bytes, 0)
    return quota


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Callable[[], object]]]] = [
    ("FetchSessions.open", reads(part(1)), open_two),
    ("FetchSessions.open", reads(part(0, 5), part(1)), lambda: open_two(forget=True)),
    ("FetchSessions.open", opens_another, make_one),
    ("FetchSessions.open", remembers_what_it_told, open_in_another_epoch),
    ("FetchContext.answer", leaves_all_out, lambda: answer(Result(records_size_bytes=8))),
    (
        "FetchContext.answer",
        leaves_all_out,
        lambda: answer(Result(error_code=ErrorCode.KAFKA_STORAGE_ERROR)),
    ),
    ("FetchContext.answer", leaves_all_out, lambda: answer(Result(preferred_read_replica=2))),
    (
        "FollowerSession.next_request",
        answers(SessionRequest(7, 1, EMPTY, EMPTY)),
        lambda: begun().next_request({"a": 2, "b": 1}, ["a"], []),
    ),
    (
        "FollowerSession.next_request",
        answers(SessionRequest(7, 1, EMPTY, ["b"])),
        lambda: begun().next_request({"a": 1, "b": 1}, [], ["b"]),
    ),
    ("FollowerSession.next_request", answers(SessionRequest(0, 0, EMPTY, EMPTY)), begun),
    (
        "FollowerSession.answered",
        answers(False),
        lambda: begun().answered(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
    ),
    ("FollowerSession.answered", answers(True), begun),
    ("closest_replica.closest_replica", answers(3), lambda: choice(led(8, 5))),
    ("closest_replica.closest_replica", answers(-1), lambda: choice(led(8, 5))),
    ("closest_replica.closest_replica", answers(2), lambda: choice(led(8, 5), rack="a")),
    (
        "replication_quota.is_throttled_replica",
        answers(False),
        lambda: is_throttled_replica(["0:1", "*"], partition=0, broker_id=2),
    ),
    (
        "replication_quota.is_throttled_replica",
        answers(True),
        lambda: is_throttled_replica(["0:1"], partition=1, broker_id=1),
    ),
    ("ReplicationQuota.record", answers(None), limited),
    ("ReplicationQuota.is_exceeded", answers(False), lambda: limited().is_exceeded(0)),
    ("ReplicationQuota.is_exceeded", answers(True), lambda: limited(100).is_exceeded(500)),
    ("ReplicationQuota.wait_ms", answers(1_999), lambda: limited().wait_ms(0)),
    ("ReplicationQuota.wait_ms", answers(2_001), lambda: limited().wait_ms(0)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def at_an_epoch_that_never_comes() -> None:
    with pytest.raises(KafkaError):
        go_on(FetchSessions[Part](), 7, -2)


def test_a_fetch_at_an_epoch_that_never_comes_may_be_refused() -> None:
    assert told_of(None, "FetchSessions.open", at_an_epoch_that_never_comes) == []


def told_requested(**changed: Any) -> list[str]:
    """Return what is told of a follower's request that differs from what its logs say."""
    entry = Followed(FakeReplica(), 4)
    settings = replace(SETTINGS, broker_epoch=int)
    plan = SessionRequest(7, 1, [entry.key], [])
    wait_ms = changed.pop("wait_ms", 500)
    right = follower_request  # the module's own name gets the wrong one

    def asks(*asked: Any) -> Any:
        request = right(*asked)
        for name, value in changed.items():
            setattr(request.topics[0].partitions[0], name, value)
        return request

    def use() -> None:
        follower_request(settings, plan, {entry.key: entry}, wait_ms)

    return told_of(asks, "follower_request.follower_request", use)


def test_a_follower_asks_where_its_log_ends_and_for_no_longer_than_it_may() -> None:
    assert not told_requested()
    assert told_requested(wait_ms=501)
    assert told_requested(wait_ms=-1)
    wrong = ("current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset")
    for name in (*wrong, "partition_max_bytes", "partition"):
        assert told_requested(**{name: 9}), name
