"""``python -m benchmarks.hostile``: the worst requests, and what a bystander waited beside each.

Part ``processor`` has the worst requests by size, part ``memory`` the attacks of ``memory``, part
``security`` what strangers do at secured listeners, and clients who may little. A row of
``processor`` has the longest piece of processor time that a loop spent without looking at anybody
else, in any process of the cluster: a figure that other work on the machine does not change. The
waiting times of the bystander are as the machine was.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import Final

import click

from benchmarks.hostile import requests, worst_records
from benchmarks.hostile.lab import Row, hostile_lab
from benchmarks.hostile.memory import attack_memory
from benchmarks.hostile.security import attack_security

PIECE_MS_MAX: Final = 20.0
P99_MS_MAX: Final = 50.0
_PARTS: Final = ("processor", "memory", "security")
_FORM: Final = "{:10} {:32} {:44} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6}  {}"
_HEADS: Final = ("node", "api", "long array", "bytes", "outcome", "took ms", "piece ms", "p99 ms",
                 "max ms", "fenced", "whose piece")  # fmt: skip


@click.command()
@click.option("--part", type=click.Choice(_PARTS), multiple=True, help="These parts only.")
@click.option("--only", metavar="API", multiple=True, help="Part processor: this API only.")
@click.option(
    "--attack", default="", help="Parts memory and security: attacks whose names hold this text."
)
@click.option("--entries", default=requests.ENTRIES, show_default=True, help="In the long array.")
@click.option("--keep", type=click.Path(path_type=Path), help="Run in this folder and keep it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def main(
    *,
    part: tuple[str, ...],
    only: tuple[str, ...],
    attack: str,
    entries: int,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Attack a cluster of three brokers; end with 1 where a bound was passed."""
    passed = 0
    if "processor" in (part or _PARTS):
        passed += _attack_processor(only, entries, keep, as_json=as_json)
    if "memory" in (part or _PARTS):
        passed += attack_memory(attack, as_json=as_json)
    if "security" in (part or _PARTS):
        passed += attack_security(attack, as_json=as_json)
    sys.exit(1 if passed else 0)


def _attack_processor(
    only: tuple[str, ...], entries: int, keep: Path | None, *, as_json: bool
) -> int:
    """Return how many rows passed a bound."""
    passed = 0
    with (
        tempfile.TemporaryDirectory(prefix="jbodlab-hostile-") as folder,
        hostile_lab(keep or Path(folder)) as lab,
    ):
        if not as_json:
            click.echo(_FORM.format(*_HEADS))
        both = (requests.rows(lab, only, entries), worst_records.rows(lab, only, entries))
        for row in chain.from_iterable(both):
            click.echo(json.dumps(row.as_json()) if as_json else _line(row))
            passed += is_beyond(row)
    return passed


def is_beyond(row: Row) -> bool:
    """Tell whether an attack did more than it may."""
    return row.piece_ms > PIECE_MS_MAX or (row.p99_ms or 0) > P99_MS_MAX or row.fenced_count > 0


def _sample(taken_ms: float | None) -> str:
    return "no sample" if taken_ms is None else f"{taken_ms:.1f}"


def _line(row: Row) -> str:
    mark = "!" if is_beyond(row) else ""
    return _FORM.format(
        row.node,
        row.api,
        row.attack[-44:],
        row.request_bytes,
        row.outcome,
        f"{row.taken_ms:.0f}",
        f"{row.piece_ms:.1f}",
        _sample(row.p99_ms),
        _sample(row.longest_ms),
        row.fenced_count,
        f"{row.piece} {mark}",
    )


if __name__ == "__main__":
    main()
