"""Has Apache Kafka write the golden log dirs anew, and compares what two runs must have alike.

Alike are records, segments, the kinds of files beside them and what a consumer sees. Not compared
are ids, times that a broker set, which segments the cleaner made one of, snapshots of producers,
which a broker writes when it rolls or stops, and what the internal topics hold.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR
from protocol.records.batch import iterate_batches
from protocol.records.records import Record, iterate_records
from tests.archives import unpack
from tests.golden.kafka_story import LOG_DIRS, write_log_dirs
from tests.golden.made import GOLDEN, Made

FOLDER: Final = GOLDEN / "log_dirs"
NEW: Final = BUILD_DIR / "golden-log-dirs"
"""What the last run wrote."""
KINDS: Final = ("clean", "killed")
_OF_A_RUN_SINCE_MS: Final = 1_750_000_000_000
"""Times that the records have are older, those of brokers newer."""
_TIMES_OF_A_RUN: Final = ("appendtime-0", "txn-0")
"""Partitions with such times, whose digests are a run's own."""
_KINDS_OF_A_RUN: Final = {".deleted", ".snapshot"}
_CLEANED: Final = "compacted-0"
_INTERNAL: Final = "__"


def described(root: Path) -> dict[str, Any]:
    """Return what is compared of the log dirs below ``root``: a value by log dir and log."""
    folders = [path for name in LOG_DIRS for path in sorted((root / name).iterdir())]
    return {
        f"{path.parent.name}/{_without_id(path.name)}": _log(path)
        for path in folders
        if path.is_dir()
    }


def _without_id(name: str) -> str:
    """Return the name of a log's folder; those that are deleted have an id in theirs."""
    return name.split(".", maxsplit=1)[0] + "-delete" if name.endswith("-delete") else name


def _log(folder: Path) -> dict[str, Any]:
    if folder.name.startswith(_INTERNAL):
        return {}
    segments = sorted(folder.glob("*.log"))
    rows = [json.dumps(_row(record)) for each in segments for record in _records(each)]
    is_cleaned = folder.name == _CLEANED
    return {
        "segments": [] if is_cleaned else [int(each.stem) for each in segments],
        "records": len(rows),
        "sha256": hashlib.sha256("\n".join(rows).encode()).hexdigest(),
        "kinds": sorted({path.suffix or path.name for path in folder.iterdir()} - _KINDS_OF_A_RUN),
    }


def _records(segment: Path) -> Iterator[Record]:
    data = memoryview(segment.read_bytes())
    for position, header in iterate_batches(data):
        yield from iterate_records(data, position, header)


def _row(record: Record) -> list[Any]:
    time_ms = record.timestamp_ms if record.timestamp_ms < _OF_A_RUN_SINCE_MS else None
    headers = [[name, value and value.hex()] for name, value in record.headers]
    key, value = record.key, record.value
    return [record.offset, time_ms, key and key.hex(), value and value.hex(), headers]


def differences(kind: str, new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each log, and each thing about one, that is not alike."""
    for name in sorted({*new, *old}):
        found, stood = new.get(name), old.get(name)
        if found is None or stood is None:
            yield f"{kind} {name}: only in the {'old' if found is None else 'new'} ones"
            continue
        for what in sorted({*found, *stood}):
            if found.get(what) != stood.get(what):
                yield f"{kind} {name}: {what} {found.get(what)} for {stood.get(what)}"


def comparable(contents: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a consumer saw, without the digests of what has times of a run."""
    return {
        name: {what: value for what, value in seen.items() if what != "sha256"}
        if name in _TIMES_OF_A_RUN
        else seen
        for name, seen in contents.items()
    }


def unpacked(kind: str, root: Path) -> Path:
    """Unpack what stands; return the folder."""
    unpack(FOLDER / f"{kind}.tar.xz", root / kind)
    return root / kind


def made() -> Made:
    """Have Kafka write all log dirs."""
    shutil.rmtree(NEW, ignore_errors=True)
    NEW.mkdir(parents=True)
    contents = write_log_dirs(NEW)
    stood: dict[str, Any] = json.loads((FOLDER / "contents.json").read_text())
    differing: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            old = described(unpacked(kind, Path(folder)))
            differing += differences(kind, described(NEW / kind), old)
            seen = comparable(contents[kind])
            differing += differences(f"{kind} contents of", seen, comparable(stood[kind]))
    told = f"{len(KINDS)} sets of {len(LOG_DIRS)} log dirs written anew, in {NEW}"
    return Made(told, differing, partial(_put, contents))


def _put(contents: Mapping[str, Any]) -> None:
    for kind in KINDS:
        with tarfile.open(FOLDER / f"{kind}.tar.xz", "w:xz") as archive:
            for name in LOG_DIRS:
                archive.add(NEW / kind / name, name)
    text = json.dumps(contents, indent=1, sort_keys=True) + "\n"
    (FOLDER / "contents.json").write_text(text)
