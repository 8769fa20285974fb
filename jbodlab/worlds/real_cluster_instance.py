"""A cluster of real processes as the stage of a plan, in a folder and on free ports of its own.

Faults go over the control endpoint, or into the cluster file of a broker that is down. The power
stays on, processors are as fast as they are, and all clocks are the machine's.
Whatever waits for a process or a socket does so in a thread, as the loop belongs to the clients.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import yaml

from broker.app import FAULTS_AT_THE_END
from broker.storage.disk import FileDisk
from broker.world import SystemClock
from controller.journal import JournalFile
from jbodlab.asking.control import ControlClient
from jbodlab.errors import LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from jbodlab.worlds.real_sampler import RealSampler
from protocol.cluster_file.spec import ClusterSpec
from protocol.faults.document import fault_content
from protocol.faults.model import (
    BrokerFault,
    broker_in_charge,
    broker_node,
)
from protocol.ids import TopicPartition
from protocol.ports import WallClock
from simulation.cluster_instance import ClusterInstanceError
from simulation.core.capability import Capability
from simulation.core.cluster_document import cluster_document, port_count
from simulation.core.file_text import WHOLE_LOG_DIR
from simulation.core.observation import ObservedNode
from simulation.core.plan import ClusterPlan
from simulation.core.samples import Samples
from simulation.loop_time import loop_now_us
from simulation.sampling.log_dir_files import holds_records, put_file, take_file, texts_below
from simulation.sampling.metrics import metric_values

P = ParamSpec("P")
T = TypeVar("T")


class RealClusterInstance:
    """A ``ClusterInstance`` of processes, from ``start`` to ``stop``."""

    def __init__(self, plan: ClusterPlan, folder: Path) -> None:
        """Write the cluster file into ``folder``, which is to hold all that the cluster writes."""
        folder.mkdir(parents=True, exist_ok=True)
        config_path = folder / "cluster.yaml"
        self._document = cluster_document(plan, free_ports(port_count(plan)))
        _write_yaml(config_path, self._document)
        self._cluster = Cluster(config_path)
        self._journal = JournalFile(Path(self.spec.controller.data_dir)).path
        self._began_s = time.monotonic()
        self._paused: dict[str, None] = {}
        self._faults: dict[str, BrokerFault] = {}
        """Those in force, by name."""
        self._hits: dict[str, dict[int, int]] = {}
        """Name -> pid -> what that process counted."""
        self._ended: dict[int, None] = {}
        """The pids of processes that are over, and whose last counts are known."""
        self._look = RealSampler(self.spec, self.node, self._count_hits)
        self._looking = AsyncExitStack()
        self._controls = {
            broker.id: ControlClient(broker.id, broker.control_port) for broker in self.spec.brokers
        }

    @property
    def spec(self) -> ClusterSpec:
        return self._cluster.spec

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """Those that need no machine of the cluster's own."""
        return (Capability.NETWORK_FAULTS,)

    def now_ms(self) -> int:
        return int((time.monotonic() - self._began_s) * 1000)

    @property
    def clock(self) -> WallClock:
        return SystemClock()

    async def start(self) -> None:
        group = await self._looking.enter_async_context(asyncio.TaskGroup())
        looking = group.create_task(self._look.run(), name="look into the cluster")
        self._looking.callback(looking.cancel)
        await _in_thread(self._cluster.start)

    async def stop(self) -> None:
        await self._looking.aclose()
        self._look.close()
        for name in list(self._paused):
            await self.resume_node(name)
        await _in_thread(self._cluster.stop)

    async def start_node(self, node: str) -> None:
        if self._cluster.is_running(node):
            raise ClusterInstanceError(f"{node} runs")
        await self._count_hits()
        self._look.look_at_nodes()
        await _in_thread(self._cluster.launch, node)

    async def stop_node(self, node: str) -> None:
        await _in_thread(self._cluster.stop, [node])
        await self._count_hits()

    async def kill_node(self, node: str) -> None:
        await self._count_hits()
        self._paused.pop(node, None)
        await _in_thread(self._cluster.kill, node)

    async def cut_power(self, node: str) -> None:
        """Refuse: its machine is everybody's."""
        raise ClusterInstanceError(f"the machine of {node} keeps its power")

    async def pause_node(self, node: str) -> None:
        self._cluster.processes[node].pause()
        self._paused[node] = None

    async def resume_node(self, node: str) -> None:
        self._cluster.processes[node].resume()
        self._paused.pop(node, None)

    async def slow_cpu(self, node: str, factor: float) -> None:
        """Refuse any factor but 1."""
        if factor != 1:
            raise ClusterInstanceError(f"the processor of {node} is as fast as it is")

    async def skew_clock(self, node: str, by_ms: int) -> None:
        """Refuse any skew but 0."""
        if by_ms != 0:
            raise ClusterInstanceError(f"the clock of {node} is the machine's")

    def node(self, node: str) -> ObservedNode:
        if self._cluster.is_running(node):
            return ObservedNode(state="paused" if node in self._paused else "running")
        process = self._cluster.processes.get(node)
        return ObservedNode(
            state="stopped", exit_code=None if process is None else process.exit_code
        )

    async def add_fault(self, name: str, fault: BrokerFault) -> None:
        """Put it in force; a broker that is down has it from its next start."""
        broker = broker_in_charge(fault)
        if broker is None:
            raise ClusterInstanceError(f"{name}: one end of it must be a broker")
        if self._cluster.is_running(broker_node(broker)):
            rules = [{"id": name, **fault_content(fault)}]
            await _in_thread(self._controls[broker].add_faults, rules)
        self._faults[name] = fault
        self._look.fault_began(name, fault)
        self._write_config()

    async def clear_fault(self, name: str) -> None:
        await self.fault_hits()
        fault = self._faults.pop(name, None)
        if fault is None:
            return
        self._look.fault_ended(name)
        self._write_config()
        broker = broker_in_charge(fault)
        assert broker is not None, name
        if self._cluster.is_running(broker_node(broker)):
            control = self._controls[broker]
            told = await _in_thread(control.faults)
            await _in_thread(control.clear_faults, [one["id"] for one in _about(told, fault)])

    async def fault_hits(self) -> Mapping[str, int]:
        """As ``ClusterInstance.fault_hits``; of a process that is silent, what was last seen."""
        for broker, control in self._controls.items():
            node = broker_node(broker)
            if not self._faults or node in self._paused:
                continue
            if not self._cluster.is_running(node):
                await self._count_at_the_end(broker)
                continue
            with suppress(ClusterInstanceError):
                self._keep_hits(broker, await _in_thread(control.faults))
        hits = {name: sum(counted.values()) for name, counted in self._hits.items()}
        self._look.faults_hit(hits)
        return hits

    async def _count_at_the_end(self, broker: int) -> None:
        """Take what a process that ended by itself, or was asked to, has told last in its log."""
        process = self._cluster.processes.get(broker_node(broker))
        if process is None or process.pid in self._ended:
            return
        self._ended[process.pid] = None
        for line in (await _in_thread(process.log_file.read_text, "utf-8", "replace")).splitlines():
            _, mark, content = line.partition(FAULTS_AT_THE_END)
            told: dict[str, Any] = json.loads(content) if mark else {}
            if told.get("pid") == process.pid:
                self._keep_hits(broker, told["faults"])

    def _keep_hits(self, broker: int, told: list[dict[str, Any]]) -> None:
        for name, fault in self._faults.items():
            if broker_in_charge(fault) == broker:
                counted = self._hits.setdefault(name, {})
                hits = sum(one["hits"] for one in _about(told, fault))
                counted[self._cluster.processes[broker_node(broker)].pid] = hits

    async def restart_log_dir(self, broker: int, path: str) -> None:
        await _in_thread(self._controls[broker].restart, path)

    async def replace_log_dir(
        self,
        broker: int,
        path: str,
        *,
        accept_loss: bool,
        throttle_bytes_per_second: int | None = None,
    ) -> None:
        self._look.replaced(broker, path)
        if self.node(broker_node(broker)).state == "stopped":
            await _in_thread(_take_file, FileDisk(path), WHOLE_LOG_DIR)
        else:
            await _in_thread(
                self._controls[broker].replace,
                path,
                accept_loss=accept_loss,
                force=True,
                throttle_bytes_per_second=throttle_bytes_per_second,
            )

    async def restart_partition(self, broker: int, partition: TopicPartition) -> None:
        await _in_thread(self._controls[broker].restart_partition, *partition)

    async def write_file(self, broker: int, path: str, name: str, text: str) -> None:
        await _in_thread(_put_file, FileDisk(path), name, text)

    async def remove_file(self, broker: int, path: str, name: str) -> None:
        held_records = await _in_thread(holds_records, FileDisk(path), name)
        await _in_thread(_take_file, FileDisk(path), name)
        if held_records:
            self._look.damaged(broker, path, "records were taken away by hand")

    async def read_journal(self) -> bytes:
        return await _in_thread(self._journal.read_bytes)

    async def write_journal(self, data: bytes) -> None:
        new = self._journal.with_suffix(".by-hand")
        await _in_thread(new.write_bytes, data)
        await _in_thread(new.rename, self._journal)
        self._look.samples.journal_edits_us.append(loop_now_us())

    async def files(self, broker: int, path: str) -> Mapping[str, str]:
        return await _in_thread(texts_below, FileDisk(path))

    async def metrics(self, broker: int) -> Mapping[str, float]:
        return metric_values(await _in_thread(self._controls[broker].metrics))

    async def lacks(self) -> Sequence[str]:
        """What leaders have not heard of, say journal and brokers: ``ClusterInstance.lacks``."""
        return await self._look.lacks()

    async def samples(self) -> Samples:
        await self._count_hits()
        return await self._look.finish()

    async def _count_hits(self) -> None:
        """Ask before a process ends, which takes its counts with it, or damages go unnoticed."""
        await self.fault_hits()

    def _write_config(self) -> None:
        """Write the cluster file anew: processes that start find the faults in it."""
        faults = [{"at_ms": 0, **self._as_in_the_file(fault)} for fault in self._faults.values()]
        _write_yaml(self._cluster.config_path, {**self._document, "faults": faults})

    def _as_in_the_file(self, fault: BrokerFault) -> dict[str, Any]:
        """Name the log dir as the cluster file does: relative to its folder."""
        content = fault_content(fault)
        if "log_dir" in content:
            folder = self._cluster.config_path.parent
            content["log_dir"] = str(Path(content["log_dir"]).relative_to(folder))
        return content


def _write_yaml(file: Path, document: Mapping[str, Any]) -> None:
    file.write_text(yaml.safe_dump(dict(document), sort_keys=False))


def _put_file(disk: FileDisk, name: str, text: str) -> None:
    disk.prepare()  # The log dir itself may be missing.
    put_file(disk, name, text)


def _take_file(disk: FileDisk, name: str) -> None:
    take_file(disk, name)
    if name == WHOLE_LOG_DIR:
        Path(disk.root).rmdir()


def _about(told: list[dict[str, Any]], fault: BrokerFault) -> list[dict[str, Any]]:
    """Return what a broker tells of a fault; one of the cluster file has an id of its own."""
    content = fault_content(fault)
    return [one for one in told if one["is_in_force"] and one["fault"] == content]


async def _in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call something that blocks.

    Raises:
        ClusterInstanceError: instead of a LabError or an OSError.
    """
    try:
        return await asyncio.to_thread(call, *args, **kwargs)
    except (LabError, OSError) as error:
        raise ClusterInstanceError(str(error)) from error
