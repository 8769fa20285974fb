"""Counts what the processes of nodes run: one that spins does nothing wrong, again and again."""

from __future__ import annotations

from typing import Final

from simulation.core.samples import GaugeSample, Samples
from simulation.world.node import SimNode
from simulation.world.process import Process

WINDOW_US: Final = 1_000_000
STEPS_PER_S_MAX: Final = 20_000
"""Several times what any process of a drawn story runs, and a fiftieth of what one that spins does.

A process is busy for a microsecond with each step.
"""
_NAME: Final = "steps in a second"


class PaceSampler:
    """The pace of one node."""

    def __init__(self, node: SimNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._process: Process | None = None
        self._since_us = 0
        self._steps = 0
        self._at: int | None = None

    def look(self, now_us: int) -> None:
        """Keep the most steps of any second."""
        process = self._node.process
        if process is None or process is not self._process:
            self._begin(process, now_us)
        elif now_us - self._since_us >= WINDOW_US:
            count = (process.steps - self._steps) * WINDOW_US // (now_us - self._since_us)
            self._note(GaugeSample(now_us, self._node.name, _NAME, count, STEPS_PER_S_MAX))
            self._begin(process, now_us)

    def _begin(self, process: Process | None, now_us: int) -> None:
        self._process, self._since_us = process, now_us
        self._steps = 0 if process is None else process.steps

    def _note(self, gauge: GaugeSample) -> None:
        gauges = self._samples.gauges
        if self._at is None:
            self._at = len(gauges)
            gauges.append(gauge)
        elif gauge.value > gauges[self._at].value:
            gauges[self._at] = gauge
