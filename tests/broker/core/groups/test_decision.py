"""What a call decides, gathered."""

from broker.core.coordination import Answer
from broker.core.groups.decision import Decision


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
