"""Streams of chance for drawing plans in tests."""

from __future__ import annotations

import hashlib
from random import Random

from simulation.core.dice import Streams


def streams_of(seed: int) -> Streams:
    """Return the streams of a seed."""
    made: dict[str, Random] = {}

    def stream(name: str) -> Random:
        if name not in made:
            digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
            made[name] = Random(int.from_bytes(digest, "big"))
        return made[name]

    return stream
