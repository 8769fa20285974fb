"""What the control endpoint shows of a broker and does to it: status, log dirs, faults, metrics.

It starts and stops nothing itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker.broker_state import BrokerState
from broker.client_gate import ClientGate
from broker.control import (
    ControlError,
    ControlPorts,
    FailRequest,
    ReplaceRequest,
    RestartPartitionRequest,
    RestartRequest,
)
from broker.core.hosted import Loss
from broker.engine.engine import Engine
from broker.engine.types import LogDirDescription
from broker.fault_plane import FaultPlane, FaultRefusedError
from broker.holdings import holdings
from broker.lifecycle.log_dir_returns import LogDirReturns, ReturnRefusedError, ReturnRequest
from broker.lifecycle.session import ControllerSession
from broker.loading import Loading
from broker.metrics import Family, Metrics
from broker.storage.faults import FaultyDisk
from broker.storage.log_dir import LogDir
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec
from protocol.faults.model import BrokerFault, DiskFault, DiskMode
from protocol.ids import ZERO_UUID, TopicPartition, uuid_text


@dataclass(slots=True, kw_only=True)
class BrokerControl:
    """One broker, seen from the control endpoint; the engine is None until it was made."""

    spec: ClusterSpec
    broker: BrokerSpec
    metrics: Metrics
    disks: Mapping[str, FaultyDisk]
    faults: FaultPlane
    log_dirs: Mapping[str, LogDir]
    session: ControllerSession
    returns: LogDirReturns
    loading: Loading
    client_gate: ClientGate
    shut_down: Callable[[], None]
    state: BrokerState = BrokerState.STARTING
    port: int = 0
    """The listener's bound port, 0 until it listens."""
    engine: Engine | None = None

    def ports(self) -> ControlPorts:
        """Return what the endpoint needs."""
        return ControlPorts(
            status=self.status,
            log_dirs=self.describe_log_dirs,
            fail_log_dir=self.fail_log_dir,
            heal_log_dir=self.heal_log_dir,
            faults=self.faults.describe,
            add_faults=self.add_faults,
            clear_faults=self.clear_faults,
            release_held=self.release_held,
            passed_requests=self.faults.passed,
            restart_log_dir=self.restart_log_dir,
            replace_log_dir=self.replace_log_dir,
            restart_partition=self.restart_partition,
            shut_down=self.shut_down,
            metric_families=self.metric_families,
            replicas=self.describe_replicas,
        )

    def status(self) -> Mapping[str, Any]:
        """Say who this is and how it does."""
        session, engine = self.session, self.engine
        gauges = None if engine is None else engine.gauges()._asdict()
        return {
            "broker_id": self.broker.id,
            "cluster_id": self.spec.cluster_id,
            "pid": os.getpid(),
            "state": self.state.name.lower(),
            "port": self.port,
            "broker_epoch": session.broker_epoch,
            "is_fenced": session.is_fenced,
            "is_controller_connected": session.is_connected,
            "is_open_to_clients": self.client_gate.is_open,
            "waiting_client_requests": self.client_gate.waiting_count,
            "waiting_client_bytes": self.client_gate.waiting_bytes,
            "online_log_dirs": [path for path, one in self.log_dirs.items() if one.is_online],
            "offline_log_dirs": [path for path, one in self.log_dirs.items() if not one.is_online],
            "loading": self.loading.remaining(),
            **(gauges or {}),
        }

    async def describe_log_dirs(self) -> Sequence[Mapping[str, Any]]:
        """Describe every configured log dir with its replicas and its fault."""
        described: dict[str, LogDirDescription] = {}
        if self.engine is not None:
            described = {one.path: one for one in self.engine.describe.log_dirs(None)}
        return [self._log_dir(path, described.get(path)) for path in self.log_dirs]

    def describe_replicas(self) -> Mapping[str, Any]:
        """Describe all replicas and log dirs as they are at this moment.

        Raises:
            ControlError: there are none yet.
        """
        if self.engine is None:
            raise ControlError(409, "the broker is still starting")
        return {"pid": os.getpid(), **holdings(self.engine.state)}

    def fail_log_dir(self, request: FailRequest) -> None:
        """Lay one fault over the disk instead of all others.

        Raises:
            ControlError: no such log dir, or the disk cannot do that.
        """
        self._disk(request.path)
        fault = DiskFault(
            mode=DiskMode(request.mode),
            node=self.faults.node,
            log_dir=request.path,
            delay_ms=request.delay_ms or 0,
        )
        self.faults.clear_disk(request.path)
        self.add_fault(fault)

    def heal_log_dir(self, path: str) -> Mapping[str, Any]:
        """Take all faults away; a log dir that went offline stays so until it is brought back.

        Raises:
            ControlError: no such log dir.
        """
        cleared_count = len(self._disk(path).rules)
        self.faults.clear_disk(path)
        is_online = self.log_dirs[path].is_online
        hint = "" if is_online else "`jbodlab log-dirs restart` brings it back with its data"
        return {"path": path, "online": is_online, "cleared": cleared_count, "hint": hint}

    def add_fault(self, fault: BrokerFault) -> str:
        """Put one fault in force; return its id.

        Raises:
            ControlError: this broker cannot do that.
        """
        try:
            fault_id = self.faults.add(fault)
        except FaultRefusedError as error:
            raise ControlError(400, str(error)) from error
        self._bite(fault)
        return fault_id

    def add_faults(self, contents: Sequence[Any]) -> Sequence[str]:
        """Put faults in force, all or none; return their ids.

        Raises:
            ControlError: every mistake on a line of its own.
        """
        try:
            added = self.faults.add_all(contents)
        except FaultRefusedError as error:
            raise ControlError(400, str(error)) from error
        for fault in added.values():
            self._bite(fault)
        return list(added)

    def clear_faults(self, ids: Sequence[str] | None) -> Sequence[Mapping[str, Any]]:
        """Take faults out of force; describe them with all that they met.

        Raises:
            ControlError: an id is not known.
        """
        try:
            return self.faults.clear(ids)
        except FaultRefusedError as error:
            raise ControlError(400, str(error)) from error

    def release_held(self, fault_id: str, count: int | None) -> int:
        """Let requests go on that a fault holds; return how many.

        Raises:
            ControlError: it holds none, whatever comes.
        """
        try:
            return self.faults.release(fault_id, count)
        except FaultRefusedError as error:
            raise ControlError(400, str(error)) from error

    def _bite(self, fault: BrokerFault) -> None:
        """Write to the log dirs of a fault that is to fail every write, so that it is noticed."""
        if not isinstance(fault, DiskFault) or not fault.mode.row.fails_every_write:
            return
        whole = DiskFault(mode=fault.mode, node=fault.node, log_dir=fault.log_dir)
        for path, log_dir in self.log_dirs.items():
            if fault == whole and fault.log_dir in (None, path) and log_dir.is_online:
                log_dir.probe()

    def restart_log_dir(self, asked: RestartRequest) -> None:
        """Begin to bring a repaired log dir back; ``describe_log_dirs`` tells how far it is.

        Raises:
            ControlError: it cannot be, as things are.
        """
        self._return_log_dir(ReturnRequest(asked.path))

    def replace_log_dir(self, asked: ReplaceRequest) -> None:
        """Begin to put an empty disk in the place of a log dir.

        Raises:
            ControlError: it cannot be, as things are.
        """
        request = ReturnRequest(
            asked.path,
            is_replaced=True,
            accepts_loss=asked.accept_loss,
            is_forced=asked.force,
        )
        if asked.throttle_bytes_per_second is not None:
            request = request._replace(rate_bytes_per_second=asked.throttle_bytes_per_second)
        self._return_log_dir(request)

    def _return_log_dir(self, request: ReturnRequest) -> None:
        disk = self._disk(request.path)
        if self.engine is None:
            raise ControlError(409, "the broker is still starting")
        if disk.rules and not request.is_replaced:
            mode = disk.rules[0].fault.mode.value
            raise ControlError(409, f"{request.path} still fails with {mode}: heal it first")
        try:
            self.returns.ask(request)
        except ReturnRefusedError as error:
            raise ControlError(409, str(error)) from error
        if request.is_replaced:
            self.faults.clear_disk(request.path)

    def restart_partition(self, asked: RestartPartitionRequest) -> str:
        """Begin to bring one offline partition back; return the path of its log dir.

        Raises:
            ControlError: it is not offline here, it is not known where it lies, or it is lost and
                that is not accepted.
        """
        tp = TopicPartition(asked.topic, asked.partition)
        offline = {} if self.engine is None else dict(self.engine.state.hosted.iterate_offline())
        if tp not in offline:
            raise ControlError(409, f"{tp} is not offline on broker {self.broker.id}")
        path = offline[tp].log_dir
        if path is None:
            raise ControlError(409, f"{tp} was never found: restart the offline log dirs instead")
        if offline[tp].loss is Loss.REBUILD and not asked.accept_loss:
            raise ControlError(
                409,
                f"{tp} was in {path}, which was replaced: it begins anew by itself once another "
                "broker has it in sync, or at once if its loss is accepted",
            )
        self._return_log_dir(ReturnRequest(path, only=tp, accepts_loss=asked.accept_loss))
        return path

    def metric_families(self) -> Sequence[Family]:
        """Bring the gauges up to date and return every metric."""
        self.refresh_gauges()
        return [*self.metrics.families(), *self.loading.families()]

    def refresh_gauges(self) -> None:
        """Copy the engine's and the log dirs' numbers of this moment into the metrics."""
        metrics = self.metrics
        metrics.gauges.broker_state.set(self.state)
        for path, log_dir in self.log_dirs.items():
            stats = metrics.log_dir(path)
            stats.offline.set(not log_dir.is_online)
            stats.queue_depth.set(log_dir.queue.queue_depth)
            stats.append_count.value = log_dir.queue.appends_count
            stats.append_bytes.value = log_dir.queue.appended_bytes
        if self.engine is None:
            return
        gauges = self.engine.gauges()
        metrics.gauges.partition_count.set(gauges.partition_count)
        metrics.gauges.leader_count.set(gauges.leader_count)
        metrics.gauges.offline_replica_count.set(gauges.offline_replica_count)
        metrics.gauges.under_replicated_partitions.set(gauges.under_replicated_count)
        metrics.gauges.under_min_isr_partitions.set(gauges.under_min_isr_count)
        metrics.gauges.partitions_with_late_transactions.set(gauges.late_transaction_count)
        metrics.gauges.producer_id_count.set(gauges.producer_id_count)
        known = self.engine.state.log_dir_states
        for path in self.log_dirs:
            metrics.log_dir(path).cordoned.set(known.is_cordoned(path))
        for path, cleaner in self.engine.cleaning.gauges().items():
            stats = metrics.log_dir(path)
            stats.uncleanable_partitions.set(cleaner.uncleanable_count)
            stats.uncleanable_bytes.set(cleaner.uncleanable_bytes)
            stats.max_dirty_percent.set(cleaner.dirty_percent_max)
            stats.cleaner_idle_ms.set(cleaner.since_last_run_ms)

    def _disk(self, path: str) -> FaultyDisk:
        disk = self.disks.get(path)
        if disk is None:
            raise ControlError(400, f"path: {path!r} is none of {', '.join(self.disks)}")
        return disk

    def _log_dir(self, path: str, described: LogDirDescription | None) -> Mapping[str, Any]:
        log_dir = self.log_dirs[path]
        known = log_dir.directory_id != ZERO_UUID
        return {
            "path": path,
            "online": log_dir.is_online,
            "reason": str(log_dir.failure) if log_dir.failure is not None else "",
            "directory_id": uuid_text(log_dir.directory_id) if known else "",
            "total_bytes": -1 if described is None else described.total_bytes,
            "usable_bytes": -1 if described is None else described.usable_bytes,
            "queue_depth": log_dir.queue.queue_depth,
            "standing_ms": log_dir.standing_ms(),
            "deadline_ms": log_dir.deadline_ms,
            "last_hop_ms": log_dir.queue.last_hop_ms,
            "fault": self._fault(path),
            "faults": [
                {"mode": rule.fault.mode.value, "hits": rule.hits}
                for rule in self.disks[path].rules
            ],
            "return": self._return(path, described),
            "replicas": [
                {
                    "topic": replica.tp.topic,
                    "partition": replica.tp.partition,
                    "size_bytes": replica.size_bytes,
                    "offset_lag": replica.offset_lag,
                    "is_future": replica.is_future,
                }
                for replica in ([] if described is None else described.replicas)
            ],
        }

    def _return(self, path: str, described: LogDirDescription | None) -> Mapping[str, Any] | None:
        """Describe the last wish to bring the log dir back."""
        last = self.returns.last(path)
        if last is None:
            return None
        throttle = None if self.engine is None else self.engine.state.rebuilds.view(path)
        return {
            "state": last.state.value,
            "detail": last.detail,
            "found": last.found_count,
            "lost": last.lost_count,
            "throttle_bytes_per_second": throttle and throttle.limit_bytes_per_second,
            "throttled": 0 if throttle is None else throttle.replica_count,
            "awaited": [
                {"topic": tp.topic, "partition": tp.partition}
                for tp in (() if described is None else described.awaited)
            ],
        }

    def _fault(self, path: str) -> Mapping[str, Any] | None:
        """Describe the first fault in force; ``hits`` says how many operations all changed."""
        disk = self.disks[path]
        if not disk.rules:
            return None
        fault = disk.rules[0].fault
        delay_ms = fault.delay_ms if fault.mode.row.needs_delay else None
        return {"mode": fault.mode.value, "delay_ms": delay_ms, "hits": disk.hits}
