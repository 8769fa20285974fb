"""Looks now and then at what the coordinators of one simulated broker would load of their logs.

A record that was left out is hidden when a later one says what it should have said, so the end of a
story does not show it. Looks are ever farther apart: each of them reads whole logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simulation.core.samples import Samples
from simulation.world.loaded_shards import contradictions_of_shards, forgotten_ends
from simulation.world.node import BrokerNode

_FIRST_US: Final = 2_000_000
_GROWTH: Final = 1.5
_AGAIN_US: Final = 500_000
"""So long a difference has to last: a batch may be on its way to the log, where nobody sees it."""


class ShardSampler:
    """What is known of the shards of one broker."""

    def __init__(self, node: BrokerNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._wait_us = _FIRST_US
        self._due_us: int | None = None
        self._seen: Sequence[str] = ()

    def look(self, now_us: int) -> None:
        """Write down what shards have and their logs have not, if it is time and stays so."""
        if self._due_us is None:
            self._due_us = now_us + self._wait_us
        if now_us < self._due_us:
            return
        before, self._seen = self._seen, tuple(differing(self._node))
        stays = [text for text in self._seen if text in before]
        self._samples.misloads += [(now_us, text) for text in stays]
        if self._seen and not stays:
            self._due_us = now_us + _AGAIN_US
            return
        self._seen = ()
        self._wait_us = int(self._wait_us * _GROWTH)
        self._due_us = now_us + self._wait_us


def differing(node: BrokerNode) -> Sequence[str]:
    """Return what shards of a broker have otherwise than their logs, a sentence each."""
    if node.broker is None or not node.is_up or node.is_paused:
        return ()
    files = {path: drive.disk.memory for path, drive in node.drives.items()}
    return list(contradictions_of_shards(f"broker {node.id}", node.broker, files))


def unended(node: BrokerNode) -> Sequence[str]:
    """Return which transactions of a broker's shards never end, a sentence each."""
    if node.broker is None or not node.is_up or node.is_paused:
        return ()
    return list(forgotten_ends(f"broker {node.id}", node.broker))
