"""Declared numbers: each has one name, and a checker and Prometheus know it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from broker.metric_types import Counter, Gauge, counter, declared, gauge
from broker.metrics import Counters, Metrics

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Numbers:
    """What an example counts."""

    seen: Counter = counter("seen_total", "Seen.")
    plain: int = 3
    here: Gauge = gauge("here", "Here.")


def test_a_class_declares_its_numbers_once_and_each_instance_has_its_own() -> None:
    assert list(declared(Numbers)) == [
        ("seen", "seen_total", "counter", "Seen."),
        ("here", "here", "gauge", "Here."),
    ]
    one, other = Numbers(), Numbers()
    one.seen.add(2)
    one.here.set(5)
    assert (one.seen.value, one.here.value, other.seen.value) == (2, 5, 0)


@pytest.mark.parametrize("name", [family.name for family in Metrics(1).families()])
def test_names_are_fit_for_prometheus(name: str) -> None:
    assert name.replace("_", "").isalnum()
    assert name == name.lower()


def test_the_cleaner_of_each_log_dir_is_told_under_kafkas_names() -> None:
    names = [family.name for family in Metrics(1).families()]
    assert "kafka_log_logcleanermanager_uncleanable_partitions_count" in names
    assert "kafka_log_logcleanermanager_max_dirty_percent" in names


def test_every_counter_is_seen_to_move_by_a_test() -> None:
    """What nobody adds to is 0 for ever: a test has to compare each with something else."""
    moved = {
        name
        for path in sorted(TESTS.rglob("test_*.py"))
        if "counters" in (text := path.read_text(encoding="utf-8"))
        for name in compared_counters(ast.parse(text))
    }
    assert [one.name for one in fields(Counters) if one.name not in moved] == []


def compared_counters(tree: ast.Module) -> list[str]:
    """Return each ``name`` of ``assert ...counters.name.value == what is not 0``."""
    return [
        number.value.attr
        for check in ast.walk(tree)
        if isinstance(check, ast.Assert) and isinstance(check.test, ast.Compare)
        for number, expected in pairs(check.test)
        if isinstance(number, ast.Attribute)
        and number.attr == "value"
        and isinstance(number.value, ast.Attribute)
        and ast.unparse(number.value.value).endswith("counters")
        and not (isinstance(expected, ast.Constant) and expected.value == 0)
    ]


def pairs(compared: ast.Compare) -> list[tuple[ast.expr, ast.expr]]:
    """Return what is compared with what; of tuples each member with its own."""
    left, right = compared.left, compared.comparators[0]
    if isinstance(left, ast.Tuple) and isinstance(right, ast.Tuple):
        return list(zip(left.elts, right.elts, strict=True))
    return [(left, right)]


def test_a_counter_that_is_only_seen_at_0_is_not_seen_to_move() -> None:
    text = """
def test_it():
    assert broker.counters.still.value == 0
    assert (counters.moved.value, counters.quiet.value) == (1, 0)
    assert counters.bytes.value == len(sent)
    assert counters_of(it) == 7
"""
    assert compared_counters(ast.parse(text)) == ["moved", "bytes"]
