"""Cuts what is new in the files of a dump into segments, each of them whole, for a stream to read.

Spark's stream of a folder reads each file once, as it is then; nodes go on to append to theirs. It
reads a folder of this machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from analytics import columns as c
from analytics.tail import dump_files, new_lines

SEGMENT_SCHEMA: Final = f"{c.TABLE} string, {c.VERSION} int, {c.LINE} string, {c.FILE} string"
FILE_BYTES_MAX: Final = 8 << 20
"""Of one file in one segment."""
_SEGMENT: Final = re.compile(r"(\d+)\.json")


class Segments:
    """One dump that is followed. Call ``take`` again and again; a later one goes on from there."""

    def __init__(self, dump: Path, folder: Path) -> None:
        """Remember what to follow.

        Args:
            dump: the folder that nodes write to.
            folder: where segments lie, and how far each of them goes; made if it is not there.
        """
        self._dump = dump
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        found = [_SEGMENT.fullmatch(path.name) for path in folder.iterdir()]
        self._count = max((int(match[1]) for match in found if match), default=0)
        self._offsets = self._stored_offsets()

    def take(self) -> int:
        """Write one segment of all lines that are new and whole; return how many there are."""
        offsets = dict(self._offsets)
        records = list(self._new_records(offsets))
        if not records:
            return 0
        # First how far it goes: a segment that is there is one that is not cut again.
        self._place(self._count + 1, "offsets").write_text(json.dumps(offsets), encoding="utf-8")
        self._place(self._count + 1, "new").write_text("\n".join(records), encoding="utf-8")
        self._place(self._count + 1, "new").replace(self._folder / f"{self._count + 1}.json")
        self._place(self._count, "offsets").unlink(missing_ok=True)
        self._count += 1
        self._offsets = offsets
        return len(records)

    def _new_records(self, offsets: dict[str, int]) -> Iterator[str]:
        for path in dump_files(self._dump):
            file = str(path.relative_to(self._dump))
            whole = new_lines(path, offsets.get(file, 0), FILE_BYTES_MAX)
            offsets[file] = offsets.get(file, 0) + len(whole)
            table, version = path.parts[-4], path.parts[-3].removeprefix("v")
            number = int(version) if version.isdecimal() else 0
            for line in whole.decode(errors="replace").split("\n")[:-1]:
                record = {c.TABLE: table, c.VERSION: number, c.LINE: line, c.FILE: str(path)}
                yield json.dumps(record)

    def _stored_offsets(self) -> dict[str, int]:
        if self._count == 0:
            return {}
        return json.loads(self._place(self._count, "offsets").read_text(encoding="utf-8"))

    def _place(self, number: int, kind: str) -> Path:
        """Return a file that Spark does not see."""
        return self._folder / f"_{number}.{kind}"
