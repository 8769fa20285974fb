"""What a call decides, gathered."""

from broker.core.coordination import Answer, Record, batch_size_bound
from broker.core.groups.decision import Decision, answered


def test_records_and_answers_keep_their_order_and_nobody_is_not_answered() -> None:
    decision = Decision(1, 2)
    decision.record((b"k", b"v"))
    decision.answer(None, "lost")
    decision.answer(7, "first")
    decision.answer(8, "second")
    decision.record((b"k2", None))
    decided = decision.decided()
    assert decided.records == ((b"k", b"v"), (b"k2", None))
    assert decided.answers == (Answer(7, "first"), Answer(8, "second"))


def test_the_size_of_what_is_to_be_stored_is_told() -> None:
    decision = Decision(1, 2)
    assert decision.size_bytes == 0
    decision.record((b"k", bytes(100)))
    assert decision.size_bytes > 100


def test_what_is_decided_fits_a_batch_that_is_as_large_and_no_smaller_one() -> None:
    decision = Decision(1, 2)
    records: list[Record] = [(b"k", bytes(100)), (b"k2", None)]
    for record in records:
        decision.record(record)
    assert decision.fits(batch_size_bound(records))
    assert not decision.fits(batch_size_bound(records) - 1)


def test_changes_are_taken_back_in_the_reverse_order_and_once() -> None:
    decision, taken_back = Decision(1, 2), list[str]()
    for name in ("first", "second"):
        decision.changes(lambda name=name: taken_back.append(name))
    decision.revert()
    decision.revert()
    assert taken_back == ["second", "first"]


def test_who_asks_is_told_what_came_of_it_behind_what_was_decided_on_the_way() -> None:
    def decide(decision: Decision) -> str:
        assert (decision.now_ms, decision.wall_ms) == (1, 2)
        decision.answer(7, "on the way")
        decision.record((b"k", None))
        return "told"

    decided = answered(8, decide, 1, 2)
    assert decided.answers == (Answer(7, "on the way"), Answer(8, "told"))
    assert decided.records == ((b"k", None),)
