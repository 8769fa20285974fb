"""A simulated node: a machine with disks and a clock, and the process that runs on it.

What runs is the same code as in real processes; only the doors to the world differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Final, TypeVar

from broker.app import Broker, StartupError
from broker.core.request_rules import RequestRule
from broker.exit_codes import ExitCode
from broker.storage.faults import FaultyDisk
from broker.storage.worker import InlineDiskWorker
from broker.world import World
from controller.app import Controller, OtherJournalError
from controller.exit_codes import ExitCode as ControllerExitCode
from controller.journal import COMPACT_BYTES_MIN, Journal, JournalCorruptError
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec, LogDirSpec
from protocol.ids import node_client_id
from protocol.metrics.writer import NewRowWriter
from protocol.transport.rpc_client import RpcClient
from protocol.witness import Witness, unwitnessed
from simulation.core.samples import ActBeforeSync, ToldBeforeSync
from simulation.world.clock import SimClock
from simulation.world.disk_worker import SimDiskWorker
from simulation.world.drive import Drive
from simulation.world.journal_disk import DiskJournal, SimExecutor
from simulation.world.late_copies import LateCopies
from simulation.world.loop import SimLoop
from simulation.world.process import STEP_US, Process
from simulation.world.sim_thread import SimGate
from simulation.world.watched_rpc import WatchedRpc

CONTROLLER: Final = "controller"
T = TypeVar("T")


class SimNode:
    """A machine. ``start`` runs its process, which may end by itself or be ended."""

    def __init__(self, loop: SimLoop, name: str, log_dirs: tuple[LogDirSpec, ...]) -> None:
        self.name = name
        self.clock = SimClock(lambda: loop.now_us)
        self.drives = {one.path: Drive(loop, name, one, self.clock.now_ms) for one in log_dirs}
        """By path."""
        self.process: Process | None = None
        self.ended_with: object = None
        """The exit code of the last process, or what it raised; None while it runs."""
        self.starts_count = 0
        self.crashes: list[BaseException] = []
        """What its processes raised at their end, those before the last one too."""
        self.witness: Witness = unwitnessed
        """Told of the moves of its processes' state machines."""
        self._loop = loop
        self._step_us = STEP_US

    @property
    def is_paused(self) -> bool:
        """Whether its process stands still."""
        return self.process is not None and self.process.is_paused

    @property
    def is_running(self) -> bool:
        """Whether it has a process, be it paused."""
        return self.process is not None

    @property
    def exit_code(self) -> int | None:
        """The code of the last process, as ``python -m broker`` gives it; None: it was killed."""
        ended = self.ended_with
        if isinstance(ended, StartupError):
            return ended.exit_code
        if isinstance(ended, BaseException):
            return ExitCode.UNEXPECTED_ERROR
        return ended if isinstance(ended, int) else None

    def start(self) -> None:
        """Begin a new process."""
        assert self.process is None, f"{self.name} runs already"
        self.starts_count += 1
        self.ended_with = None
        self._note("starts")
        process = self.process = Process(self.name, self._step_us)
        self._loop.network.power_on(self.name)
        main = self._loop.create_task(self.main(), name=self.name, context=process.context())
        main.add_done_callback(lambda ended: self._on_end(process, ended))

    async def main(self) -> object:
        """Run the process to its end and return its exit code."""
        raise NotImplementedError

    def ask_to_end(self) -> None:
        """Ask the process to end cleanly, as SIGTERM does; nothing when there is none."""
        raise NotImplementedError

    def kill(self) -> None:
        """End the process at once, as SIGKILL does: its system closes its connections."""
        if self.process is not None:
            self._note("is killed")
            self._end(self.process)

    def power_cut(self) -> None:
        """Let the machine go dark: nobody is told, and disks lose what was not durable."""
        self._note("loses power")
        if self.process is not None:
            process = self.process
            self._loop.kill(process)
            self._loop.network.lose_process(process)
            self._forget_process()
        else:
            self._loop.network.links.power_off(self.name)
        for drive in self.drives.values():
            drive.power_cut(self._loop.chance.stream("faults"))

    def pause(self) -> None:
        """Hold the process, as SIGSTOP does: its connections stay open."""
        assert self.process is not None
        self._note("is paused")
        self._loop.pause(self.process)

    def resume(self) -> None:
        """Let a paused process go on."""
        assert self.process is not None
        self._note("goes on")
        self._loop.resume(self.process)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run ``function`` now, as code of the process."""
        assert self.process is not None, f"{self.name} does not run"
        return self.process.context().run(function, *args)

    def set_step_us(self, step_us: int) -> None:
        """Make every step of its processes take so long: a slow CPU."""
        self._note(f"takes {step_us} us per step")
        self._step_us = step_us
        if self.process is not None:
            self.process.step_us = step_us

    def skew_clock(self, by_ms: int) -> None:
        """Let its time of day be so much ahead of the world's."""
        self._note(f"has its clock {by_ms} ms ahead")
        self.clock.skew_ms = by_ms

    def chance(self) -> Random:
        """Return the chance of the process that is about to start."""
        return self._loop.chance.stream(f"node:{self.name}:{self.starts_count}")

    def worker(self, path: str, may_wait: Callable[[], bool]) -> SimDiskWorker:
        """Make the worker of one log dir."""
        drive = self.drives[path]
        return SimDiskWorker(
            self._loop,
            disk=lambda: drive.disk,
            may_wait=lambda: drive.faults.may_wait or may_wait(),
            chance=drive.chance,
        )

    def _on_end(self, process: Process, ended: asyncio.Task[object]) -> None:
        """Note how a process ended by itself."""
        if self.process is not process or ended.cancelled():
            return
        result = ended.exception() or ended.result()
        self._note(f"ends: {result!r}")
        self._end(process)
        self.ended_with = result
        if isinstance(result, BaseException):
            self.crashes.append(result)

    def _end(self, process: Process) -> None:
        self._loop.kill(process)
        self._loop.network.end_process(process)
        self._forget_process()

    def _forget_process(self) -> None:
        self.process = None
        for drive in self.drives.values():
            drive.let_go()

    def _note(self, what: str) -> None:
        self._loop.trace.note(self._loop.now_us, self.name, what)


