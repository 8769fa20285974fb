"""Log dirs: failing once, and where a new log goes."""

from __future__ import annotations

import pytest

from broker.core.log_dirs import LogDirFailed, LogDirState, LogDirStates
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def log_dirs(*offline: str) -> LogDirStates:
    return LogDirStates(["/d1", "/d2", "/d3"], offline=offline)


def placed(dirs: LogDirStates, count: int) -> list[str]:
    return [dirs.place(TopicPartition("t", index)) for index in range(count)]


def place_error(dirs: LogDirStates) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        dirs.place(T0)
    return caught.value.code


def test_a_failure_says_log_dir_operation_and_cause() -> None:
    error = LogDirFailed("/d1", "append", OSError(5, "Input/output error"))
    assert str(error) == "log dir /d1 is offline: append: [Errno 5] Input/output error"
    assert str(LogDirFailed("/d1", "append", TimeoutError())).endswith("append: TimeoutError")


@pytest.mark.scenario(56, 74)
def test_a_log_dir_fails_once() -> None:
    dirs = log_dirs()
    assert dirs.fail("/d2")
    assert not dirs.fail("/d2")
    assert not dirs.fail("/unknown")
    assert dirs.online_paths == ("/d1", "/d3")
    assert dirs.offline_paths == ("/d2",)
    assert dirs.any_offline


@pytest.mark.scenario(57)
def test_the_last_failure_leaves_none_online() -> None:
    dirs = log_dirs("/d1", "/d2")
    assert not dirs.all_offline
    dirs.fail("/d3")
    assert dirs.all_offline


def test_the_same_path_twice_is_refused() -> None:
    with pytest.raises(AssertionError, match="twice"):
        LogDirStates(["/d1", "/d1"])


def test_only_the_configured_spelling_counts() -> None:
    dirs = log_dirs()
    assert dirs.is_configured("/d1")
    assert not any(map(dirs.is_configured, ["/d1/", "d1", "/", "any", ""]))


@pytest.mark.scenario(258)
def test_the_fewest_logs_win_and_the_configured_order_breaks_ties() -> None:
    dirs = log_dirs()
    assert placed(dirs, 5) == ["/d1", "/d2", "/d3", "/d1", "/d2"]


def test_logs_found_on_disk_and_removed_ones_are_counted() -> None:
    dirs = log_dirs()
    for _ in range(2):
        dirs.count_log("/d1")
    dirs.count_log("/d2")
    assert placed(dirs, 3) == ["/d3", "/d2", "/d3"]
    dirs.uncount_log("/d1")
    dirs.uncount_log("/d1")
    assert dirs.place(T0) == "/d1"


def test_counting_below_zero_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        log_dirs().uncount_log("/d1")


def test_an_offline_log_dir_is_never_chosen() -> None:
    assert placed(log_dirs("/d1"), 4) == ["/d2", "/d3", "/d2", "/d3"]


def test_the_next_candidate_is_used_when_the_first_just_broke() -> None:
    dirs = log_dirs()
    first = dirs.place(T0)
    dirs.fail(first)
    assert dirs.place(T0) == "/d2"


def test_without_any_log_dir_placing_is_a_storage_error() -> None:
    assert place_error(log_dirs("/d1", "/d2", "/d3")) == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.scenario(91, 105)
def test_a_preferred_log_dir_wins_until_the_log_was_created_there() -> None:
    dirs = log_dirs()
    dirs.prefer(T0, "/d2")
    dirs.prefer(T0, "/d3")
    assert dirs.preferred(T0) == "/d3"
    assert dirs.place(T0) == "/d3"
    assert dirs.place(T1) == "/d1"
    assert dirs.forget_preference(T0)
    assert not dirs.forget_preference(T0)
    assert dirs.place(T0) == "/d2"


def test_a_log_that_is_made_anew_where_it_was_lost_carries_out_no_order() -> None:
    dirs = log_dirs()
    dirs.prefer(T0, "/d2", is_ordered=False)
    assert dirs.place(T0) == "/d2"
    assert not dirs.forget_preference(T0)
    assert dirs.preferred(T0) is None


