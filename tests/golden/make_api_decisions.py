"""Has a broker of Apache Kafka 3.9.2 in KRaft mode answer ``alice``: ``api_decisions.jsonl.gz``.

A line is a set of ACLs, drawn by a seed, and by question what the answer betrays, as
``tests/api_decisions`` has both.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from tests.api_decisions.acl_sets import acl_sets
from tests.api_decisions.apache_lab import apache_clients
from tests.api_decisions.asking import decided
from tests.golden.made import GOLDEN, Made, write_vectors
from tests.golden.vectors import load_vectors

NAME = "api_decisions"


def made() -> Made:
    """Ask everything again."""
    sets = acl_sets()
    with tempfile.TemporaryDirectory() as folder, apache_clients(Path(folder)) as (admin, alice):
        answers = decided(admin, alice, sets)
    found = [
        {"acls": [str(acl) for acl in acls], "answers": each}
        for acls, each in zip(sets, answers, strict=True)
    ]
    standing = load_vectors(NAME) if (GOLDEN / f"{NAME}.jsonl.gz").exists() else []
    differing = [f"set {place}" for place, one in enumerate(found) if one not in standing]
    if len(found) != len(standing):
        differing.append(f"{len(found)} for {len(standing)} sets of ACLs")
    write = functools.partial(write_vectors, NAME, found)
    decisions = sum(len(each) for each in answers)
    return Made(f"{decisions} answers asked anew", differing, write)