class BrokerNode(SimNode):
    """The machine of one broker."""

    def __init__(
        self, loop: SimLoop, spec: ClusterSpec, own: BrokerSpec, new_row_writer: NewRowWriter
    ) -> None:
        super().__init__(loop, f"broker-{own.id}", own.log_dirs)
        self.id = own.id
        self.broker: Broker | None = None
        """The broker of the running process."""
        self.on_made: Callable[[Broker], None] = _as_made
        """Given the broker of every next process before it runs."""
        self._request_rules: dict[RequestRule, None] = {}
        self._spec = spec
        self._new_row_writer = new_row_writer
        for port in (own.port, own.control_port):
            loop.network.own(port, self.name)

    async def main(self) -> object:
        """Run a broker to its end and return its exit code."""
        self.broker = Broker(self._spec, self.id, self._world())
        for rule in self._request_rules:
            self.broker.request_faults.lay(rule)
        self.on_made(self.broker)
        return await self.broker.run()

    def lay_request_rule(self, rule: RequestRule) -> None:
        """Put a fault of requests in force in this and every later process."""
        self._request_rules[rule] = None
        if self.broker is not None:
            self.call(self.broker.request_faults.lay, rule)

    def drop_request_rule(self, rule: RequestRule) -> None:
        """Take it out of force, once or again."""
        self._request_rules.pop(rule, None)
        if self.broker is not None:
            self.call(self.broker.request_faults.drop_rule, rule)

    @property
    def is_up(self) -> bool:
        """Whether it serves and the controller lets it."""
        broker = self.broker
        return (
            self.is_running
            and broker is not None
            and broker.serving.done()
            and not broker.broker_control.session.is_fenced
        )

    @property
    def known_brokers(self) -> int:
        """How many brokers, itself included, its metadata has."""
        engine = self.broker.broker_control.engine if self.broker is not None else None
        return 0 if engine is None else len(engine.state.metadata.live_brokers())

    def ask_to_end(self) -> None:
        """Ask the broker to end, as SIGTERM does."""
        if self.process is not None and self.broker is not None:
            self.call(self.broker.stop)

    def _forget_process(self) -> None:
        super()._forget_process()
        self.broker = None

    def _world(self) -> World:
        loop = self._loop

        def disk(spec: LogDirSpec) -> FaultyDisk:
            return self.drives[spec.path].faults

        return World(
            clock=self.clock,
            random=self.chance(),
            disk=disk,
            empty_disk=lambda spec: self.drives[spec.path].empty(),
            worker=lambda path: self.worker(path, lambda: self._has_faults(path)),
            codec_worker=lambda: InlineDiskWorker(loop),
            elapsed_us=lambda: loop.now_us,
            new_gate=lambda: SimGate(loop),
            new_row_writer=self._new_row_writer,
            witness=self.witness,
        )

    def _has_faults(self, path: str) -> bool:
        return self.broker is not None and self.broker.broker_control.disks[path].may_wait


