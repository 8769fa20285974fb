"""The part of the card about secured clusters."""

from __future__ import annotations

from jbodlab.errors import ExitCode
from tests.clients.__main__ import NOT_RUN, secured_exit_code
from tests.clients.secured.combinations import Told, Way
from tests.clients.secured.secured_card import HEADING, kept_part, part

SSL, PLAIN = Way("SSL"), Way("SASL_SSL", "PLAIN")
PASSED = Told("a", SSL, "passed")
MISSED = Told("a", PLAIN, "no | answer")
NOT_THERE = [Told("b", way, "not run: no go", is_run=False) for way in (SSL, PLAIN)]


def test_a_row_has_a_way_and_the_reason_of_each_miss_is_below() -> None:
    lines = part([PASSED, MISSED, *NOT_THERE]).splitlines()
    assert lines[0] == HEADING
    assert "| | a | b |" in lines
    assert "| SSL | passed | not run |" in lines
    assert "| SASL_SSL PLAIN | **missed** | not run |" in lines
    assert lines[-3:] == [
        "- a, SASL_SSL PLAIN: no \\| answer",
        "- b, SSL: not run: no go",
        "- b, SASL_SSL PLAIN: not run: no go",
    ]


def test_the_part_stays_when_the_rest_of_the_card_is_written_anew() -> None:
    own = part([PASSED])
    kept = kept_part(f"# Card\n\n| old |\n\n{own}")
    assert kept == f"\n{own}"
    assert kept_part("# Card\n") == ""


def test_the_exit_code_is_that_of_a_miss_even_where_something_was_not_run() -> None:
    assert secured_exit_code([PASSED]) == ExitCode.OK
    assert secured_exit_code([PASSED, *NOT_THERE]) == NOT_RUN
    assert secured_exit_code([MISSED, *NOT_THERE]) == ExitCode.VIOLATION
