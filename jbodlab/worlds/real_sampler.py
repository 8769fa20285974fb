"""Looks into a cluster of real processes while it runs: the evidence that checkers need.

Brokers are asked on their control endpoints, the controller's journal is read as it grows, and at
the end the logs are read from the log dirs. Nothing is changed and nothing is judged. What begins
and ends between two looks is not seen, but for decisions: the journal has them all.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from broker.storage.disk import FileDisk
from controller.journal import JournalCorruptError, JournalFile, replay
from jbodlab.asking.control import ControlClient
from jbodlab.errors import LabError
from protocol.cluster_file.spec import ClusterSpec
from protocol.faults.model import (
    ANY_NODE,
    BrokerFault,
    DamageLasts,
    DiskFault,
    broker_node,
)
from simulation.core.checkers.liveness import lacks
from simulation.core.observation import ObservedNode
from simulation.core.samples import (
    Damage,
    FaultSample,
    JournalSample,
    LogSample,
    NodeSample,
    Samples,
    SampleSource,
)
from simulation.loop_time import loop_now_us
from simulation.sampling.journal import JournalSampler
from simulation.sampling.logs import logs_below
from simulation.sampling.places import link_of, place_of
from simulation.sampling.replicas import ReplicaSampler

LOOK_EVERY_MS: Final = 100
STALLED_MS_MIN: Final = 500
"""A look that comes so late says that the whole machine stood still."""
SETTLED_WITHIN_MS: Final = 5_000
"""So long may logs and decisions differ from what brokers say of them at the end."""
_ANSWER_TIMEOUT_S: Final = 1.0
_SIGHTS: Final = tuple(
    source
    for source in SampleSource
    if source not in (SampleSource.COMMITS, SampleSource.CONTROLLER, SampleSource.CONNECTIONS)
)


class RealSampler:
    """The observer of one cluster. ``run`` it while the cluster runs; ``finish`` it once."""

    def __init__(
        self,
        spec: ClusterSpec,
        node: Callable[[str], ObservedNode],
        count_hits: Callable[[], Awaitable[None]],
        *,
        settled_within_ms: int = SETTLED_WITHIN_MS,
    ) -> None:
        """``node`` tells how a process is now; ``count_hits`` calls ``faults_hit``."""
        self.samples = Samples(sources=_SIGHTS, seen_within_us=0)
        self._spec = spec
        self._node = node
        self._count_hits = count_hits
        self._settled_within_us = settled_within_ms * 1000
        self._controls = {
            broker.id: ControlClient(broker.id, broker.control_port, timeout_s=_ANSWER_TIMEOUT_S)
            for broker in spec.brokers
        }
        self._watches = {
            broker.id: ReplicaSampler(broker.id, self.samples) for broker in spec.brokers
        }
        self._journal = JournalFile(Path(spec.controller.data_dir)).path
        self._journal_watch = JournalSampler(self.samples)
        self._journal_inode = 0
        self._up: dict[str, bool] = {}
        self._ends: dict[str, int] = {}
        """How often a node was seen to have ended."""
        self._faults: dict[str, tuple[int, BrokerFault]] = {}
        """Name -> where it is in the samples, and what it is."""
        self._hits: dict[str, int] = {}
        self._looked_us: int | None = None
        self._turn = asyncio.Lock()
        self._threads = ThreadPoolExecutor(max_workers=len(spec.brokers) + 1)

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            due_us = loop_now_us() + LOOK_EVERY_MS * 1000
            await asyncio.sleep(LOOK_EVERY_MS / 1000)
            now_us = loop_now_us()
            if now_us - due_us > STALLED_MS_MIN * 1000:
                self.samples.faults.append(
                    FaultSample(due_us, now_us, "", what="machine stood still")
                )
            await self.look()

    async def look(self) -> None:
        """Write down what differs from the look before."""
        async with self._turn:
            self.look_at_nodes()
            if self._damaging():
                await self._count_hits()
            answers = await self._ask_all()
            now_us = loop_now_us()
            for broker, watch in self._watches.items():
                if broker in answers:
                    watch.look(answers[broker], now_us, answers)
                elif self._node(broker_node(broker)).state == "stopped":
                    watch.gone(now_us)
            await self._look_at_journal()
            if self._looked_us is not None:
                gap_us = now_us - self._looked_us
                self.samples.seen_within_us = max(gap_us, self.samples.seen_within_us)
            self._looked_us = now_us

    def look_at_nodes(self) -> None:
        """Write down which processes run.

        Call it before one starts: at the next look it may be up, and its end be unseen.
        """
        names = ["controller", *(broker_node(broker.id) for broker in self._spec.brokers)]
        for name in names:
            state = self._node(name).state
            is_up = state == "running"
            if state == "stopped" and self._up.get(name):
                self._ends[name] = self._ends.get(name, 0) + 1
            if self._up.get(name) != is_up:
                self._up[name] = is_up
                boot = self._ends.get(name, 0)
                self.samples.nodes.append(NodeSample(loop_now_us(), name, is_up, boot))

    async def lacks(self) -> list[str]:
        """Return what brokers and controller still wait for, a sentence each."""
        await self.look()
        return lacks(self.samples)

    def fault_began(self, name: str, fault: BrokerFault) -> None:
        """Note a fault."""
        faults = self.samples.faults
        self._faults[name] = (len(faults), fault)
        place, what = place_of(fault), fault.mode.value
        faults.append(FaultSample(loop_now_us(), None, *place, what, link_of(fault)))

    def fault_ended(self, name: str) -> None:
        """Note its end; once is enough."""
        if name in self._faults:
            number, _ = self._faults.pop(name)
            faults = self.samples.faults
            faults[number] = faults[number]._replace(end_us=loop_now_us())

    def faults_hit(self, hits: Mapping[str, int]) -> None:
        """Note what faults have met so far: some of them damage what they meet."""
        for name, fault in self._damaging():
            if hits.get(name, 0) > self._hits.get(name, 0):
                for broker, path in self._log_dirs_of(fault):
                    is_lasting = fault.mode.row.damage is DamageLasts.UNTIL_REPLACED
                    self.damaged(broker, path, fault.mode.value, is_lasting=is_lasting)
        self._hits.update(hits)

    def _damaging(self) -> list[tuple[str, DiskFault]]:
        return [
            (name, fault)
            for name, (_, fault) in self._faults.items()
            if isinstance(fault, DiskFault) and fault.mode.row.damage is not None
        ]

    def _log_dirs_of(self, fault: DiskFault) -> list[tuple[int, str]]:
        return [
            (broker.id, log_dir.path)
            for broker in self._spec.brokers
            if fault.node in (ANY_NODE, broker_node(broker.id))
            for log_dir in broker.log_dirs
            if fault.log_dir in (None, log_dir.path)
        ]

    def damaged(self, broker: int, log_dir: str, what: str, *, is_lasting: bool = False) -> None:
        """Note that a log dir lost something, or that it was changed."""
        self.samples.damages.append(Damage(loop_now_us(), broker, log_dir, what, is_lasting))

    def replaced(self, broker: int, log_dir: str) -> None:
        """Note that an empty disk takes the place of a log dir: a fault of one moment."""
        self.damaged(broker, log_dir, "an empty disk in its place")
        now_us = loop_now_us()
        self.samples.faults.append(
            FaultSample(now_us, now_us, broker_node(broker), log_dir, "replaced")
        )

    async def finish(self) -> Samples:
        """Look a last time, at the disks too, and return everything; the cluster still runs."""
        for name in list(self._faults):
            self.fault_ended(name)
        self.samples.logs = await self._logs()
        await self._compare_journal()
        self.samples.log_dirs.sort(key=lambda sample: sample.at_us)
        self.samples.ended_us = loop_now_us()
        return self.samples

    def close(self) -> None:
        """Give the threads back."""
        self._threads.shutdown(wait=False)

    # Any: JSON.
    async def _ask_all(self) -> dict[int, dict[str, Any]]:
        """Ask every broker that runs at once; those that do not answer are left out."""
        answers: dict[int, dict[str, Any]] = {}

        async def ask(broker: int) -> None:
            try:
                answers[broker] = await self._in_thread(self._controls[broker].replicas)
            except LabError:
                return

        async with asyncio.TaskGroup() as group:
            for broker in self._controls:
                if self._node(broker_node(broker)).state == "running":
                    group.create_task(ask(broker), name=f"look into broker-{broker}")
        return answers

    async def _look_at_journal(self) -> None:
        inode, data = await self._in_thread(self._read_journal)
        if inode != self._journal_inode:
            self._journal_inode = inode
            self._journal_watch.begin_anew()
            inode, data = await self._in_thread(self._read_journal)
        if inode == self._journal_inode:
            self._journal_watch.look(data, loop_now_us())

    def _read_journal(self) -> tuple[int, bytes]:
        """Return which file it is, and what follows on what was read; (0, b"") while none is."""
        try:
            with self._journal.open("rb") as file:
                file.seek(self._journal_watch.size_bytes)
                return os.fstat(file.fileno()).st_ino, file.read()
        except FileNotFoundError:
            return 0, b""

    async def _logs(self) -> list[LogSample]:
        """Read the logs between two looks that agree: what lies there belongs to what was said."""
        deadline_us = loop_now_us() + self._settled_within_us
        while True:
            await self.look()
            before = self._said()
            logs = await self._in_thread(self._read_logs)
            await self.look()
            is_settled = logs is not None and before == self._said()
            if is_settled or loop_now_us() >= deadline_us:
                return logs or []
            await asyncio.sleep(LOOK_EVERY_MS / 1000)

    def _said(self) -> list[object]:
        watches = self._watches.values()
        return [(watch.holdings, watch.online_log_dirs) for watch in watches]

    def _read_logs(self) -> list[LogSample] | None:
        """Read every log dir; None: a file went while it was read."""
        found: list[LogSample] = []
        for broker in self._spec.brokers:
            watch = self._watches[broker.id]
            for log_dir in broker.log_dirs:
                path = log_dir.path
                is_online = path in watch.online_log_dirs
                holdings = watch.holdings if is_online else None
                try:
                    found += logs_below(broker.id, path, FileDisk(path), holdings)
                except OSError:
                    if is_online:
                        return None
        return found

    async def _compare_journal(self) -> None:
        """Hold the journal against what leaders were told, as soon as both agree or should."""
        deadline_us = loop_now_us() + self._settled_within_us
        while self._node("controller").state == "running":
            await self.look()
            decided, replayed = await self._in_thread(self._told_and_replayed)
            sample = JournalSample(loop_now_us(), decided, replayed)
            if sample.decided == sample.replayed or loop_now_us() >= deadline_us:
                self.samples.journals.append(sample)
                return
            await asyncio.sleep(LOOK_EVERY_MS / 1000)

    def _told_and_replayed(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return who leads which partition, at which epoch, with which Isr."""
        told = [
            (tp, broker, *leadership)
            for broker, watch in self._watches.items()
            for tp, leadership in watch.led.items()
        ]
        try:
            state = replay(self._journal.read_bytes(), self._journal).state
        except (JournalCorruptError, OSError) as error:
            return ("a journal that can be replayed",), (str(error),)
        partitions = [(tp, state.partition(tp)) for tp in state.partitions()]
        decided = [
            (tp, partition.leader, partition.leader_epoch, partition.isr)
            for tp, partition in partitions
            if self._answers(partition.leader) and not state.is_deleting(tp.topic)
        ]
        return tuple(sorted(told)), tuple(sorted(decided))

    def _answers(self, broker: int) -> bool:
        return broker in self._watches and bool(self._watches[broker].online_log_dirs)

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)