class ControllerNode(SimNode):
    """The machine of the controller."""

    def __init__(self, loop: SimLoop, spec: ClusterSpec, new_row_writer: NewRowWriter) -> None:
        self._journal_dir = LogDirSpec(path=spec.controller.data_dir, capacity_bytes=None)
        super().__init__(loop, CONTROLLER, (self._journal_dir,))
        self.controller: Controller | None = None
        """The controller of the running process."""
        self.on_made: Callable[[Controller], None] = _as_made
        """Given the controller of every next process before it runs."""
        self.journal: DiskJournal | None = None
        """Of the last process."""
        self.compact_bytes_min = COMPACT_BYTES_MIN
        """Of the next process: a journal smaller than this is never compacted."""
        self.acts_before_sync: list[ActBeforeSync] = []
        """What its processes did before the reason for it was durable."""
        self.told_before_sync: list[ToldBeforeSync] = []
        """What their messages said before it was durable."""
        self._spec = spec
        self._new_row_writer = new_row_writer
        loop.network.own(spec.controller.port, self.name)

    async def main(self) -> object:
        """Run a controller to its end and return its exit code."""
        path = self._journal_dir.path
        disk = self.drives[path].faults
        executor = SimExecutor(self.worker(path, lambda: False))
        store = self.journal = DiskJournal(disk)
        told = partial(self._tells, store)
        self.controller = Controller(
            self._spec,
            Journal(store, executor, compact_bytes_min=self.compact_bytes_min),
            self.clock,
            self.chance(),
            connect=lambda host, port: WatchedRpc(self._connect(host, port), told),
            new_row_writer=self._new_row_writer,
        )
        self.controller.witness = self.witness
        self.controller.acting = lambda number: self._acts(number, store)
        copies = LateCopies(self.controller.ask, self._loop.chance.stream("late copies"))
        self.controller.answering = partial(_answers, told, copies.answered)
        self.on_made(self.controller)
        try:
            await self.controller.run()
        except OtherJournalError:
            return ControllerExitCode.JOURNAL_NEW
        except JournalCorruptError:
            return ControllerExitCode.JOURNAL_CORRUPT
        return ControllerExitCode.CLEAN

    @property
    def is_up(self) -> bool:
        """Whether it listens."""
        return self.controller is not None and self.controller.listening.done()

    def ask_to_end(self) -> None:
        """Ask the controller to end, as SIGTERM does."""
        if self.process is not None and self.controller is not None:
            self.call(self.controller.stop)

    def _acts(self, journal_number: int, store: DiskJournal) -> None:
        if journal_number > store.durable_number:
            self.acts_before_sync.append(
                ActBeforeSync(self._loop.now_us, journal_number, store.durable_number)
            )

    def _connect(self, host: str, port: int) -> RpcClient:
        client_id = node_client_id(self._spec.controller.id)
        return RpcClient(host=host, port=port, client_id=client_id)

    def _tells(self, store: DiskJournal, request: Any, response: Any = None) -> None:
        for text in store.durable.ahead(request, response):
            self.told_before_sync.append(ToldBeforeSync(self._loop.now_us, text))

    def _forget_process(self) -> None:
        super()._forget_process()
        self.controller = None


def _as_made(_process: object) -> None:
    return None


# Any: whatever is asked of the controller, and its answer.
def _answers(
    told: Callable[[Any, Any], None], copied: Callable[[Any, Any], None], asked: Any, answer: Any
) -> None:
    told(asked, answer)
    copied(asked, answer)
