"""A Kafka cluster for scripts and tests: real processes, real files, disks that can be broken.

``jbodlab.Cluster`` is this class. Its calls block until what they order is done; in a coroutine
``await asyncio.to_thread(cluster.wait_for_full_isr, "orders")`` leaves the loop free.
"""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from jbodlab.api.broker import Broker, Controller
from jbodlab.api.connections import Connections
from jbodlab.api.fault import Fault
from jbodlab.api.log_dir import LogDir
from jbodlab.api.reset import reset
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.fault_orders import fault_order
from jbodlab.asking.moves import watch_move
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster as ClusterProcesses
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from jbodlab.processes.secure_files import CLIENTS_DIR
from protocol.admin.cluster import PartitionView
from protocol.cluster_file.secure import secure_folder

TopicPartition = tuple[str, int]


class Cluster:
    """One cluster on free ports, from ``start`` to ``stop`` or for the length of a ``with`` block.

    Args:
        brokers: how many; their ids begin with 1.
        log_dirs: how many each broker has.
        configs: of all brokers, in Kafka's words.
        capacity_bytes: of each log dir; None: that of the file system.
        emulate: broker id -> the Kafka release that it shows to clients, such as "3.9".
        secure: SASL_SSL and ACLs; ``client_file`` has what clients need.
        session_timeout_ms: after so long without a heartbeat the controller fences a broker.
        folder: where data and logs are kept; None: a temporary one, gone when the cluster stops.

    All methods raise LabError, whose text says what is wrong and what to do.
    """

    def __init__(  # noqa: PLR0913 - users name what differs
        self,
        *,
        brokers: int = 3,
        log_dirs: int = 3,
        configs: Mapping[str, str] | None = None,
        capacity_bytes: int | None = None,
        emulate: Mapping[int, str] | None = None,
        secure: bool = False,
        session_timeout_ms: int = 3_000,
        folder: Path | None = None,
    ) -> None:
        if brokers < 1 or log_dirs < 1:
            raise LabError(
                ExitCode.USAGE,
                f"a cluster has a broker with a log dir at least, not {brokers} with {log_dirs}",
            )
        self._shape = LabShape(
            brokers=brokers,
            log_dirs=log_dirs,
            configs=configs or {},
            capacity_bytes=capacity_bytes,
            emulate=emulate or {},
            session_timeout_ms=session_timeout_ms,
            secure=secure,
        )
        self._folder = folder
        self._is_temporary = folder is None
        self._connections: Connections | None = None

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Cluster:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)

    def start(self) -> Cluster:
        """Start controller and brokers; returns when all know each other."""
        if self._connections is not None:
            raise LabError(ExitCode.FAILED, "this cluster was started already: stop() it first")
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="jbodlab-"))
        processes = ClusterProcesses(write_lab_spec(self._folder, self._shape))
        try:
            processes.start()
        except BaseException:
            processes.stop()
            self._remove_folder()
            raise
        self._connections = Connections(processes)
        atexit.register(self.stop)  # A script that ends by an error leaves nothing running.
        return self

    def stop(self) -> None:
        """Stop all processes; a temporary folder goes with them. May be called twice."""
        if self._connections is not None:
            self._connections.processes.stop()
            self._connections = None
            atexit.unregister(self.stop)
        self._remove_folder()

    @property
    def bootstrap_servers(self) -> str:
        """host:port of every broker, with commas between them, as clients want it."""
        return ",".join(self._open.processes.bootstrap_servers)

    def client_file(self, name: str) -> Path:
        """Return a file with security for clients, as "admin.properties", of a secured cluster.

        There is one for each kind of client, of ``admin``, who may do everything, and of
        ``alice``, who may do what ACLs allow.
        """
        folder = secure_folder(self._open.processes.spec.configs)
        if folder is None:
            raise LabError(ExitCode.USAGE, "this cluster is open to all: make it with secure=True")
        file = Path(folder) / CLIENTS_DIR / name
        if not file.exists():
            known = ", ".join(sorted(each.name for each in file.parent.iterdir() if each.is_file()))
            raise LabError(ExitCode.USAGE, f"there is no client file {name}, only {known}")
        return file

    @property
    def folder(self) -> Path:
        """Where its cluster file, data and logs are."""
        return self._open.processes.config_path.parent

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """All brokers, those that are down included."""
        return tuple(Broker(self._open, each.id) for each in self._open.processes.spec.brokers)

    @property
    def controller(self) -> Controller:
        """The process that elects leaders."""
        return Controller(self._open)

    def broker(self, broker_id: int) -> Broker:
        """Return one broker; ids begin with 1."""
        return Broker(self._open, broker_id)

    def log_dir(self, broker_id: int, number: int) -> LogDir:
        """Return a log dir by its broker and its number there, 1 for the first one."""
        return self.broker(broker_id).log_dir(number)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication_factor: int | None = None,
        configs: Mapping[str, str] | None = None,
        assignment: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """Create a topic; returns when every replica is in the Isr.

        Args:
            name: of the topic.
            partitions: how many.
            replication_factor: None: as many as there are brokers, at most 3.
            configs: of the topic, in Kafka's words.
            assignment: partition -> brokers, the preferred leader first; else they are drawn.
        """
        self._open.story.add(f"topic {name} is created")
        self._open.create_topic(
            name, partitions, replication_factor, configs or {}, assignment or {}
        )
        self.wait_for_full_isr(name)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._open.story.add(f"topic {name} is deleted")
        with self._open.admin() as admin:
            admin.delete_topic(name)

    def partition(self, topic: str, number: int = 0) -> PartitionView:
        """Return leader, Isr, replicas and those that are offline, as some broker tells them."""
        with self._open.admin() as admin:
            try:
                return admin.any_view([topic]).partition(topic, number)
            except KeyError as error:
                words = f"no broker knows {topic}-{number}: create_topic({topic!r}) first"
                raise LabError(ExitCode.FAILED, words) from error

    def log_dir_of(self, topic: str, number: int = 0, *, broker_id: int | None = None) -> LogDir:
        """Return where a replica is: the leader's, or that of a broker."""
        owner = self.partition(topic, number).leader if broker_id is None else broker_id
        for log_dir in self.broker(owner).log_dirs:
            for replica in log_dir.replicas:
                if (replica.topic, replica.partition) == (topic, number) and not replica.is_future:
                    return log_dir
        raise LabError(ExitCode.FAILED, f"broker {owner} has no replica of {topic}-{number} online")

    def move(self, topic: str, number: int, to: LogDir) -> None:
        """Move a broker's replica to another of its log dirs; returns when it is there."""
        self._open.story.add(f"{topic}-{number} is moved to {self._open.short(to.path)}")
        with self._open.admin() as admin:
            admin.move_replicas(to.broker_id, to.path, {topic: [number]})
            for _ in watch_move(admin, to.broker_id, topic, number, to.path):
                pass

    def reassign(self, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Give partitions other replicas, the preferred leader first; returns when it is done."""
        self._open.story.add(f"reassigned: {dict(targets)}")
        with self._open.admin() as admin:
            admin.reassign(targets)

        def is_done(admin: ClusterAdmin) -> bool:
            return not any(each.tp in targets for each in admin.reassignments()) and all(
                admin.any_view([topic]).partition(topic, number).replicas == tuple(replicas)
                for (topic, number), replicas in targets.items()
            )

        self.wait_until(lambda: self._asked(is_done), "the reassignment is complete")

    def add_fault(self, mode: str, **keys: Any) -> Fault:
        """Put a fault by rule in force: modes and keys are those of docs/faults.md.

        ``add_fault("eio", log_dir=log_dir.path, operations=["append"], times=1)`` fails one
        append, ``add_fault("cut", from_="broker-1", to="controller")`` cuts a network. A key
        that is a word of Python ends with an underscore.
        """
        content = {"mode": mode, **{key.rstrip("_"): value for key, value in keys.items()}}
        broker, order = fault_order(self._open.processes, content)
        (fault_id,) = self._open.control(broker).add_faults([order])
        self._open.story.add(f"fault {fault_id} of {broker.id}: {order}")
        return Fault(self._open, broker, fault_id)

    def wait_until(
        self, holds: Callable[[], bool], what: str, *, deadline_ms: int | None = None
    ) -> float:
        """Ask until ``holds()`` is true; return how long that took, in ms.

        A broker that does not answer counts as "not yet". ``what`` is said when it stays so.
        """
        return self._open.wait_until(holds, what, deadline_ms)

    def wait_for_leader(
        self,
        topic: str,
        number: int = 0,
        *,
        other_than: int | None = None,
        deadline_ms: int | None = None,
    ) -> int:
        """Wait until a broker leads, one that is not ``other_than``; return its id."""

        def is_led() -> bool:
            return self.partition(topic, number).leader not in (-1, other_than)

        what = f"{topic}-{number} has a leader" + (
            f" other than {other_than}" if other_than else ""
        )
        self.wait_until(is_led, what, deadline_ms=deadline_ms)
        return self.partition(topic, number).leader

    def wait_for_full_isr(self, topic: str, *, deadline_ms: int | None = None) -> None:
        """Wait until every running broker says that all replicas of a topic are in the Isr."""

        def is_full(admin: ClusterAdmin) -> bool:
            running = [each.id for each in self.brokers if each.is_running]
            views = [admin.view(broker_id, [topic]).topics for broker_id in running]
            return all(
                told and told[0].partitions and all(map(_is_full, told[0].partitions))
                for told in views
            )

        what = f"every replica of {topic} is in the Isr"
        self.wait_until(lambda: self._asked(is_full), what, deadline_ms=deadline_ms)

    def reset(self) -> None:
        """Make it as good as new for another test: no faults, no topics, all brokers there.

        Nor are there ACLs, quotas and SCRAM credentials. Internal topics stay. What a test has
        stopped is started, what it has failed is healed and brought back, a log dir that cannot be
        is replaced.
        """
        reset(self._open)

    def story(self) -> str:
        """Return what was ordered, what is wrong now, and the warnings of all logs."""
        processes = self._open.processes
        log_files = [processes.log_file(name) for name in processes.names]
        return self._open.story.text([*processes.troubles(), *self._offline()], log_files)

    def _offline(self) -> list[str]:
        """Name the log dirs and partitions that are offline, as far as brokers answer."""
        lines: list[str] = []
        for broker in self.brokers:
            with suppress(LabError):
                lines += [
                    f"{self._open.short(each.path)} is offline: {each.signs()['reason']}"
                    for each in broker.log_dirs
                    if not each.is_online
                ]
        with suppress(LabError), self._open.admin() as admin:
            partitions = admin.any_view().partitions
            lines += [f"{each.tp} has no leader" for each in partitions if each.leader < 0]
        return lines

    @property
    def _open(self) -> Connections:
        if self._connections is None:
            raise LabError(
                ExitCode.NOT_RUNNING,
                "this cluster does not run: start() it, or use it as a context manager",
            )
        return self._connections

    def _asked(self, question: Callable[[ClusterAdmin], bool]) -> bool:
        with self._open.admin() as admin:
            return question(admin)

    def _remove_folder(self) -> None:
        if self._is_temporary and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _is_full(partition: PartitionView) -> bool:
    return partition.leader >= 0 and len(partition.isr) == len(partition.replicas)
