"""Watches the simulated controller: what it decides, and the requests that wait for brokers."""

from __future__ import annotations

from typing import Final

from controller.channels import QUEUED_REQUESTS_MAX
from controller.core.state import ClusterState
from simulation.core.samples import GaugeSample, JournalSample, Samples
from simulation.sampling.decisions import DecisionSampler
from simulation.sampling.state_facts import compacted, facts_of
from simulation.world.journal_disk import DiskJournal
from simulation.world.node import ControllerNode
from simulation.world.process import Process

_CHANNELS: Final = "requests queued for brokers"


class ControllerSampler:
    """What is known of the controller."""

    def __init__(self, node: ControllerNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._decisions = DecisionSampler(samples)
        self._gauge: GaugeSample | None = None
        self._journal: DiskJournal | None = None
        """Of the process that was looked at last."""
        self._compacted_number = 0
        """Of the decision after which a compacted journal was compared last."""
        self._seen: tuple[Process | None, int] = (None, 0)
        """Whose steps were looked at last, and when the last one of them was over."""

    def look(self, now_us: int) -> None:
        """Write down what changed; a controller that is down changes nothing."""
        controller, journal = self._node.controller, self._node.journal
        if controller is None or journal is None or not controller.listening.done():
            return
        if not self._has_made_steps():
            return
        if journal is not self._journal and self._journal is not None:
            self._decisions.forget_lost(self._journal.durable_number)
        self._journal = journal
        self._decisions.look(controller.state, now_us)
        self._decisions.note_durable(controller.state, journal.durable_number)
        self._look_at_compaction(controller.state, now_us)
        self._look_at_channels(controller.queued_requests_count, now_us)

    def _has_made_steps(self) -> bool:
        """Tell whether its process did anything since it was asked last: else nothing changed."""
        process = self._node.process
        before, self._seen = self._seen, (process, 0 if process is None else process.free_at_us)
        return process is None or before != self._seen

    def _look_at_compaction(self, state: ClusterState, now_us: int) -> None:
        """Write down what a journal that is compacted now would replay to, if not to the state.

        Few journals grow so much within a seed that they are.
        """
        if state.journal_number == self._compacted_number:
            return
        self._compacted_number = state.journal_number
        rebuilt = compacted(state)
        if rebuilt == state:
            return  # As nearly always; texts cost ten times as much.
        decided, replayed = facts_of(state), facts_of(rebuilt)
        if decided != replayed:
            self._samples.journals.append(JournalSample(now_us, decided, replayed))

    def _look_at_channels(self, count: int, now_us: int) -> None:
        if self._gauge is None:
            self._gauge = GaugeSample(
                now_us, self._node.name, _CHANNELS, count, QUEUED_REQUESTS_MAX
            )
            self._samples.gauges.append(self._gauge)
        elif count > self._gauge.value:
            at = self._samples.gauges.index(self._gauge)
            self._gauge = self._gauge._replace(at_us=now_us, value=count)
            self._samples.gauges[at] = self._gauge
