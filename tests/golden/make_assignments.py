"""Asks Kafka's server-side assignors for assignments: ``assignments.jsonl.gz``."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from tests.golden.assignment_cases import Answers, Case, drawn
from tests.golden.made import GOLDEN, Made, run_java, write_vectors
from tests.golden.vectors import load_vectors

WRITER: Final = GOLDEN / "WriteAssignments.java"
RELEASE: Final = "4.3.1"


def assigned(cases: Sequence[Case]) -> Answers:
    """Return what Kafka assigns in each case, by member id and topic id."""
    libs = fetch(BUILD_DIR, RELEASE)
    lines = "\n".join(json.dumps(case) for case in cases) + "\n"
    told = run_java(f"{libs}/*", str(WRITER), stdin=lines)
    return [json.loads(line) for line in told.splitlines()]


def made() -> Made:
    """Draw the cases again and have all of them assigned."""
    found = [{**case, "assigned": answer} for case, answer in drawn(assigned)]
    standing = load_vectors("assignments") if (GOLDEN / "assignments.jsonl.gz").exists() else []
    differing = [
        f"case {place}"
        for place in range(max(len(found), len(standing)))
        if found[place : place + 1] != standing[place : place + 1]
    ]
    return Made(
        f"{len(found)} groups assigned anew",
        differing,
        functools.partial(write_vectors, "assignments", found),
    )
