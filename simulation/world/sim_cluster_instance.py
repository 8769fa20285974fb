"""A simulated cluster behind the port that runs know. Implements ``ClusterInstance``.

What a run asks of a broker beyond Kafka's protocol is asked of its process at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from broker.broker_control import BrokerControl
from broker.control import (
    ControlError,
    ReplaceRequest,
    RestartPartitionRequest,
    RestartRequest,
)
from broker.exposition import exposition
from broker.storage.memory_disk import MemoryDisk
from protocol.cluster_file.spec import ClusterSpec
from protocol.faults.model import BrokerFault, broker_node
from protocol.ids import TopicPartition
from protocol.ports import WallClock
from simulation.cluster_instance import ClusterInstanceError
from simulation.core.capability import Capability
from simulation.core.checkers.liveness import lacks
from simulation.core.observation import ObservedNode
from simulation.core.samples import Samples
from simulation.sampling.log_dir_files import holds_records, put_file, take_file, texts_below
from simulation.sampling.metrics import metric_values
from simulation.sampling.places import link_of, place_of
from simulation.world.clock import SimClock
from simulation.world.cluster import STOP_TIMEOUT_MS, SimCluster
from simulation.world.fault_plane import FaultPlane, FaultRefusedError
from simulation.world.journal_disk import JOURNAL_FILE
from simulation.world.loop import SimLoop
from simulation.world.node import SimNode
from simulation.world.process import STEP_US
from simulation.world.sampler import Sampler

T = TypeVar("T")

_REAL_STEP_US: Final = 20
"""What a step takes on a real machine: a slow CPU is so many times slower than that."""


class SimClusterInstance:
    """A ``ClusterInstance`` in one world, made and used while its loop runs."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self._loop: SimLoop = cluster.loop
        self._began_us = self._loop.now_us
        self._faults = FaultPlane(cluster)
        self._observer = Sampler(cluster)

    @property
    def spec(self) -> ClusterSpec:
        return self.cluster.spec

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """All there are."""
        return tuple(Capability)

    def now_ms(self) -> int:
        return (self._loop.now_us - self._began_us) // 1000

    @property
    def clock(self) -> WallClock:
        return SimClock(lambda: self._loop.now_us)

    async def start(self) -> None:
        self._observer.start()
        try:
            await self.cluster.start()
        except TimeoutError as error:
            states = {name: node.ended_with for name, node in self.cluster.nodes.items()}
            raise ClusterInstanceError(f"the cluster did not come up: {states}") from error

    async def stop(self) -> None:
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
        found = self._node(node)
        if found.is_running:
            raise ClusterInstanceError(f"{node} runs")
        found.start()

    async def stop_node(self, node: str) -> None:
        found = self._node(node)
        found.ask_to_end()
        try:
            await self.cluster.until(lambda: not found.is_running, STOP_TIMEOUT_MS)
        except TimeoutError as error:
            raise ClusterInstanceError(f"{node} did not end within {STOP_TIMEOUT_MS} ms") from error

    async def kill_node(self, node: str) -> None:
        self._node(node).kill()

    async def cut_power(self, node: str) -> None:
        self._node(node).power_cut()

    async def pause_node(self, node: str) -> None:
        self._running(node).pause()

    async def resume_node(self, node: str) -> None:
        self._running(node).resume()

    async def slow_cpu(self, node: str, factor: float) -> None:
        step_us = STEP_US if factor == 1 else max(STEP_US, round(_REAL_STEP_US * factor))
        self._node(node).set_step_us(step_us)
        self._observer.fault_ended(f"CPU of {node}")
        if step_us != STEP_US:
            self._observer.fault_began(f"CPU of {node}", [(node, "")], "slow CPU")

    async def skew_clock(self, node: str, by_ms: int) -> None:
        self._node(node).skew_clock(by_ms)
        self._observer.clock_skewed(node, by_ms)

    def node(self, node: str) -> ObservedNode:
        found = self._node(node)
        if found.is_running:
            return ObservedNode(state="paused" if found.is_paused else "running")
        return ObservedNode(state="stopped", exit_code=found.exit_code)

    async def add_fault(self, name: str, fault: BrokerFault) -> None:
        self.set_fault(name, fault)

    def set_fault(self, name: str, fault: BrokerFault) -> None:
        """Do as ``add_fault``, also in the middle of an operation of a disk."""
        try:
            self._faults.add(name, fault)
        except FaultRefusedError as error:
            raise ClusterInstanceError(str(error)) from error
        places = [place_of(fault)]
        self._observer.fault_began(name, places, fault.mode.value, link_of(fault))

    async def clear_fault(self, name: str) -> None:
        self._observer.look()  # what it has damaged, before it is forgotten
        self._faults.clear(name)
        self._observer.fault_ended(name)

    async def fault_hits(self) -> Mapping[str, int]:
        return self._faults.hits()

    async def restart_log_dir(self, broker: int, path: str) -> None:
        request = RestartRequest(path=path)
        self._ask(broker, lambda broker_control: broker_control.restart_log_dir(request))

    async def replace_log_dir(
        self,
        broker: int,
        path: str,
        *,
        accept_loss: bool,
        throttle_bytes_per_second: int | None = None,
    ) -> None:
        node = self.cluster.brokers[broker]
        if node.is_running:
            request = ReplaceRequest(
                path=path,
                accept_loss=accept_loss,
                force=True,
                throttle_bytes_per_second=throttle_bytes_per_second,
            )
            self._ask(broker, lambda broker_control: broker_control.replace_log_dir(request))
        else:
            node.drives[path].replace()
        name = f"disk of {broker_node(broker)} {path}"
        self._observer.fault_began(name, [(broker_node(broker), path)], "replaced")
        self._observer.fault_ended(name)

    async def restart_partition(self, broker: int, partition: TopicPartition) -> None:
        request = RestartPartitionRequest(*partition)
        self._ask(broker, lambda broker_control: broker_control.restart_partition(request))

    async def write_file(self, broker: int, path: str, name: str, text: str) -> None:
        with self._past_the_broker(broker, path, name) as memory:
            put_file(memory, name, text)

    async def remove_file(self, broker: int, path: str, name: str) -> None:
        with self._past_the_broker(broker, path, name) as memory:
            take_file(memory, name)

    async def read_journal(self) -> bytes:
        return self._journal_memory().read_file(JOURNAL_FILE)

    async def write_journal(self, data: bytes) -> None:
        memory = self._journal_memory()
        if not data.startswith(memory.read_file(JOURNAL_FILE)):
            self._observer.samples.journal_edits_us.append(self._loop.now_us)
        memory.write_file(JOURNAL_FILE, data)
        memory.sync_file(JOURNAL_FILE)

    def _journal_memory(self) -> MemoryDisk:
        (drive,) = self.cluster.controller.drives.values()
        return drive.disk.memory

    async def files(self, broker: int, path: str) -> Mapping[str, str]:
        return texts_below(self.cluster.brokers[broker].drives[path].disk.memory)

    async def samples(self) -> Samples:
        return await self._observer.finish()

    async def lacks(self) -> Sequence[str]:
        self._observer.look()
        return lacks(self._observer.samples)

    async def metrics(self, broker: int) -> Mapping[str, float]:
        _, text = exposition(
            self._ask(broker, lambda broker_control: broker_control.metric_families())
        )
        return metric_values(text.decode())

    @contextmanager
    def _past_the_broker(self, broker: int, path: str, name: str) -> Generator[MemoryDisk]:
        """Give the disk to be changed, and remember when records go.

        Raises:
            ClusterInstanceError: it cannot be done.
        """
        drive = self.cluster.brokers[broker].drives[path]
        memory = drive.disk.memory
        held_records = holds_records(memory, name)
        memory.is_edited = True
        try:
            yield memory
        except OSError as error:
            raise ClusterInstanceError(f"{name}: {error.strerror}") from error
        drive.losses_count += held_records

    def _node(self, name: str) -> SimNode:
        try:
            return self.cluster.node(name)
        except KeyError as error:
            raise ClusterInstanceError(f"no node is named {name}") from error

    def _running(self, name: str) -> SimNode:
        node = self._node(name)
        if not node.is_running:
            raise ClusterInstanceError(f"{name} does not run")
        return node

    def _ask(self, broker: int, ask: Callable[[BrokerControl], T]) -> T:
        """Ask a broker what its control endpoint would be asked, at once.

        Raises:
            ClusterInstanceError: it does not run, or refuses.
        """
        node = self.cluster.brokers.get(broker)
        if node is None or node.broker is None or node.is_paused:
            raise ClusterInstanceError(f"broker {broker} does not answer")
        try:
            return node.call(ask, node.broker.broker_control)
        except ControlError as error:
            raise ClusterInstanceError(str(error)) from error
