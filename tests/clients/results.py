"""What a client did, as values: read from what its program tells, shown in the card."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ItemResult:
    """How one item of a program, or one suite, went."""

    item: str
    passed: bool
    told: str
    """Counts where it passed, the reason where it did not."""


@dataclass(frozen=True, slots=True)
class Version:
    """Which version of the client the program was built with."""

    text: str


@dataclass(frozen=True, slots=True)
class Halfway:
    """The program writes to this topic, and on until it hears that a disk is broken."""

    topic: str
    group: str = ""
    """The group that reads what is written; empty where there is none."""
    transactional_id: str = ""
    """Who copies it in transactions; empty where nobody does."""


def read_line(line: str) -> ItemResult | Version | Halfway:
    """Return what a program told in one line of JSON.

    Raises:
        ValueError: the line is nothing that a program tells.
    """
    told: dict[str, Any] = json.loads(line)
    match told:
        case {"version": str(text)}:
            return Version(text)
        case {"halfway": str(topic), "group": str(group), "transactional_id": str(transactional)}:
            return Halfway(topic, group, transactional)
        case {"item": str(item), "ok": bool(passed), "told": str(text)}:
            return ItemResult(item, passed, text)
        case _:
            raise ValueError(f"a program told {line.strip()!r}, which has no meaning")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One client or suite against one cluster."""

    client: str
    version: str
    world: str
    """``healthy``, or what broke."""
    results: tuple[ItemResult, ...]
    not_run: str = ""
    """Why nothing of it ran; empty where it did."""

    @property
    def passed(self) -> bool:
        """Whether it ran and nothing was missed."""
        return not self.not_run and bool(self.results) and all(each.passed for each in self.results)
