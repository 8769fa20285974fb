"""The fetching side of a fetch session."""

from __future__ import annotations

from broker.core.follower_session import FollowerSession
from protocol.errors import ErrorCode


def begun(*names: str) -> FollowerSession[str]:
    session: FollowerSession[str] = FollowerSession()
    session.next_request(dict.fromkeys(names), [], [])
    assert session.answered(ErrorCode.NONE, 77)
    return session


def test_the_first_request_names_everything_and_asks_for_a_session() -> None:
    session: FollowerSession[str] = FollowerSession()
    plan = session.next_request({"a": 1, "b": 2}, ["a"], ["z"])
    assert plan == (0, 0, ["a", "b"], [])


def test_a_session_is_incremental_once_the_leader_gave_it_an_id() -> None:
    session: FollowerSession[str] = FollowerSession()
    session.next_request({"a": 1}, [], [])
    session.answered(ErrorCode.NONE, 0)
    assert not session.is_incremental

    session.answered(ErrorCode.NONE, 77)
    assert session.is_incremental


def test_later_requests_name_only_what_changed() -> None:
    session = begun("a", "b")
    assert session.next_request({"a": 1, "b": 2}, ["b"], []) == (77, 1, ["b"], [])
    assert session.answered(ErrorCode.NONE, 77)
    assert session.next_request({"a": 1, "b": 2}, [], []) == (77, 2, [], [])


def test_what_is_no_longer_wanted_is_forgotten_once() -> None:
    session = begun("a", "b")
    assert session.next_request({"a": 1}, [], ["b"]).forget == ["b"]
    session.answered(ErrorCode.NONE, 77)
    assert session.next_request({"a": 1}, [], ["b"]).forget == []


def test_what_left_and_came_back_is_sent_and_not_forgotten() -> None:
    session = begun("a", "b")
    plan = session.next_request({"a": 1, "b": 2}, ["b"], ["b"])
    assert (plan.send, plan.forget) == (["b"], [])


def test_a_lost_session_begins_anew_with_everything() -> None:
    session = begun("a")
    session.next_request({"a": 1}, [], [])
    assert not session.answered(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert session.next_request({"a": 1}, [], []) == (0, 0, ["a"], [])


def test_another_error_keeps_the_session() -> None:
    session = begun("a")
    session.next_request({"a": 1}, [], [])
    assert not session.answered(ErrorCode.UNKNOWN_SERVER_ERROR, 0)
    assert session.next_request({"a": 1}, [], []).session_id == 77


def test_a_leader_without_room_for_a_session_gets_everything_each_time() -> None:
    session: FollowerSession[str] = FollowerSession()
    for _ in range(2):
        assert session.next_request({"a": 1}, [], []) == (0, 0, ["a"], [])
        assert session.answered(ErrorCode.NONE, 0)


def test_the_epoch_wraps_to_one() -> None:
    """Behind the largest number that the protocol has, as leaders expect it."""
    session = begun("a")
    session._epoch = 2**31 - 2  # pyright: ignore[reportPrivateUsage] -- two billion requests later
    epochs: list[int] = []
    for _ in range(3):
        epochs.append(session.next_request({"a": 1}, [], []).session_epoch)
        session.answered(ErrorCode.NONE, 77)
    assert epochs == [2**31 - 2, 2**31 - 1, 1]