@pytest.mark.scenario(106)
def test_a_preferred_log_dir_that_failed_has_no_substitute() -> None:
    dirs = log_dirs()
    dirs.prefer(T0, "/d2")
    dirs.fail("/d2")
    assert place_error(dirs) == ErrorCode.KAFKA_STORAGE_ERROR
    assert dirs.preferred(T0) == "/d2"
    assert dirs.place(T1) == "/d1"


def test_cordoned_log_dirs_are_passed_over() -> None:
    dirs = log_dirs()
    dirs.cordon(["/d1", "/d3"])
    assert placed(dirs, 2) == ["/d2", "/d2"]
    assert dirs.is_cordoned("/d1")
    dirs.cordon([])
    assert dirs.place(T0) == "/d1"


@pytest.mark.scenario(249)
def test_the_only_online_one_is_used_although_it_is_cordoned() -> None:
    dirs = log_dirs("/d1", "/d2")
    dirs.cordon(["/d3"])
    assert placed(dirs, 2) == ["/d3", "/d3"]


@pytest.mark.scenario(249)
def test_when_all_online_ones_are_cordoned_the_first_is_used() -> None:
    dirs = log_dirs("/d1")
    dirs.cordon(["*"])
    dirs.count_log("/d2")
    assert placed(dirs, 2) == ["/d2", "/d2"]


@pytest.mark.parametrize("paths", [["/nope"], ["", "/d1"], ["*", "/d1"]])
def test_cordoning_what_is_not_configured_is_refused(paths: list[str]) -> None:
    with pytest.raises(KafkaError) as caught:
        log_dirs().cordon(paths)
    assert caught.value.code == ErrorCode.INVALID_CONFIG


def test_a_log_dir_that_comes_back_has_its_place_in_the_order_and_no_logs() -> None:
    log_dirs = LogDirStates(["/d1", "/d2", "/d3"])
    log_dirs.count_log("/d1")
    log_dirs.fail("/d1")
    log_dirs.revive("/d1")
    assert log_dirs.online_paths == ("/d1", "/d2", "/d3")
    assert not log_dirs.any_offline
    assert log_dirs.log_count("/d1") == 0
    assert log_dirs.fail("/d1")


def test_a_log_dir_is_unread_from_a_start_or_failure_with_unknown_logs_until_it_is_back() -> None:
    dirs = log_dirs("/d1")
    assert dirs.any_unread
    dirs.revive("/d1")
    assert not dirs.any_unread
    dirs.fail("/d2")
    assert not dirs.any_unread
    dirs.fail("/d3", has_unnamed=True)
    assert dirs.any_unread
    assert [dirs.is_unread(path) for path in ("/d2", "/d3")] == [False, True]


def test_each_change_of_a_log_dirs_state_has_a_witness_and_nothing_else_has() -> None:
    seen: list[tuple[object, object]] = []

    def witness(before: object, after: object) -> None:
        seen.append((before, after))

    online, cordoned, offline = LogDirState.ONLINE, LogDirState.CORDONED, LogDirState.OFFLINE
    dirs = LogDirStates(["/d1", "/d2"], witness=witness)
    dirs.cordon(["/d1"])
    dirs.cordon(["/d1"])
    dirs.fail("/d1")
    dirs.fail("/d1")
    dirs.fail("/d2")
    dirs.cordon(["/d2"])
    dirs.revive("/d1")
    dirs.revive("/d2")
    dirs.cordon([])
    assert seen == [
        (online, cordoned),
        (cordoned, offline),
        (online, offline),
        (offline, online),
        (offline, cordoned),
        (cordoned, online),
    ]
    assert [dirs.is_online(path) for path in ("/d1", "/d2", "/d3")] == [True, True, False]


def test_of_those_that_are_not_cordoned_the_first_with_the_fewest_logs_is_used() -> None:
    dirs = log_dirs()
    dirs.count_log("/d1")
    dirs.cordon(["/d3"])
    assert dirs.place(T0) == "/d2"
    assert dirs.place(T1) == "/d1"
    dirs.fail("/d1")
    assert dirs.place(T1) == "/d2"
