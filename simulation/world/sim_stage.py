"""SimStage: a simulated cluster behind the port that runs know. Implements ``Stage``.

What a run asks of a broker beyond Kafka's protocol is asked of its process at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from broker.control import (
    ControlError,
    ReplaceRequest,
    RestartPartitionRequest,
    RestartRequest,
)
from broker.exposition import exposition
from broker.storage.memory_disk import MemoryDisk
from broker.surface import Surface
from protocol.cluster_file.spec import ClusterSpec
from protocol.faults.model import DiskFault, NetworkFault, broker_node
from protocol.ids import TopicPartition
from protocol.ports import WallClock
from simulation.core.capability import Capability
from simulation.core.checkers.liveness import lacks
from simulation.core.observation import NodeSeen
from simulation.core.samples import Samples
from simulation.look.log_dir_files import holds_records, put_file, take_file, texts_below
from simulation.look.metrics import metric_values
from simulation.look.places import place_of
from simulation.stage import StageError
from simulation.world.clock import SimClock
from simulation.world.cluster import STOP_TIMEOUT_MS, SimCluster
from simulation.world.fault_plane import FaultPlane, FaultRefusedError
from simulation.world.journal_disk import JOURNAL_FILE
from simulation.world.loop import SimLoop
from simulation.world.node import SimNode
from simulation.world.observer import Observer
from simulation.world.process import STEP_US

T = TypeVar("T")

_REAL_STEP_US: Final = 20
"""What a step takes on a real machine: a slow CPU is so many times slower than that."""


class SimStage:
    """One cluster in one world. Made and used while its loop runs."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self._loop: SimLoop = cluster.loop
        self._began_us = self._loop.now_us
        self._faults = FaultPlane(cluster)
        self._observer = Observer(cluster)

    @property
    def spec(self) -> ClusterSpec:
        """See ``Stage.spec``."""
        return self.cluster.spec

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """All there are."""
        return tuple(Capability)

    def now_ms(self) -> int:
        """See ``Stage.now_ms``."""
        return (self._loop.now_us - self._began_us) // 1000

    @property
    def clock(self) -> WallClock:
        """See ``Stage.clock``."""
        return SimClock(lambda: self._loop.now_us)

    async def start(self) -> None:
        """See ``Stage.start``."""
        self._observer.start()
        try:
            await self.cluster.start()
        except TimeoutError as error:
            states = {name: node.ended_with for name, node in self.cluster.nodes.items()}
            raise StageError(f"the cluster did not come up: {states}") from error

    async def stop(self) -> None:
        """See ``Stage.stop``."""
        self._faults.clear_all()
        for node in self.cluster.nodes.values():
            if node.is_paused:
                node.resume()
        try:
            await self.cluster.stop()
        except TimeoutError:
            for node in self.cluster.nodes.values():
                node.kill()

    async def start_node(self, node: str) -> None:
        """See ``Stage.start_node``."""
        found = self._node(node)
        if found.is_running:
            raise StageError(f"{node} runs")
        found.start()

    async def stop_node(self, node: str) -> None:
        """See ``Stage.stop_node``."""
        found = self._node(node)
        found.ask_to_end()
        try:
            await self.cluster.until(lambda: not found.is_running, STOP_TIMEOUT_MS)
        except TimeoutError as error:
            raise StageError(f"{node} did not end within {STOP_TIMEOUT_MS} ms") from error

    async def kill_node(self, node: str) -> None:
        """See ``Stage.kill_node``."""
        self._node(node).kill()

    async def cut_power(self, node: str) -> None:
        """See ``Stage.cut_power``."""
        self._node(node).power_cut()

    async def pause_node(self, node: str) -> None:
        """See ``Stage.pause_node``."""
        self._running(node).pause()

    async def resume_node(self, node: str) -> None:
        """See ``Stage.resume_node``."""
        self._running(node).resume()

    async def slow_cpu(self, node: str, factor: float) -> None:
        """See ``Stage.slow_cpu``."""
        step_us = STEP_US if factor == 1 else max(STEP_US, round(_REAL_STEP_US * factor))
        self._node(node).set_step_us(step_us)
        self._observer.fault_ended(f"CPU of {node}")
        if step_us != STEP_US:
            self._observer.fault_began(f"CPU of {node}", [(node, "")], "slow CPU")

    async def skew_clock(self, node: str, by_ms: int) -> None:
        """See ``Stage.skew_clock``."""
        self._node(node).skew_clock(by_ms)

    def node(self, node: str) -> NodeSeen:
        """See ``Stage.node``."""
        found = self._node(node)
        if found.is_running:
            return NodeSeen(state="paused" if found.is_paused else "running")
        return NodeSeen(state="stopped", exit_code=found.exit_code)

    async def add_fault(self, name: str, fault: DiskFault | NetworkFault) -> None:
        """See ``Stage.add_fault``."""
        try:
            self._faults.add(name, fault)
        except FaultRefusedError as error:
            raise StageError(str(error)) from error
        self._observer.fault_began(name, [place_of(fault)], fault.mode.value)

    async def clear_fault(self, name: str) -> None:
        """See ``Stage.clear_fault``."""
        self._observer.look()  # what it has damaged, before it is forgotten
        self._faults.clear(name)
        self._observer.fault_ended(name)

    async def fault_hits(self) -> Mapping[str, int]:
        """See ``Stage.fault_hits``."""
        return self._faults.hits()

    async def restart_log_dir(self, broker: int, path: str) -> None:
        """See ``Stage.restart_log_dir``."""
        request = RestartRequest(path=path)
        self._ask(broker, lambda surface: surface.restart_log_dir(request))

    async def replace_log_dir(self, broker: int, path: str, *, accept_loss: bool) -> None:
        """See ``Stage.replace_log_dir``."""
        node = self.cluster.brokers[broker]
        if node.is_running:
            request = ReplaceRequest(path=path, accept_loss=accept_loss, force=True)
            self._ask(broker, lambda surface: surface.replace_log_dir(request))
        else:
            node.drives[path].replace()
        name = f"disk of {broker_node(broker)} {path}"
        self._observer.fault_began(name, [(broker_node(broker), path)], "replaced")
        self._observer.fault_ended(name)

    async def restart_partition(self, broker: int, partition: TopicPartition) -> None:
        """See ``Stage.restart_partition``."""
        request = RestartPartitionRequest(*partition)
        self._ask(broker, lambda surface: surface.restart_partition(request))

    async def write_file(self, broker: int, path: str, name: str, text: str) -> None:
        """See ``Stage.write_file``."""
        with self._past_the_broker(broker, path, name) as memory:
            put_file(memory, name, text)

    async def remove_file(self, broker: int, path: str, name: str) -> None:
        """See ``Stage.remove_file``."""
        with self._past_the_broker(broker, path, name) as memory:
            take_file(memory, name)

    async def read_journal(self) -> bytes:
        """See ``Stage.read_journal``."""
        return self._journal_memory().read_file(JOURNAL_FILE)

    async def write_journal(self, data: bytes) -> None:
        """See ``Stage.write_journal``."""
        memory = self._journal_memory()
        memory.write_file(JOURNAL_FILE, data)
        memory.sync_file(JOURNAL_FILE)
        self._observer.samples.journal_edits_us.append(self._loop.now_us)

    def _journal_memory(self) -> MemoryDisk:
        (drive,) = self.cluster.controller.drives.values()
        return drive.disk.memory

    async def files(self, broker: int, path: str) -> Mapping[str, str]:
        """See ``Stage.files``."""
        return texts_below(self.cluster.brokers[broker].drives[path].disk.memory)

    async def samples(self) -> Samples:
        """See ``Stage.samples``."""
        return await self._observer.finish()

    async def lacks(self) -> Sequence[str]:
        """See ``Stage.lacks``."""
        self._observer.look()
        return lacks(self._observer.samples)

    async def metrics(self, broker: int) -> Mapping[str, float]:
        """See ``Stage.metrics``."""
        _, text = exposition(self._ask(broker, lambda surface: surface.metric_families()))
        return metric_values(text.decode())

    @contextmanager
    def _past_the_broker(self, broker: int, path: str, name: str) -> Generator[MemoryDisk]:
        """Give the disk to be changed, and remember when records go.

        Raises:
            StageError: it cannot be done.
        """
        drive = self.cluster.brokers[broker].drives[path]
        memory = drive.disk.memory
        held_records = holds_records(memory, name)
        try:
            yield memory
        except OSError as error:
            raise StageError(f"{name}: {error.strerror}") from error
        drive.losses_count += held_records

    def _node(self, name: str) -> SimNode:
        try:
            return self.cluster.node(name)
        except KeyError as error:
            raise StageError(f"no node is named {name}") from error

    def _running(self, name: str) -> SimNode:
        node = self._node(name)
        if not node.is_running:
            raise StageError(f"{name} does not run")
        return node

    def _ask(self, broker: int, ask: Callable[[Surface], T]) -> T:
        """Ask a broker what its control endpoint would be asked, at once.

        Raises:
            StageError: it does not run, or refuses.
        """
        node = self.cluster.brokers.get(broker)
        if node is None or node.broker is None or node.is_paused:
            raise StageError(f"broker {broker} does not answer")
        try:
            return node.call(ask, node.broker.surface)
        except ControlError as error:
            raise StageError(str(error)) from error
