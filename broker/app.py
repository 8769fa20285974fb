"""The composition root: a cluster spec and the doors to the world become a running broker.

Nothing is decided here but the order of starting and stopping.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Final

import msgspec

from broker.assembly import Parts
from broker.broker_control import BrokerControl
from broker.broker_state import BrokerState
from broker.connection_limits import follow_limits
from broker.control import LOOPBACK, ControlServer
from broker.emulation import dispatch_for, own_client_ids
from broker.ends_with_peer import ends_with_peer
from broker.engine.supervise import supervised
from broker.exit_codes import ExitCode
from broker.fault_plane import FaultPlane
from broker.faulty_dispatch import FaultyDispatch
from broker.lifecycle.controlled_shutdown import hand_over
from broker.lifecycle.session import RegistrationRefusedError
from broker.lifecycle.zookeeper_plane import refusal_of_zookeeper
from broker.metric_dump import MetricDump
from broker.storage.recovery import LoadedLogDir, StartupRefused
from broker.storage.startup import load_log_dirs, open_log_dirs
from broker.world import World
from protocol.cluster_file.spec import ClusterSpec, FaultSpec
from protocol.faults.document import fault_content
from protocol.faults.model import broker_in_charge
from protocol.transport.full_collections import FullCollections
from protocol.transport.heap_trim import trim_when_quiet
from protocol.transport.paced_transport import ServerLinks
from protocol.transport.rpc_server import RpcServer

STOP_TIMEOUT_MS: Final = 20_000
"""How long flushing and marking the log dirs may take before they are left as they are."""
LEAVE_TIMEOUT_MS: Final = 1_000
"""How long the controller may take to let this broker go."""
FAULTS_AT_THE_END: Final = "faults at the end: "
"""Begins the line of the log that has, as JSON, what every fault has met in this process."""
logger = logging.getLogger(__name__)


class StartupError(Exception):
    """The broker cannot start; the text says in one line why and what to do."""

    def __init__(self, exit_code: ExitCode, text: str) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class _EndedError(Exception):
    """Ends the task group of a running broker."""


async def run_broker(spec: ClusterSpec, broker_id: int, world: World) -> ExitCode:
    """Run one broker of this machine until SIGTERM, SIGINT or the failure of its last log dir.

    Raises:
        StartupError: it cannot start.
    """
    broker = Broker(spec, broker_id, world)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, broker.stop)
    broker.serving.add_done_callback(lambda _: FullCollections().begin())
    trim_when_quiet()
    return await broker.run()


class Broker:
    """One broker. ``run`` it once; ``stop`` ends it cleanly from anywhere on the loop."""

    def __init__(self, spec: ClusterSpec, broker_id: int, world: World) -> None:
        """Put the parts together; nothing is opened before ``run``.

        Raises:
            KeyError: the spec has no such broker.
        """
        self._spec = spec
        self._own = spec.broker(broker_id)
        self._world = world
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[ExitCode] = self._loop.create_future()
        self._parts = Parts(spec, self._own, world, self._end_with)
        self.broker_control = self._make_control()
        """What the control endpoint shows and does."""
        self.request_faults = self._parts.request_faults
        self.control_port = self._own.control_port
        """Of the control endpoint; the bound one once ``run`` has begun."""
        self.serving: asyncio.Future[int] = self._loop.create_future()
        """The listener's port, once requests are served."""

    def _make_control(self) -> BrokerControl:
        parts, spec = self._parts, self._spec
        ids = tuple(each.id for each in spec.brokers)
        return BrokerControl(
            spec=spec,
            broker=self._own,
            metrics=parts.metrics,
            disks=parts.disks,
            faults=FaultPlane(ids, parts.disks, parts.network, parts.request_faults),
            log_dirs=parts.log_dirs,
            session=parts.session,
            returns=parts.returns,
            loading=parts.loading,
            client_gate=parts.client_gate,
            shut_down=self.stop,
        )

    def stop(self) -> None:
        """End ``run`` with a clean shutdown."""
        self._end_with(ExitCode.CLEAN)

    async def run(self) -> ExitCode:
        """Start, serve until the end, stop; return how it ended.

        Raises:
            StartupError: it cannot start.
        """
        own = self._own
        control = ControlServer(self.broker_control.ports())
        self.control_port = await _bind(control.start(own.control_port), LOOPBACK, own.control_port)
        try:
            await self._check_port()
            self._strike_at_once()
            await self._join_zookeeper()
            loaded = await self._open_log_dirs()
            if not loaded:
                self._log_all_failed()
                return ExitCode.ALL_LOG_DIRS_FAILED
            return await self._serve(loaded)
        finally:
            self._tell_faults()
            await control.stop()
            self._parts.record_turns.close()
            self._parts.link.close()
            if self._parts.control_plane is not None:
                self._parts.control_plane.close()

    async def _listen(self, server: RpcServer) -> int:
        """Open all listeners; return the port of the first, by which the nodes come."""
        ports: list[int] = []
        for each in self._own.listeners:
            door = self._parts.doors.by_listener[each.name]
            starting = server.start(each.bind_host, each.port, door)
            ports.append(await _bind(starting, each.bind_host, each.port))
            logger.info("listening on %s:%d", each.bind_host, ports[-1])
        return ports[0]

    async def _check_port(self) -> None:
        """Refuse a taken port before any log dir loses its clean-shutdown marker.

        Raises:
            StartupError: as ``_bind``.
        """

        async def try_out(host: str, port: int) -> int:
            server = await self._loop.create_server(asyncio.Protocol, host, port)
            server.close()
            await server.wait_closed()
            return port

        for each in self._own.listeners:
            await _bind(try_out(each.bind_host, each.port), each.bind_host, each.port)

    async def _join_zookeeper(self) -> None:
        """Connect to ZooKeeper where the cluster file names one.

        Raises:
            StartupError: it does not answer, or has another cluster.
        """
        refusal = await refusal_of_zookeeper(self._parts.control_plane, self._spec)
        if refusal:
            raise StartupError(ExitCode.BAD_CONFIG, refusal)

    async def _open_log_dirs(self) -> dict[str, LoadedLogDir]:
        """Open and load every log dir, all at once; without those that are offline."""
        self._enter(BrokerState.RECOVERY)
        log_dirs = list(self._parts.log_dirs.values())
        started_s = self._loop.time()
        try:
            await open_log_dirs(log_dirs, self._parts.owner())
            loaded = await load_log_dirs(log_dirs, self._parts.load_options())
        except StartupRefused as error:
            raise StartupError(ExitCode.BAD_LOG_DIRS, str(error)) from error
        logger.info(
            "%d of %d log dirs online, %d logs loaded in %d ms",
            len(loaded),
            len(log_dirs),
            sum(len(found.logs) for found in loaded.values()),
            int((self._loop.time() - started_s) * 1000),
        )
        self._parts.journal.load(found.journal for found in loaded.values())
        return loaded

    async def _serve(self, loaded: Mapping[str, LoadedLogDir]) -> ExitCode:
        parts = self._parts
        self.broker_control.engine = engine = parts.make_engine()
        await engine.start(loaded)
        context = parts.context()
        dispatch = dispatch_for(context, self._spec)
        faulty = FaultyDispatch(
            dispatch,
            parts.request_faults,
            name_of=context.metadata.topic_name,
            own_client_ids=own_client_ids(self._spec),
        )
        server = RpcServer(
            parts.network.guarded(dispatch, faulty.dispatch),
            size_bytes_max=parts.config.socket_request_max_bytes,
            memory=parts.memory,
            ends_with_peer=lambda request: faulty.waits(request) or ends_with_peer(request),
        )
        draw = parts.request_faults.chance.random
        faulty.links = ServerLinks(server.transport_of, server.replace_transport, draw)
        parts.network.open_peers = lambda: server.peers
        rates = context.client_quotas.connections
        follow_limits(server, parts.broker_configs, parts.doors, rates, context.loop_ms)
        if any(each.protocol.is_tls for each in self._own.listeners):
            # Clients that trust the certificate that was set dynamically take no other one.
            await parts.broker_configs.refresh()
        port = await self._listen(server)
        topic = parts.metric_topic()
        dump = parts.dump(topic)
        code = ExitCode.CLEAN
        try:
            async with asyncio.TaskGroup() as tasks:
                self._start_tasks(tasks, port, dump)
                if topic is not None:
                    tasks.create_task(supervised("metric-topic", topic.run), name="metric-topic")
                await self._wait_for_end(server)
        except* _EndedError:
            code = self._end.result()
        except* RegistrationRefusedError:
            code = ExitCode.REGISTRATION_REFUSED
            self._enter(BrokerState.SHUTTING_DOWN)
            await server.stop()
        await self._shut_down(dump, code)
        return code

    async def _wait_for_end(self, server: RpcServer) -> None:
        """Return by raising _EndedError, so that the task group ends all tasks.

        The server ends before them: no request may meet an engine that does not run any more.
        """
        code = await self._end
        self._parts.client_gate.shut()
        if code is ExitCode.CLEAN:
            await self._leave()
        self._enter(BrokerState.SHUTTING_DOWN)
        self._parts.coordinators.stop()
        await server.stop()
        raise _EndedError

    def _start_tasks(self, tasks: asyncio.TaskGroup, port: int, dump: MetricDump) -> None:
        parts = self._parts
        parts.engine.run(tasks)
        parts.coordinators.run(tasks)
        session = partial(parts.session.run, parts.identity(port))
        refused = RegistrationRefusedError
        tasks.create_task(supervised("session", session, ending=refused), name="session")
        if parts.control_plane is not None:
            run = parts.control_plane.follow_changes
            tasks.create_task(supervised("config-changes", run), name="config-changes")
        for name, run in (
            ("broker-configs", parts.broker_configs.run),
            ("topic-configs", parts.topic_configs.run),
            ("group-configs", parts.group_configs.run),
            ("acls", parts.config_news.acls.run),
            ("scram-credentials", parts.config_news.scram_credentials.run),
            ("client-quotas", parts.config_news.client_quotas.run),
            ("delegation-tokens", parts.config_news.delegation_tokens.run),
            ("auto-topics", parts.auto_topics.run),
            ("log-dir-returns", parts.returns.run),
            ("move-throttles", parts.move_throttles.run),
            ("metric-dump", dump.run),
        ):
            tasks.create_task(supervised(name, run), name=name)
        for spec in self._own_faults():
            if spec.at_ms > 0:
                self._loop.call_later(spec.at_ms / 1000, self._strike, spec)
        self._enter(BrokerState.RUNNING)
        self.broker_control.port = port
        self.serving.set_result(port)
        if self._own.emulate is not None:
            logger.info("clients see Kafka %s", self._own.emulate)

    async def _leave(self) -> None:
        """Hand the leaderships over and have the controller let this broker go; bounded in time."""
        self._enter(BrokerState.PENDING_CONTROLLED_SHUTDOWN)
        parts = self._parts
        if not parts.config.controlled_shutdown_enable or not parts.session.is_connected:
            return
        is_done = await hand_over(
            parts.link,
            broker_id=self._own.id,
            broker_epoch=parts.session.broker_epoch,
            attempts_max=parts.config.controlled_shutdown_max_retries,
            backoff_ms=parts.config.controlled_shutdown_retry_backoff_ms,
        )
        if not is_done:
            return
        try:
            async with asyncio.timeout(LEAVE_TIMEOUT_MS / 1000):
                await parts.session.want_shut_down()
        except TimeoutError:
            logger.warning("the controller did not let go within %d ms", LEAVE_TIMEOUT_MS)

    async def _shut_down(self, dump: MetricDump, code: ExitCode) -> None:
        await dump.close()
        if code is ExitCode.ALL_LOG_DIRS_FAILED:
            self._log_all_failed()
            return
        if self._parts.session.is_connected:
            await self._parts.session.say_goodbye()
        self._parts.journal.write_now()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_MS / 1000):
                await self._parts.engine.stop()
        except TimeoutError:
            logger.warning("log dirs not closed within %d ms; left as they are", STOP_TIMEOUT_MS)
        self._enter(BrokerState.NOT_RUNNING)

    def _own_faults(self) -> list[FaultSpec]:
        return [spec for spec in self._spec.faults if broker_in_charge(spec.fault) == self._own.id]

    def _strike_at_once(self) -> None:
        """Put those faults in force that are there before any log dir is opened."""
        for spec in self._own_faults():
            if spec.at_ms == 0:
                self._strike(spec)

    def _tell_faults(self) -> None:
        """Log what faults have met: the end of the process is theirs too, and nobody asks it."""
        told = self.broker_control.faults.describe()
        if told:
            content = msgspec.json.encode({"pid": os.getpid(), "faults": told}).decode()
            logger.info("%s%s", FAULTS_AT_THE_END, content)

    def _strike(self, spec: FaultSpec) -> None:
        logger.warning("fault of the cluster file: %s", fault_content(spec.fault))
        fault_id = self.broker_control.add_fault(spec.fault)
        if spec.until_ms is not None:
            lasts_s = (spec.until_ms - spec.at_ms) / 1000
            self._loop.call_later(lasts_s, self.broker_control.clear_faults, [fault_id])

    def _enter(self, state: BrokerState) -> None:
        logger.info("broker state %s -> %s", self.broker_control.state.name, state.name)
        self._world.witness(self.broker_control.state, state)
        self.broker_control.state = state

    def _end_with(self, code: ExitCode) -> None:
        if not self._end.done():
            self._end.set_result(code)

    def _log_all_failed(self) -> None:
        paths = ", ".join(self._parts.log_dirs)
        logger.error("Shutdown broker because all log dirs in %s have failed", paths)


async def _bind(starting: Awaitable[int], host: str, port: int) -> int:
    """Return the bound port.

    Raises:
        StartupError: it is taken or not ours.
    """
    try:
        return await starting
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            hint = "is in use: stop what listens there or change the port in the cluster file"
        else:
            hint = f"cannot be bound: {error.strerror}"
        raise StartupError(ExitCode.PORT_IN_USE, f"{host}:{port} {hint}") from error
