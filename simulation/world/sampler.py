"""Looks into the nodes of a simulated cluster while it runs, and writes down what changed.

It changes nothing and judges nothing. It looks at short intervals that chance draws, so that it is
never in step with anything, and at longer ones while nothing changes; what begins and ends between
two looks is not seen.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from pathlib import Path
from typing import Final

from controller.core.state import ClusterState
from controller.journal import replay
from simulation.core.checkers.liveness import lacks
from simulation.core.checkers.settled import unsettled
from simulation.core.checkers.unassigned import may_bring_back
from simulation.core.samples import (
    SEEN_WITHIN_US,
    ClockSkew,
    FaultSample,
    JournalSample,
    NodeSample,
    Samples,
    SampleSource,
)
from simulation.sampling.state_facts import facts_of
from simulation.world.broker_sampler import BrokerSampler
from simulation.world.cluster import SimCluster
from simulation.world.contradictions import (
    contradictions_of_broker,
    contradictions_of_controller,
    leftovers_of_broker,
)
from simulation.world.controller_sampler import ControllerSampler
from simulation.world.drive_sampler import DriveSampler
from simulation.world.exchange_sampler import ExchangeSampler
from simulation.world.journal_disk import JOURNAL_FILE
from simulation.world.known_configs import configs_known_otherwise
from simulation.world.log_sampler import sample_logs
from simulation.world.pace_sampler import PaceSampler
from simulation.world.shard_sampler import ShardSampler, differing, unended

INTERVAL_US_MAX: Final = SEEN_WITHIN_US
"""The longest time between two looks; half of it on average."""
IDLE_INTERVAL_US_MAX: Final = 640_000
"""The same when nothing changes, and nobody asks for anything that may change something."""
SETTLED_WITHIN_MS: Final = 40_000
"""So long followers may take for the last records, and the controller's orders to be answered.

