import io
from typing import Any

from rich.console import Console

from jbodlab.commands.seed_tables import show_seed_tables


def row(kind: str, value: str, p50: float | None = 5.0) -> dict[str, Any]:
    numbers = {"p50_ms": p50, "p90_ms": 6.0, "p99_ms": 7.0, "max_ms": 8}
    return {"kind": kind, "value": value, "seed_count": 9, "violation_count": 1, **numbers}


def shown(*, is_experiment: bool) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    rows = [row("all", ""), row("factor", "a=1"), row("cause", "eio", None)]
    bad = {"is_ok": False, "unavailable_ms": None, "replay": "again 7", "found": "lost"}
    slow = {"is_ok": True, "unavailable_ms": 900, "replay": "again 8", "found": ""}
    show_seed_tables(rows, [bad, slow], console, is_experiment=is_experiment)
    return console.export_text()


def test_of_an_experiment_its_factors_are_shown_and_of_drawn_seeds_what_broke() -> None:
    assert "a=1" in shown(is_experiment=True)
    assert "eio" not in shown(is_experiment=True)
    assert "eio" in shown(is_experiment=False)


def test_outliers_say_how_to_run_them_again_and_what_was_found() -> None:
    lines = [line.strip() for line in shown(is_experiment=True).splitlines()]
    assert "- ms  again 7  lost" in lines
    assert "900 ms  again 8" in lines
