"""Reads lists of known differences: which case may differ where, and what tells of it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

from conformance import known as known_folder
from conformance.core.verdicts import KnownDifference

LISTS = ("jbodlab",)


def known_differences(name: str, release: str | None = None) -> list[KnownDifference]:
    """Return the list of this name, one of ``LISTS``, in the order of its numbers.

    With ``release``, one of ``trial.RELEASES``, only what differs from that one.
    """
    text = (files(known_folder) / f"{name}.yaml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = yaml.safe_load(text)
    return [
        KnownDifference(
            row["number"], row["what"], row["row"], row["cases"], row.get("paths", ["*"])
        )
        for row in rows
        if release is None or row.get("against", release) == release
    ]
