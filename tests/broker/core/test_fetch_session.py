"""Incremental fetch sessions, against a client that keeps its own copy of what it was told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.fetch_session import (
    EPOCH_MAX,
    FINAL_EPOCH,
    FULL_EPOCH,
    FetchContext,
    FetchRequestHead,
    FetchSessions,
    SessionKey,
    session_key,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition


class Part(NamedTuple):
    tp: TopicPartition
    topic_id: bytes = ZERO_UUID
    fetch_offset: int = 0
    current_leader_epoch: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = 0
    log_start_offset: int = 0
    records_size_bytes: int = 0
    preferred_read_replica: int = -1
    diverging_epoch: object | None = None


def part(index: int, offset: int = 0) -> Part:
    return Part(TopicPartition("t", index), fetch_offset=offset)


def key(index: int) -> SessionKey:
    return ("t", index)


def head(
    session_id: int, epoch: int, *, ids: bool = False, follower: bool = False
) -> FetchRequestHead:
    return FetchRequestHead(session_id, epoch, uses_topic_ids=ids, is_follower=follower)


def make(
    sessions: FetchSessions[Part], *parts: Part, now_ms: int = 0, follower: bool = False
) -> int:
    context = sessions.open(head(0, FULL_EPOCH, follower=follower), list(parts), now_ms=now_ms)
    session_id, answered = context.answer([Result()] * len(parts))
    assert [told for told, _ in answered] == list(parts)
    return session_id


def go_on(
    sessions: FetchSessions[Part],
    session_id: int,
    epoch: int,
    *parts: Part,
    forgotten: tuple[SessionKey, ...] = (),
) -> FetchContext[Part]:
    return sessions.open(head(session_id, epoch), list(parts), forgotten=forgotten, now_ms=1)


def told(context: FetchContext[Part], results: list[Result]) -> list[int]:
    return [asked.tp.partition for asked, _ in context.answer(results)[1]]


def refusal(sessions: FetchSessions[Part], request: FetchRequestHead) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        sessions.open(request, [], now_ms=1)
    return caught.value.code


def test_a_full_fetch_makes_a_session_and_is_answered_in_full() -> None:
    sessions: FetchSessions[Part] = FetchSessions(first_session_id=42)
    context = sessions.open(head(0, FULL_EPOCH), [part(0), part(1)], now_ms=0)
    assert not context.is_incremental
    assert context.answer([Result(), Result()]) == (42, [(part(0), Result()), (part(1), Result())])
    assert (len(sessions), sessions.partition_count) == (1, 2)


def test_a_fetch_without_a_session_gets_none() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    context = sessions.open(head(0, FINAL_EPOCH), [part(0)], now_ms=0)
    assert context.answer([Result()])[0] == 0
    assert len(sessions) == 0


def test_a_full_fetch_of_nothing_makes_a_session_that_partitions_may_join() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions)
    context = go_on(sessions, session_id, 1, part(0))
    assert [each.tp.partition for each in context.parts] == [0]


def test_an_incremental_fetch_is_about_all_partitions_and_tells_only_news() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0), part(1), part(2))
    context = go_on(sessions, session_id, 1)
    assert context.is_incremental
    assert list(context.parts) == [part(0), part(1), part(2)]
    assert told(context, [Result()] * 3) == []
    context = go_on(sessions, session_id, 2)
    assert told(context, [Result(), Result(high_watermark=1), Result()]) == [1]


@pytest.mark.parametrize(
    "news",
    [
        Result(high_watermark=1),
        Result(log_start_offset=1),
        Result(records_size_bytes=1),
        Result(preferred_read_replica=2),
        Result(diverging_epoch=(1, 2)),
        Result(error_code=ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_what_is_news(news: Result) -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    assert told(go_on(sessions, session_id, 1), [news]) == [0]


def test_what_was_told_is_no_news() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    moved = Result(high_watermark=5, log_start_offset=2)
    assert told(go_on(sessions, session_id, 1), [moved]) == [0]
    assert told(go_on(sessions, session_id, 2), [moved]) == []


def test_an_error_is_told_every_time_and_its_end_once() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    broken = Result(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)
    for epoch in (1, 2):
        assert told(go_on(sessions, session_id, epoch), [broken]) == [0]
    assert told(go_on(sessions, session_id, 3), [Result()]) == [0]
    assert told(go_on(sessions, session_id, 4), [Result()]) == []


def test_partitions_join_change_and_leave() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0), part(1))
    context = go_on(sessions, session_id, 1, part(1, offset=9), part(2), forgotten=(key(0),))
    assert list(context.parts) == [part(1, offset=9), part(2)]
    assert told(context, [Result(), Result()]) == [2]


def test_a_client_under_another_leader_epoch_is_told_again_what_it_may_have_dropped() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0), part(1))
    later = part(0)._replace(current_leader_epoch=1)
    assert told(go_on(sessions, session_id, 1, later), [Result()] * 2) == [0]
    assert told(go_on(sessions, session_id, 2, later), [Result()] * 2) == []


def test_a_partition_that_had_records_is_read_last_next_time() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0), part(1), part(2))
    full = Result(records_size_bytes=1)
    assert told(go_on(sessions, session_id, 1), [full, Result(), Result()]) == [0]
    order = [asked.tp.partition for asked in go_on(sessions, session_id, 2).parts]
    assert order == [1, 2, 0]


def test_a_session_that_loses_its_last_partition_ends() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    context = go_on(sessions, session_id, 1, forgotten=(key(0),))
    nothing: list[Result] = []
    session_id, news = context.answer(nothing)
    assert (session_id, list(news)) == (0, [])
    assert len(sessions) == 0


def test_an_unknown_session_is_not_found() -> None:
    assert refusal(FetchSessions(), head(7, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_epoch_out_of_turn_is_refused_and_the_session_lives() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    for epoch in (2, EPOCH_MAX):
        assert refusal(sessions, head(session_id, epoch)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert go_on(sessions, session_id, 1).is_incremental


def test_topic_ids_may_not_come_and_go() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    code = refusal(sessions, head(session_id, 1, ids=True))
    assert code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


@pytest.mark.parametrize("epoch", [FULL_EPOCH, FINAL_EPOCH])
def test_a_full_fetch_ends_the_session_it_names(epoch: int) -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    sessions.open(head(session_id, epoch), [part(0)], now_ms=1)
    assert refusal(sessions, head(session_id, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epochs_wrap_to_one() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0))
    sessions._sessions[session_id].epoch = 2**31 - 1  # pyright: ignore[reportPrivateUsage] -- two billion fetches
    assert go_on(sessions, session_id, 2**31 - 1).is_incremental
    assert go_on(sessions, session_id, 1).is_incremental


def test_partitions_are_known_by_topic_id_when_there_is_one() -> None:
    topic_id = bytes(range(16))
    assert session_key(TopicPartition("t", 3), topic_id) == (topic_id, 3)
    assert session_key(TopicPartition("", 3), memoryview(topic_id)) == (topic_id, 3)
    assert session_key(TopicPartition("t", 3), ZERO_UUID) == ("t", 3)


def test_a_full_cache_refuses_while_all_sessions_are_fresh() -> None:
    sessions: FetchSessions[Part] = FetchSessions(slot_count=2, eviction_ms=100)
    assert make(sessions, part(0), now_ms=50)
    assert make(sessions, part(0), now_ms=50)
    assert make(sessions, part(0), part(1), now_ms=150) == 0


def test_a_broker_has_a_thousand_sessions_and_evicts_after_two_minutes_as_kafka_does() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    assert [make(sessions, part(0)) for _ in range(1_000)] == list(range(1, 1_001))
    assert make(sessions, part(0), now_ms=120_000) == 0
    assert make(sessions, part(0), now_ms=120_001) == 1_001
    assert (len(sessions), sessions.evictions_count) == (1_000, 1)


def test_a_session_that_grows_beyond_ten_thousand_partitions_ends() -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, *map(part, range(9_999)))
    assert len(go_on(sessions, session_id, 1, part(9_999)).parts) == 10_000
    with pytest.raises(KafkaError, match="more than 10000 partitions"):
        go_on(sessions, session_id, 2, part(10_000))
    assert len(sessions) == 0


def test_a_fetch_names_its_session_once_it_has_one() -> None:
    sessions: FetchSessions[Part] = FetchSessions(first_session_id=5)
    context = sessions.open(head(0, FULL_EPOCH), [part(0)], now_ms=0)
    assert context.session_id == 0
    assert context.answer([Result()])[0] == 5
    assert go_on(sessions, 5, 1).session_id == 5


def test_among_old_sessions_the_smallest_goes_and_consumers_go_before_followers() -> None:
    sessions: FetchSessions[Part] = FetchSessions(slot_count=3, eviction_ms=100)
    follower = make(sessions, part(0), follower=True)
    large = make(sessions, part(0), part(1), part(2))
    small = make(sessions, part(0), part(1))
    for each in (follower, large, small):
        is_follower = each == follower
        sessions.open(head(each, 1, follower=is_follower), [], now_ms=100)
    assert make(sessions, *map(part, range(4)), now_ms=100) == 0, "none is old"
    assert make(sessions, *map(part, range(4)), now_ms=101)
    assert refusal(sessions, head(small, 2)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert make(sessions, part(0), follower=True, now_ms=101)
    assert refusal(sessions, head(large, 2)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.open(head(follower, 2, follower=True), [], now_ms=101).is_incremental


def test_a_session_unused_for_long_makes_room() -> None:
    sessions: FetchSessions[Part] = FetchSessions(slot_count=2, eviction_ms=100)
    first = make(sessions, part(0))
    second = make(sessions, part(0))
    sessions.open(head(first, 1), [], now_ms=50)
    assert make(sessions, part(0), now_ms=101)
    assert refusal(sessions, head(second, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.open(head(first, 2), [], now_ms=101).is_incremental
    assert sessions.evictions_count == 1


def test_a_larger_session_pushes_an_old_smaller_one_out() -> None:
    sessions: FetchSessions[Part] = FetchSessions(slot_count=1, eviction_ms=100)
    old = make(sessions, part(0))
    for epoch, now_ms in ((1, 90), (2, 150)):
        sessions.open(head(old, epoch), [], now_ms=now_ms)
    assert make(sessions, part(0), now_ms=151) == 0
    assert make(sessions, part(0), part(1), now_ms=151)


def test_a_follower_pushes_a_fresh_consumer_out_but_never_the_reverse() -> None:
    sessions: FetchSessions[Part] = FetchSessions(slot_count=1, eviction_ms=100)
    make(sessions, part(0), part(1))
    follower = make(sessions, part(0), follower=True)
    assert follower
    sessions.open(head(follower, 1), [], now_ms=150)
    assert make(sessions, part(0), part(1), now_ms=151) == 0


def test_session_ids_stay_positive_and_skip_those_in_use() -> None:
    sessions: FetchSessions[Part] = FetchSessions(first_session_id=2**31 - 1)
    assert [make(sessions, part(0)) for _ in range(2)] == [2**31 - 1, 1]
    sessions._next_id = 1  # pyright: ignore[reportPrivateUsage] -- two billion sessions later
    assert make(sessions, part(0)) == 2


# The model: the client's copy of (high watermark, log start) must never be stale.

CHANGES = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 3), st.sampled_from(["hw", "start", "add", "drop"])
    ),
    max_size=25,
)


@given(CHANGES)
def test_the_client_always_knows_the_state_of_its_partitions(
    changes: list[tuple[int, int, str]],
) -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    state = {index: Result() for index in range(4)}
    wanted = {0: part(0), 1: part(1)}
    session_id = make(sessions, *wanted.values())
    known = {0: Result(), 1: Result()}
    epoch = 1
    for index, value, change in changes:
        added: list[Part] = []
        forgotten: list[SessionKey] = []
        if change == "hw":
            state[index] = replace(state[index], high_watermark=value)
        elif change == "start":
            state[index] = replace(state[index], log_start_offset=value)
        elif change == "add":
            wanted[index] = part(index, value)
            added.append(wanted[index])
        elif len(wanted) > 1 and index in wanted:
            del wanted[index]
            forgotten.append(key(index))
            known.pop(index, None)
        context = sessions.open(head(session_id, epoch), added, forgotten=forgotten, now_ms=epoch)
        epoch += 1
        assert {asked.tp.partition: asked for asked in context.parts} == wanted
        results = [state[asked.tp.partition] for asked in context.parts]
        for asked, result in context.answer(results)[1]:
            known[asked.tp.partition] = result
        assert known == {at: state[at] for at in wanted}


@pytest.mark.parametrize("epoch", [FULL_EPOCH, FINAL_EPOCH, 1])
def test_an_answer_that_lacks_a_partition_is_a_bug(epoch: int) -> None:
    sessions: FetchSessions[Part] = FetchSessions()
    session_id = make(sessions, part(0), part(1)) if epoch == 1 else 0
    named = [] if epoch == 1 else [part(0), part(1)]
    context = sessions.open(head(session_id, epoch), named, now_ms=0)
    with pytest.raises(ValueError, match="shorter"):
        list(context.answer([Result()])[1])
