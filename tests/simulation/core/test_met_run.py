"""Orders of a run that is over."""

from __future__ import annotations

from simulation.core.history import Function, Order
from simulation.core.met_run import is_done, order_of
from tests.simulation.core.checkers.build import TP, Story


def test_an_order_counts_as_what_it_was_where_it_was_carried_out() -> None:
    story = Story().at(1)
    order = Order(*TP, broker=1)
    story.order(Function.MOVE, order)
    story.history.begin("admin", Function.MOVE, order).fail("NO")
    done, failed = story.evidence.spans
    assert is_done(done, Function.MOVE)
    assert order_of(done) == order
    assert not is_done(done, Function.REASSIGN)
    assert not is_done(failed, Function.MOVE)
