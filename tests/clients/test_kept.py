"""Rows of earlier runs beside those of this one."""

from __future__ import annotations

from tests.clients.card import page
from tests.clients.kept import renewed, rows_of

ROWS = {
    "a": ["| a 1.0 | produce | passed |", "| a 1.0 | group | **missed**: 1 lost |"],
    "a before 4": ["| a before 4 3.9 | produce | passed |"],
    "a's suite": ["| a's suite 1.0 | test/all | 5 passed |"],
}


def test_rows_are_found_in_the_page_that_has_them() -> None:
    lines = [row for rows in ROWS.values() for row in rows]
    written = page(lines, ["healthy"], {"produce": "x", "group": "| a"}, ["a note"])
    assert rows_of(written, [*ROWS, "b"]) == ROWS


def test_rows_of_who_is_no_client_are_forgotten() -> None:
    written = page(ROWS["a"], ["healthy"], {})
    assert rows_of(written, ["b"]) == {}


def test_a_run_renews_its_clients_alone() -> None:
    ran = {"a": ["| a 1.1 | produce | passed |"], "b": ["| b 1.0 | produce | passed |"]}
    order = ["b", "a", "a before 4"]
    assert renewed(ROWS, ran, order) == [*ran["b"], *ran["a"], *ROWS["a before 4"]]
