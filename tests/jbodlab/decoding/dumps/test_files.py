"""Which file is dumped how."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.decoding.dumps.files import dump_file, files_below
from jbodlab.decoding.dumps.row import DumpOptions, Findings

KNOWN = [
    "00000000000000000000.log",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000000.snapshot",
    "00000000000000000000.log.deleted",
    "00000000000000000000.timeindex.swap",
    "00000000000000000000.index.cleaned",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "leader-epoch-checkpoint",
    "meta.properties",
    "partition.metadata",
    ".kafka_cleanshutdown",
]


@pytest.mark.parametrize("name", KNOWN)
def test_files_are_known_by_their_name(name: str) -> None:
    assert dump_file(Path(name), DumpOptions(), Findings()) is not None


@pytest.mark.parametrize("name", ["5.log", "notes.txt", ".lock", "00000000000000000000.bak"])
def test_other_files_are_not(name: str) -> None:
    assert dump_file(Path(name), DumpOptions(), Findings()) is None


def test_a_directory_stands_for_what_is_known_below_it(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    for name in [*KNOWN, "notes.txt"]:
        (tmp_path / "orders-0" / name).touch()
    found = [path.name for path in files_below(tmp_path)]
    assert found == sorted(KNOWN)
    assert files_below(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]
