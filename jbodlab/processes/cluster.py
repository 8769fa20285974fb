"""Starts and supervises the processes of one cluster: used by the CLI, the demo and the tests.

Knows processes, ports and readiness; what the cluster says is ``jbodlab.asking.admin``'s business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from jbodlab.asking.admin import SOON_MS, ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.layout import Layout
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.free_ports import holder_of, is_free
from jbodlab.processes.interrupts import interrupts_deferred, sigterm_interrupts
from jbodlab.processes.kafka_jars import cache_folder, kafka_jars
from jbodlab.processes.loading import ASK_EVERY_MS, LoadingWatch
from jbodlab.processes.neighbours import (
    ZOOKEEPER,
    await_missed,
    kind_of,
    neighbour_command,
    node_names,
    prepare_zookeeper,
)
from jbodlab.processes.node_command import node_command
from jbodlab.processes.nodes import (
    all_serve,
    cluster_troubles,
    death_line,
    node_ports,
    stop_in_turns,
)
from jbodlab.processes.process import STOP_DEADLINE_MS, Process
from jbodlab.processes.run_state import new_run_id, note_of, read_notes, run_dir, write_notes
from jbodlab.processes.secure_files import make_secure_files
from protocol.cluster_file.spec import ClusterSpec, SpecError, load_cluster_spec, spec_file
from protocol.faults.model import broker_node

CONTROLLER: Final = "controller"
HTTP_API: Final = "http-api"
START_DEADLINE_MS: Final = 30_000
NEIGHBOURS_DEADLINE_MS: Final = 120_000
"""For JVMs."""
_POLL_MS: Final = 10
_CONTROL_TIMEOUT_S: Final = 3


def _keep_quiet(_words: str) -> None: ...


def _stands_still() -> bool:
    return False


class Condition(NamedTuple):
    """Something to wait for."""

    holds: Callable[[ClusterAdmin], bool]
    what: str
    """Said when it does not come about, as in "every broker knows all brokers"."""


class Cluster(Layout):
    """The processes of one ``cluster.yaml``, whoever started them.

    ``command_prefix`` goes before every command line, such as ``taskset`` or ``setpriv``.

    Raises:
        LabError: BAD_CONFIG, when the file is missing or holds mistakes.
    """

    def __init__(self, config_path: Path, command_prefix: Sequence[str] = ()) -> None:
        file = spec_file(config_path)
        if not file.exists():
            words = "there is no such file: `jbodlab init` writes one, --config names another"
            raise LabError(ExitCode.BAD_CONFIG, f"{file}: {words}")
        try:
            self.spec: ClusterSpec = load_cluster_spec(file)
        except SpecError as error:
            raise LabError(ExitCode.BAD_CONFIG, str(error)) from error
        super().__init__(self.spec.all_brokers, file)
        self._command_prefix = command_prefix
        self.controller_options: list[str] = []
        """Beside ``--config``, of controllers that are started here."""
        self.run_dir = run_dir(self.config_path)
        self.processes: dict[str, Process] = {}
        self.run_id = new_run_id()
        """From the first process on to the end of the last; what metric rows are told apart by."""
        self._attach()

    @property
    def names(self) -> list[str]:
        """The names of all processes, those first that the others need."""
        return node_names(self.spec)

    @property
    def control_node(self) -> str | None:
        """As the layout says."""
        if self.spec.zookeeper is None:
            return CONTROLLER
        return None if self.spec.beside is None else ZOOKEEPER

    def full_path(self, path: str, known: Collection[str]) -> str | None:
        """Return which of the ``known`` paths ``path`` means, through whatever links.

        It may begin at the folder of the cluster file or at the current one.
        """
        places = {os.path.realpath(each): each for each in known}
        folders = (self.config_path.parent, Path.cwd())
        found = (places.get(os.path.realpath(folder / path)) for folder in folders)
        return next(filter(None, found), None)

    def log_file(self, name: str) -> Path:
        """Return where the process ``name`` writes."""
        return self.run_dir / f"{name}.log"

    def is_running(self, name: str) -> bool:
        """Tell whether the process ``name`` lives."""
        process = self.processes.get(name)
        return process is not None and process.is_running

    def start(
        self,
        deadline_ms: int | None = None,
        *,
        show: Callable[[str], None] = _keep_quiet,
        then: Condition | None = None,
    ) -> list[str]:
        """Start what does not run and wait until every broker knows all; return what was started.

        ``show`` is told what brokers load meanwhile; the deadline counts from their last progress.
        ``then`` is waited for last.

        Raises:
            LabError: PORT_IN_USE before anything is started; PROCESS_DIED or TIMED_OUT, after
                which everything that this call started has been ended, as after Ctrl-C.
        """
        deadline_ms = self._deadline_ms if deadline_ms is None else deadline_ms
        missing = [name for name in self.names if not self.is_running(name)]
        self._check_ports(missing)
        make_secure_files(self.spec)
        started: list[str] = []
        with self._ended_unless_done(started):
            self._start_until_ready(missing, started, deadline_ms, show)
            if then is not None:
                self.wait_until(then.holds, then.what, deadline_ms)
        return started

    def start_broker(
        self,
        broker_id: int,
        deadline_ms: int | None = None,
        *,
        show: Callable[[str], None] = _keep_quiet,
    ) -> None:
        """Start one broker and wait until it and the cluster know each other.

        ``show`` and the deadline are those of ``start``.

        Raises:
            LabError: as ``start``.
        """
        name = broker_node(broker_id)
        self._check_ports([name])
        started: list[str] = []
        with self._ended_unless_done(started):
            self._spawn_all([name], started)
            self.wait_until(
                lambda admin: broker_id in admin.view(broker_id, [], timeout_ms=SOON_MS).broker_ids,
                f"broker {broker_id} is registered",
                self._deadline_ms if deadline_ms is None else deadline_ms,
                LoadingWatch(self._control_clients([name]), show, every_ms=ASK_EVERY_MS),
            )

    def start_controller(self) -> None:
        """Start the controller again; brokers find it by themselves.

        Raises:
            LabError: PORT_IN_USE.
        """
        self.launch(CONTROLLER)

    def launch(self, name: str) -> None:
        """Start a process and wait for nothing.

        Raises:
            LabError: PORT_IN_USE.
        """
        self._check_ports([name])
        self._spawn(name)

    def restart_broker(self, broker_id: int) -> None:
        """Stop one broker cleanly and start it again."""
        self.stop([broker_node(broker_id)])
        self.start_broker(broker_id)

    def kill(self, name: str) -> None:
        """End a process with SIGKILL, as a power loss would."""
        self.processes[name].kill()
        self.keep_notes()

    def pause(self, name: str) -> None:
        """Let a process stand still; its connections and locks stay."""
        self.processes[name].pause()

    def resume(self, name: str) -> None:
        """Let a process that stands still go on."""
        self.processes[name].resume()

    def stop(self, names: list[str] | None = None, deadline_ms: int = STOP_DEADLINE_MS) -> None:
        """Stop processes cleanly, the controller last; by default all and what serves their API.

        Those that have not ended at the deadline are killed; so are all at once on Ctrl-C.
        """
        wanted = [*self.names, HTTP_API] if names is None else names
        known = [self.processes[name] for name in wanted if name in self.processes]
        try:
            stop_in_turns(known, deadline_ms)
        except KeyboardInterrupt:
            for process in known:
                process.kill()
            raise
        finally:
            self.keep_notes()

    def is_ready(self, admin: ClusterAdmin) -> bool:
        """Tell whether every broker answers metadata that names all brokers.

        By ZooKeeper there may be others that no file names.
        """
        wanted = {broker.id for broker in self.spec.all_brokers}
        has_others = self.spec.zookeeper is not None
        for broker_id in sorted(wanted):
            found = set(admin.view(broker_id, [], timeout_ms=SOON_MS).broker_ids)
            if not (wanted <= found if has_others else wanted == found):
                return False
        return True

    def wait_until(
        self,
        condition: Callable[[ClusterAdmin], bool],
        what: str,
        deadline_ms: int = START_DEADLINE_MS,
        is_moving: Callable[[], bool] = _stands_still,
    ) -> float:
        """Ask until ``condition`` holds; return how long that took, in ms.

        A node that does not answer counts as "not yet". The deadline begins anew whenever
        ``is_moving`` says so.

        Raises:
            LabError: PROCESS_DIED, when a child of this run ends meanwhile; TIMED_OUT.
        """
        started = moved = time.monotonic()
        living = [process for process in self.processes.values() if process.is_running]
        with ClusterAdmin(self, timeout_ms=5000) as admin:
            while not _holds(condition, admin):
                self._check_alive(living)
                if is_moving():
                    moved = time.monotonic()
                if (time.monotonic() - moved) * 1000 > deadline_ms:
                    words = [f"{what}: not so after {deadline_ms} ms", *self.troubles()]
                    raise LabError(
                        ExitCode.TIMED_OUT, f"{'; '.join(words)}; logs are in {self.run_dir}"
                    )
        return (time.monotonic() - started) * 1000

    def troubles(self) -> list[str]:
        """Return what keeps it from being ready, node by node."""
        log_files = {name: self.log_file(name) for name in self.names}
        return cluster_troubles(self.spec, log_files, self.processes)

    def _start_until_ready(
        self,
        missing: list[str],
        started: list[str],
        deadline_ms: int,
        show: Callable[[str], None],
    ) -> None:
        """Start ``missing`` and wait; what ran before and ends meanwhile is started, too.

        One that was killed a moment ago, or is on its way to its end, looks as if it ran.
        """
        watched = LoadingWatch(self._control_clients(self.names), show, every_ms=ASK_EVERY_MS)
        while True:
            self._spawn_all(missing, started)
            try:
                what = "every broker knows all brokers and the controller"
                self.wait_until(self._is_whole, what, deadline_ms, watched)
            except LabError:
                missing = [
                    name for name in self.names if name not in started and not self.is_running(name)
                ]
                if not missing:
                    raise
            else:
                return

    def _is_whole(self, admin: ClusterAdmin) -> bool:
        return self.is_ready(admin) and all_serve(self.spec)

    @contextmanager
    def _ended_unless_done(self, started: list[str]) -> Generator[None]:
        """End the processes whose names are in ``started`` by then, unless the block succeeds."""
        with sigterm_interrupts():
            try:
                yield
            except BaseException:
                self.stop(started)
                raise

    def _spawn_all(self, names: list[str], started: list[str]) -> None:
        for name in names:
            if kind_of(self.spec, name) and name != ZOOKEEPER:
                await_missed(self.spec, name, self._deadline_ms)
            with interrupts_deferred():
                self._spawn(name)
                started.append(name)
            if name == ZOOKEEPER:
                prepare_zookeeper(self.spec, self._deadline_ms)

    @property
    def _deadline_ms(self) -> int:
        """How long a start may take when nobody says it."""
        return START_DEADLINE_MS if self.spec.beside is None else NEIGHBOURS_DEADLINE_MS

    def _control_clients(self, names: list[str]) -> list[ControlClient]:
        return [
            ControlClient(broker.id, broker.control_port, timeout_s=_CONTROL_TIMEOUT_S)
            for broker in self.spec.brokers
            if broker_node(broker.id) in names
        ]

    def _check_alive(self, living: list[Process]) -> None:
        """Wait a moment on the processes; the end of one ends the waiting."""
        if not living:
            raise LabError(ExitCode.NOT_RUNNING, f"nothing runs of {self.config_path}")
        for process in living:
            code = process.wait(max(1, _POLL_MS // len(living)))
            if code is not None:
                raise LabError(ExitCode.PROCESS_DIED, death_line(process))

    def _check_ports(self, names: list[str]) -> None:
        for name, host, port, key in node_ports(self.spec):
            if name in names and not is_free(host, port):
                raise LabError(
                    ExitCode.PORT_IN_USE,
                    f"port {port} of {name} is in use by {holder_of(port)}: stop that, "
                    f"or change {key} in {self.config_path}",
                )

    def _spawn(self, name: str) -> None:
        options = self.controller_options if name == CONTROLLER else []
        if not any(each.is_running for each in self.processes.values()):
            self.run_id = new_run_id()
        is_other = bool(kind_of(self.spec, name))
        if is_other:
            node = neighbour_command(self.spec, name, self.run_dir, kafka_jars(cache_folder()))
        else:
            node = node_command(name, self.config_path, self.run_id)
        command = [*self._command_prefix, *node, *options]
        begin = Process.start if self._command_prefix or is_other else Process.fork
        self.processes[name] = begin(name, command, self.log_file(name))
        self.processes[name].is_foreign = is_other
        self.keep_notes()

    def _attach(self) -> None:
        for name, note in read_notes(self.run_dir).items():
            process = Process.attach(name, note.pid, note.started_at, Path(note.log_file))
            if process is not None:
                process.is_foreign = bool(kind_of(self.spec, name))
                self.processes[name] = process
                self.run_id = note.run_id

    def keep_notes(self) -> None:
        """Write down which processes run, for the commands to come."""
        running = {name: each for name, each in self.processes.items() if each.is_running}
        write_notes(self.run_dir, {n: note_of(each, self.run_id) for n, each in running.items()})


@contextmanager
def running(cluster: Cluster) -> Generator[Cluster]:
    """Start a cluster for the length of a block, and end every process of it afterwards."""
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _holds(condition: Callable[[ClusterAdmin], bool], admin: ClusterAdmin) -> bool:
    with suppress(OSError, KeyError):
        return condition(admin)
    return False