Over a connection that died unnoticed an order is given up after 30 s, and sent again.
"""
SETTLE_LOOK_MS: Final = 50
_SETTLE_LOOK_GROWTH: Final = 1.1
"""Looks are ever farther apart: each reads what coordinators would load (seed 1066044)."""
JOURNAL_WITHIN_MS: Final = 5_000
"""So long may a decision take to be durable at the end."""


class Sampler:
    """The observer of one cluster. ``start`` first, ``finish`` last; both once."""

    def __init__(self, cluster: SimCluster) -> None:
        self.samples = Samples(sources=tuple(SampleSource))
        self.looks_count = 0
        self._cluster = cluster
        self._loop = cluster.loop
        self._chance = cluster.loop.chance.stream("observer")
        self._brokers = [BrokerSampler(node, self.samples) for node in cluster.brokers.values()]
        self._drives = [DriveSampler(node, self.samples) for node in cluster.brokers.values()]
        self._shards = [ShardSampler(node, self.samples) for node in cluster.brokers.values()]
        self._controller = ControllerSampler(cluster.controller, self.samples)
        self._paces = [PaceSampler(node, self.samples) for node in cluster.nodes.values()]
        self._exchanges = ExchangeSampler(cluster, self.samples, self._hurry)
        self._watches = (
            *self._drives,
            *self._brokers,
            *self._shards,
            *self._paces,
            self._controller,
        )
        self._up: dict[str, tuple[bool, int]] = {}
        self._faults: dict[str, range] = {}
        self._interval_us_max = INTERVAL_US_MAX
        self._changes_count = 0
        self._nobody = Context()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to look."""
        self._exchanges.start()
        self._tick()

    async def finish(self) -> Samples:
        """Look a last time, at the disks too, and return everything; the cluster still runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None  # Nothing that is said makes it hurry any more.
        for name in list(self._faults):
            self.fault_ended(name)
        await self._settle()
        # At once: a broker may begin to remove segments, and say only later where the log begins.
        self.samples.logs = sample_logs(self._cluster)
        await self._compare_journal()
        self._exchanges.finish()
        self.samples.acts_before_sync = list(self._cluster.controller.acts_before_sync)
        self.samples.told_before_sync = list(self._cluster.controller.told_before_sync)
        self.samples.ended_us = self._loop.now_us
        return self.samples

    def look(self) -> None:
        """Write down what differs from the look before."""
        self.looks_count += 1
        now_us = self._loop.now_us
        for name, node in self._cluster.nodes.items():
            now = (node.is_running and not node.is_paused, node.starts_count)
            if self._up.get(name) != now:
                self._up[name] = now
                self.samples.nodes.append(NodeSample(now_us, name, *now))
        for watch in self._watches:
            watch.look(now_us)

    def fault_began(
        self,
        name: str,
        places: list[tuple[str, str]],
        what: str,
        between: tuple[str, ...] = (),
    ) -> None:
        """Note a fault on (node, log dir) pairs; "" is no single node, no single log dir."""
        faults = self.samples.faults
        self._faults[name] = range(len(faults), len(faults) + len(places))
        for node, log_dir in places:
            faults.append(FaultSample(self._loop.now_us, None, node, log_dir, what, between))

    def fault_ended(self, name: str) -> None:
        """Note its end; once is enough."""
        for number in self._faults.pop(name, ()):
            fault = self.samples.faults[number]
            self.samples.faults[number] = fault._replace(end_us=self._loop.now_us)

    def clock_skewed(self, node: str, by_ms: int) -> None:
        """Note that a node's wall clock goes ahead of the others', or behind."""
        self.samples.clock_skews.append(ClockSkew(self._loop.now_us, node, by_ms))

    def _tick(self) -> None:
        self.look()
        samples = self.samples
        changes_count = len(samples.replicas) + len(samples.partitions) + len(samples.nodes)
        if changes_count != self._changes_count:
            self._changes_count = changes_count
            self._interval_us_max = INTERVAL_US_MAX
        else:
            self._interval_us_max = min(2 * self._interval_us_max, IDLE_INTERVAL_US_MAX)
        self._look_later()

    def _hurry(self) -> None:
        """Look soon: what comes now may change something."""
        if self._interval_us_max > INTERVAL_US_MAX and self._timer is not None:
            self._interval_us_max = INTERVAL_US_MAX
            self._timer.cancel()
            self._look_later()

    def _look_later(self) -> None:
        at_us = self._loop.now_us + self._chance.randint(1, self._interval_us_max)
        # In a context of nobody's: whoever sends what makes it hurry may be killed before.
        self._timer = self._loop.call_at_us(at_us, self._tick, context=self._nobody)

    async def _settle(self) -> None:
        """Look until leaders and followers have the same and no Isr lacks anybody, or time is up.

        A connection that died in a cut takes a replica out of the Isr late, until TCP repairs it.
        """
        deadline_us = self._loop.now_us + SETTLED_WITHIN_MS * 1000
        wait_s = SETTLE_LOOK_MS / 1000
        while self._is_on_its_way() and self._loop.now_us < deadline_us:
            await asyncio.sleep(wait_s)
            wait_s *= _SETTLE_LOOK_GROWTH
        self._look_inside()

    def _is_on_its_way(self) -> bool:
        """Look, and look inside of nodes only where all that can be seen from outside is well."""
        self.look()
        self.samples.contradictions.clear()
        if unsettled(self.samples) or lacks(self.samples):
            return True
        self._look_inside()
        return bool(self.samples.contradictions)

    def _look_inside(self) -> None:
        """Hold what each node keeps against itself and the decisions."""
        self.samples.contradictions.clear()
        controller = self._cluster.controller.controller
        if controller is None or not controller.listening.done():
            return
        found = self.samples.contradictions
        found += contradictions_of_controller(controller.state, controller.run_state)
        for node in self._cluster.brokers.values():
            engine = None if node.broker is None else node.broker.broker_control.engine
            if node.broker is not None and engine and node.is_up and not node.is_paused:
                found += contradictions_of_broker(engine, controller.state)
                found += configs_known_otherwise(node.id, node.broker, controller.state)
                # What a journal forgot is kept for people, and what a disk brought back.
                has_forgotten = self.samples.journal_edits_us
                if not has_forgotten and not may_bring_back(self.samples, node.id):
                    found += leftovers_of_broker(engine, controller.state)
        if not found:
            for node in self._cluster.brokers.values():
                found += [*differing(node), *unended(node)]

    async def _compare_journal(self) -> None:
        """Compare as soon as both agree, or when they should: decisions may be on their way."""
        node = self._cluster.controller
        deadline_us = self._loop.now_us + JOURNAL_WITHIN_MS * 1000
        while node.controller is not None:
            sample = self._journal(node.controller.state)
            if sample.decided == sample.replayed or self._loop.now_us >= deadline_us:
                self.samples.journals.append(sample)
                return
            await asyncio.sleep(0.01)

    def _journal(self, state: ClusterState) -> JournalSample:
        (drive,) = self._cluster.controller.drives.values()
        data = drive.disk.memory.read_file(JOURNAL_FILE)
        replayed = replay(data, Path(drive.disk.root) / JOURNAL_FILE)
        return JournalSample(self._loop.now_us, facts_of(state), facts_of(replayed.state))
