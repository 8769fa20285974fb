from __future__ import annotations

from simulation.core.checkers.registers import Write, possible_values


def test_without_a_sure_write_it_may_be_anything() -> None:
    assert possible_values([]) is None
    assert possible_values([Write(1, 2, is_sure=False, value="a", may_come_again=True)]) is None


def test_the_last_of_writes_that_do_not_overlap_is_the_value() -> None:
    writes = [Write(1, 2, is_sure=True, value="a"), Write(3, 4, is_sure=True, value="b")]
    assert possible_values(writes) == ["b"]


def test_either_of_two_that_overlap_may_be_the_last() -> None:
    writes = [Write(1, 3, is_sure=True, value="a"), Write(2, 4, is_sure=True, value="b")]
    assert possible_values(writes) == ["a", "b"]


def test_one_of_which_nobody_knows_may_come_at_any_later_time() -> None:
    writes = [
        Write(1, 2, is_sure=False, value="a", may_come_again=True),
        Write(8, 9, is_sure=True, value="b"),
    ]
    assert possible_values(writes) == ["a", "b"]


def test_so_may_one_that_was_asked_of_two_who_may_both_do_it() -> None:
    first = Write(1, 2, is_sure=True, value="a", may_come_again=True)
    assert possible_values([first, Write(8, 9, is_sure=True, value="b")]) == ["a", "b"]
    assert possible_values([Write(-5, -4, is_sure=True, value="c"), first]) == ["a"]
