"""What a dump is made of: rows, and findings that are told at the end. Reads no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One line of a dump."""

    text: str
    """As Kafka's tool prints it."""
    content: Mapping[str, Any]
    """The same for programs; bytes are base64, as in Kafka's JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """The options of Kafka's DumpLogSegments that change what is read or shown."""

    is_deep: bool = False
    """Whether records are shown below their batch."""
    shows_contents: bool = False
    """Whether keys and values are shown; implies ``is_deep``."""
    skips_metadata: bool = False
    """Whether offsets, times and sizes of records are left out."""
    bytes_max: int = 2**31 - 1
    """How much of each log file is read."""
    message_bytes_max: int = 5 * 1024 * 1024
    """How much is read from an indexed position on."""
    verifies_only: bool = False
    """Whether index entries are checked and not shown."""
    checks_sanity_only: bool = False
    """Whether indexes get only the check that a broker does when it starts."""


@dataclass(slots=True)
class Findings:
    """What did not fit, by heading, in the order in which it was found."""

    by_heading: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    faults_count: int = 0

    def note(self, heading: str, line: str, *, is_fault: bool = True) -> None:
        """Add one finding; gaps between offsets, which compaction leaves, are no fault."""
        self.by_heading.setdefault(heading, []).append(line)
        self.faults_count += is_fault

    def lines(self) -> list[str]:
        """Return headings and findings as lines."""
        return [line for heading, found in self.by_heading.items() for line in (heading, *found)]


def row_of(content: Mapping[str, Any]) -> Row:
    """Return a row whose text is ``key: value key: value``."""
    return Row(" ".join(f"{key}: {value}" for key, value in content.items()), content)
