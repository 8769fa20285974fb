"""What the checkers of every run need of one that crashed: orders, decisions, logs, the journal.

Nobody looks into the brokers meanwhile, so that checkers of what happens on the way see nothing.
"""

from __future__ import annotations

from typing import Final

from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from simulation.core.checkers.evidence import Evidence
from simulation.core.history import History
from simulation.core.samples import JournalSample, Samples, SampleSource
from simulation.sampling.decisions import DecisionSampler
from simulation.world.cluster import SimCluster
from simulation.world.log_sampler import sample_logs

_SIGHTS: Final = (
    SampleSource.CLIENTS,
    SampleSource.DECISIONS,
    SampleSource.LOGS,
    SampleSource.JOURNAL,
)


class EvidenceKeeper:
    """Keeps the decisions of a controller; ``look`` before and after each order."""

    def __init__(self, cluster: SimCluster, history: History) -> None:
        self._cluster = cluster
        self._history = history
        self._samples = Samples(sources=_SIGHTS)
        self._decisions = DecisionSampler(self._samples)

    def look(self) -> None:
        """Write down what was decided since the look before, if a controller runs."""
        controller = self._cluster.controller.controller
        if controller is not None and controller.listening.done():
            self._decisions.look(controller.state, self._cluster.loop.now_us)

    def finish(self, state: ClusterState, replayed: ClusterState) -> Evidence:
        """Return everything, with the logs as they lie on the disks now.

        Args:
            state: what the controller knows.
            replayed: what its journal gives.
        """
        self.look()
        samples, now_us = self._samples, self._cluster.loop.now_us
        samples.logs = sample_logs(self._cluster)
        samples.acts_before_sync = list(self._cluster.controller.acts_before_sync)
        samples.told_before_sync = list(self._cluster.controller.told_before_sync)
        samples.journals = [JournalSample(now_us, _records(state), _records(replayed))]
        samples.ended_us = now_us
        return Evidence(history=self._history.operations, samples=samples)


def _records(state: ClusterState) -> tuple[object, ...]:
    return tuple(sorted(snapshot(state), key=repr))
