"""What a running broker's configuration may turn into; texts as a 3.9.2 broker answers."""

from __future__ import annotations

import pytest

from protocol.configs.changes import effective
from protocol.configs.reconfiguration import check_reconfiguration
from protocol.errors import ErrorCode, KafkaError


def refusal(before: dict[str, str], changed: dict[str, str]) -> str | None:
    """Return what is said of changing a broker; None when it is taken."""
    try:
        check_reconfiguration(effective(before), effective(before, changed))
    except KafkaError as error:
        return error.message if error.code is ErrorCode.INVALID_REQUEST else repr(error)
    return None


@pytest.mark.parametrize("name", ["num.replica.fetchers", "num.recovery.threads.per.data.dir"])
@pytest.mark.parametrize(
    ("threads", "problem"),
    [
        ("2", "be at least half the current value 6"),
        ("3", None),
        ("12", None),
        ("13", "not be greater than double the current value 6"),
    ],
)
def test_a_number_of_threads_at_most_doubles_and_at_least_halves(
    name: str, threads: str, problem: str | None
) -> None:
    said = f"Dynamic thread count update validation failed for {name}={threads}, value should "
    assert refusal({name: "6"}, {name: threads}) == (None if problem is None else said + problem)


def test_there_is_always_a_thread() -> None:
    assert refusal({}, {"num.replica.fetchers": "0"}) == (
        "Dynamic thread count update validation failed for num.replica.fetchers=0, "
        "value should be at least 1"
    )
    assert refusal({}, {"log.cleaner.threads": "0"}) == "Log cleaner threads should be at least 1"


@pytest.mark.parametrize(
    ("threads", "problem"),
    [
        ("2", "reduced to less than half the current value 6"),
        ("3", None),
        ("12", None),
        ("13", "increased to more than double the current value 6"),
    ],
)
def test_cleaners_at_most_double_and_at_least_halve(threads: str, problem: str | None) -> None:
    said = None if problem is None else f"Log cleaner threads cannot be {problem}"
    assert refusal({"log.cleaner.threads": "6"}, {"log.cleaner.threads": threads}) == said


def test_each_cleaner_has_a_mebibyte() -> None:
    size = "log.cleaner.dedupe.buffer.size"
    said = f"requirement failed: {size} must be at least 1MB per cleaner thread."
    assert refusal({}, {size: str(1 << 20)}) == said
    assert refusal({}, {size: str((1 << 20) + 1)}) is None
    assert refusal({size: "3000000"}, {"log.cleaner.threads": "2"}) is None
    assert refusal({size: "2000000"}, {"log.cleaner.threads": "2"}) == said


def test_a_small_buffer_of_the_file_does_not_stand_in_the_way_of_other_changes() -> None:
    assert refusal({"log.cleaner.dedupe.buffer.size": "9"}, {"log.segment.bytes": "99"}) is None


@pytest.mark.parametrize("unit", ["ms", "bytes"])
def test_no_more_is_kept_locally_than_at_all(unit: str) -> None:
    whole, local = f"log.retention.{unit}", f"log.local.retention.{unit}"
    invalid = f"for configuration {local}: Value must not be"
    assert refusal({whole: "5"}, {local: "5"}) is None
    assert refusal({whole: "5"}, {local: "6"}) == (
        f"Invalid value 6 {invalid} more than {whole} property value: 5"
    )
    assert refusal({local: "6"}, {whole: "5"}) == (
        f"Invalid value 6 {invalid} more than {whole} property value: 5"
    )
    assert refusal({whole: "5"}, {local: "-1"}) == (
        f"Invalid value -1 {invalid} -1 as {whole} value is set as 5."
    )
    assert refusal({whole: "-1"}, {local: "-1"}) is None
    assert refusal({whole: "-1"}, {local: "6"}) is None
