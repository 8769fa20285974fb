"""Has Kafka's ``DumpLogSegments`` print anew what it printed of stored segments and indexes."""

from __future__ import annotations

import lzma
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from tests.archives import unpack
from tests.golden.made import GOLDEN, Made
from tests.integration.apache_kafka import run_tool

RELEASE: Final = "3.9.2"
DUMPS: Final = GOLDEN / "dumps"
LOG_DIRS: Final = GOLDEN / "log_dirs"
LOG_DIRS_DUMP: Final = LOG_DIRS / "clean.dump.txt.xz"
_SEGMENT: Final = "formats-0/00000000000000000000.log"


def dumps_asked() -> dict[str, tuple[list[str], list[str]]]:
    """Return the options and files of each dump beside this folder's segments, by its file."""
    indexes = sorted(str(path.relative_to(DUMPS)) for path in DUMPS.glob("indexes-0/*index"))
    return {
        "formats.txt": (["--print-data-log"], [_SEGMENT]),
        "formats.shallow.txt": ([], [_SEGMENT]),
        "indexes.txt": ([], indexes),
        "indexes.verify.txt": (["--verify-index-only"], indexes),
    }


def dumped(root: Path, options: list[str], files: list[str]) -> str:
    """Return what Kafka's tool prints of files below ``root``, with ROOT for that folder."""
    libs = fetch(BUILD_DIR, RELEASE)
    main = "kafka.tools.DumpLogSegments"
    text = run_tool(libs, main, *options, "--files", ",".join(files), cwd=root)
    return text.replace(str(root), "ROOT") + "\n"


def files_named(text: str) -> list[str]:
    """Return the files of a dump in its order."""
    return [
        line.removeprefix("Dumping ") for line in text.splitlines() if line.startswith("Dumping ")
    ]


def comparable(text: str) -> list[str]:
    """Return the lines as they are compared.

    Below the last dumped file stand the findings in the order of Kafka's hash maps, whose keys are
    paths: that order is of the folder that a run was made in.
    """
    lines = text.splitlines()
    ends = [at for at, line in enumerate(lines) if line.startswith(("Mismatches", "Found", "Non-"))]
    end = min(ends, default=len(lines))
    return lines[:end] + sorted(lines[end:])


def standing() -> dict[str, str]:
    """Return the texts that stand, by the name of the file."""
    texts = {name: (DUMPS / name).read_text() for name in dumps_asked()}
    return {**texts, LOG_DIRS_DUMP.name: lzma.decompress(LOG_DIRS_DUMP.read_bytes()).decode()}


def printed(files: list[str]) -> Iterator[tuple[str, str]]:
    """Give what the tool prints of copies; it repairs nothing, but opens indexes for writing."""
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder) / "dumps"
        shutil.copytree(DUMPS, copies)
        for name, (options, names) in dumps_asked().items():
            yield name, dumped(copies, options, names)
        clean = Path(folder) / "clean"
        unpack(LOG_DIRS / "clean.tar.xz", clean)
        yield LOG_DIRS_DUMP.name, dumped(clean, ["--print-data-log"], files)


def put(texts: Mapping[str, str]) -> None:
    """Write what was printed."""
    for name, text in texts.items():
        if name == LOG_DIRS_DUMP.name:
            LOG_DIRS_DUMP.write_bytes(lzma.compress(text.encode()))
        else:
            (DUMPS / name).write_text(text)


def made() -> Made:
    """Dump all that stands."""
    old = standing()
    new = dict(printed(files_named(old[LOG_DIRS_DUMP.name])))
    differing = [
        f"{name} line {at}: {found!r} for {line!r}"
        for name, text in new.items()
        for at, (found, line) in enumerate(
            zip(comparable(text), comparable(old[name]), strict=False), start=1
        )
        if found != line
    ]
    differing += [
        f"{name}: {len(text.splitlines())} lines for {len(old[name].splitlines())}"
        for name, text in new.items()
        if len(text.splitlines()) != len(old[name].splitlines())
    ]
    return Made(f"{len(new)} printed anew", differing, lambda: put(new))
