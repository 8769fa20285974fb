"""Deadlines by key."""

from hypothesis import given
from hypothesis import strategies as st

from broker.core.timers import Timers


def test_the_earliest_deadline_is_due_first_and_equal_ones_in_the_order_they_were_set() -> None:
    timers: Timers[str] = Timers()
    timers.set("late", 30)
    timers.set("one", 20)
    timers.set("two", 20)
    assert timers.next_due_ms() == 20
    assert [timers.take_due(25) for _ in range(3)] == ["one", "two", None]
    assert timers.next_due_ms() == 30


def test_a_deadline_that_is_put_off_is_due_at_its_new_time_only() -> None:
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.set("session", 20)
    assert timers.take_due(19) is None
    assert timers.next_due_ms() == 20
    assert timers.take_due(20) == "session"
    assert len(timers) == 0


def test_a_deadline_that_is_taken_off_is_never_due() -> None:
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.cancel("session")
    timers.cancel("unknown")
    assert "session" not in timers
    assert timers.next_due_ms() is None
    timers.set("session", 30)
    assert timers.take_due(20) is None


def test_deadlines_that_are_renewed_forever_take_no_more_room() -> None:
    timers: Timers[int] = Timers()
    for now_ms in range(0, 10_000, 10):
        for member in range(5):
            timers.set(member, now_ms + 50)
            if now_ms % 30 == 0:
                timers.cancel(member)
                timers.set(member, now_ms + 50)
        timers.next_due_ms()
        assert timers.take_due(now_ms) is None
    assert len(timers._heap) < 50  # pyright: ignore[reportPrivateUsage]


_STEPS = st.lists(
    st.tuples(st.sampled_from(["set", "cancel", "take"]), st.integers(0, 4), st.integers(0, 50))
)


@given(_STEPS)
def test_whatever_is_set_put_off_and_taken_off_is_due_as_a_plain_table_says(
    steps: list[tuple[str, int, int]],
) -> None:
    timers: Timers[int] = Timers()
    table: dict[int, int] = {}
    for step, key, at_ms in steps:
        if step == "set":
            timers.set(key, at_ms)
            table[key] = at_ms
        elif step == "cancel":
            timers.cancel(key)
            table.pop(key, None)
        else:
            taken = timers.take_due(at_ms)
            due = [due_ms for due_ms in table.values() if due_ms <= at_ms]
            assert (taken is None) == (not due)
            if taken is not None:
                assert table.pop(taken) == min(due)
        assert timers.next_due_ms() == min(table.values(), default=None)
