"""Follows a controller's journal while it grows, and writes down every decision in it.

Whoever reads the file gives its bytes; when they were read stands for when it was decided.
"""

from __future__ import annotations

from controller.core.state import ClusterState
from controller.journal import decode_entry
from simulation.core.samples import Samples
from simulation.sampling.decisions import DecisionSampler


class JournalSampler:
    """What one journal has said so far."""

    def __init__(self, samples: Samples) -> None:
        self.state = ClusterState()
        """As decided so far."""
        self.size_bytes = 0
        """How much of the file was taken in; what follows is to be given next."""
        self._decisions = DecisionSampler(samples)

    def begin_anew(self) -> None:
        """Forget what was read: the file was replaced by one that rebuilds the state."""
        self.state = ClusterState()
        self.size_bytes = 0

    def look(self, data: bytes, now_us: int) -> None:
        """Take in whole lines that follow on those before; what is left is to be given again.

        A line that cannot be read ends it: the replay of the whole file says what it is.
        """
        position = 0
        while (end := data.find(b"\n", position)) >= 0:
            try:
                entry = decode_entry(data[position:end])
            except ValueError:
                break
            for record in entry.records:
                record.apply(self.state)
            self._decisions.look(self.state, now_us)
            position = end + 1
        self.size_bytes += position
