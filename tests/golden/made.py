"""What was made anew of one kind of golden file, against what stands."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

GOLDEN: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Made:
    """The outcome of one maker."""

    told: str
    """How many of what were made."""
    differing: Sequence[str]
    """A line for each that is not what stands."""
    write: Callable[[], None]
    """Puts what was made in the place of what stands."""


def run_java(class_path: str, *arguments: str, stdin: str = "") -> str:
    """Return what a Java program printed.

    Raises:
        SystemExit: it failed; the message has the end of what it said.
    """
    done = subprocess.run(
        ["java", "-cp", class_path, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"java {' '.join(arguments)} failed: {done.stderr[-2000:]}")
    return done.stdout


def json_lines(values: Iterable[Mapping[str, Any]]) -> bytes:
    """Return one JSON object a line."""
    lines = [json.dumps(value, separators=(",", ":")) for value in values]
    return ("\n".join(lines) + "\n").encode()


def write_vectors(name: str, vectors: Iterable[Mapping[str, Any]]) -> None:
    """Write ``<name>.jsonl.gz``, the same bytes for the same vectors."""
    (GOLDEN / f"{name}.jsonl.gz").write_bytes(gzip.compress(json_lines(vectors), mtime=0))
