"""Outcomes of earlier runs beside those of this one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.clients.kept import keep, read_kept, renewed
from tests.clients.results import ItemResult, Outcome

OLD = Outcome("a", "1.0", "healthy", (ItemResult("produce", passed=True, told="9 records"),))
NEW = dataclasses.replace(OLD, version="1.1")
OTHER = dataclasses.replace(OLD, client="b")


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "build" / "outcomes.json"
    assert read_kept(file) == []
    keep(file, [OLD, OTHER])
    assert read_kept(file) == [OLD, OTHER]


def test_a_run_renews_its_clients_alone_and_who_is_no_client_is_forgotten() -> None:
    broken = dataclasses.replace(OLD, world="broken")
    gone = dataclasses.replace(OLD, client="gone")
    assert renewed([OTHER, OLD, broken, gone], [NEW], ["a", "b"]) == [NEW, broken, OTHER]
