"""Independent streams of chance, one per concern, all from one seed.

A further draw in one stream changes no other one. It decides nothing.
"""

from __future__ import annotations

import hashlib
from random import Random


class RandomStreams:
    """The chance of one world: the same seed and name give the same draws in every process."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, Random] = {}

    def stream(self, name: str) -> Random:
        """Return the stream of a concern: the same one at every call.

        The names in use: ``schedule``, ``network``, ``faults``, ``disk:<node>:<path>``,
        ``workload:<name>``, ``node:<name>:<start>``, ``compaction``.
        """
        stream = self._streams.get(name)
        if stream is None:
            # Not hash(), which differs between processes.
            digest = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
            stream = self._streams[name] = Random(int.from_bytes(digest, "big"))
        return stream
