"""The composition root: one loop that turns events into effects, the store first. No rules."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple, assert_never

from controller.channels import Channels, Connect
from controller.core.decision import Decision, Durable
from controller.core.effects import (
    Answer,
    ConnectBroker,
    DisconnectBroker,
    Effect,
    End,
    Note,
    ReassignmentReport,
    Report,
    Send,
)
from controller.core.events import Event, RequestArrived, Started, Tick
from controller.core.machine import HalfDoneError, Machine
from controller.core.run_state import RunState, WantedTopic
from controller.core.settings import Settings
from controller.core.state import ClusterState
from controller.core.store import News, Store, no_news
from controller.doors import controller_door, controller_key, who_may_ask
from controller.handlers.dispatcher import Dispatcher
from controller.metric_rows import MetricRows
from controller.metric_topic import metric_topic
from controller.stamps import put_stamp_on
from protocol.cluster_file.spec import ClusterSpec
from protocol.configs.parsing import broker_config
from protocol.ids import node_client_id
from protocol.metric_topic.producer import MetricTopic
from protocol.metrics.rows import MetricRow, RowOrigin
from protocol.metrics.writer import MetricWriter, NewRowWriter
from protocol.ports import WallClock
from protocol.security.listeners import SecurityProtocol, control_plane_of
from protocol.transport.alarm import Alarm
from protocol.transport.connection_watch import connection_limits
from protocol.transport.door import Door
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from protocol.transport.server_memory import server_memory
from protocol.witness import Witness, unwitnessed

_log = logging.getLogger(__name__)


class PortError(Exception):
    """The controller's address cannot be bound."""


class OtherJournalError(Exception):
    """Brokers have data of another journal than this one, which has just begun."""


class WrongClusterError(Exception):
    """The journal belongs to another cluster."""


class _Commit(NamedTuple):
    """One decision on its way to the journal."""

    decision: Decision
    arrived_ms: int
    """Wall clock."""


class Controller:
    """One controller process. ``run`` it once; ``stop`` ends it."""

    def __init__(
        self,
        spec: ClusterSpec,
        store: Store,
        clock: WallClock,
        random: Random,
        connect: Connect | None = None,
        new_row_writer: NewRowWriter = MetricWriter,
    ) -> None:
        """Prepare.

        Args:
            spec: the cluster.
            store: not loaded yet.
            clock: stamps metric rows.
            random: for placement and topic ids.
            connect: makes clients of brokers; by default over the network.
            new_row_writer: makes the writer of metric rows.
        """
        self._spec = spec
        self._store = store
        self._clock = clock
        self._random = random
        self._new_row_writer = new_row_writer
        self._settings = settings_of(spec)
        self._key = controller_key(spec.configs)
        self._connect = connect or self._connect_by_rpc
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next_token = 0
        self._commits: list[_Commit] = []
        self._rows: list[MetricRow] = []
        self._row_of = MetricRows(clock)
        self._has_commits = asyncio.Event()
        self._has_rows = asyncio.Event()
        self._stopping = asyncio.Event()
        self._alarm = Alarm(self._tick)
        self._defect: HalfDoneError | OtherJournalError | None = None
        self._machine: Machine
        self._durable: Durable
        """How far decisions are kept; what rests on a later one waits."""
        self._channels: Channels
        self.listening: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """The port, once requests are served."""
        self.witness: Witness = unwitnessed
        """Told of the machine's events and moves; to be set before ``run``."""
        self.accepts_other_journals = False
        """Whether brokers may register that heard of another journal; to be set before ``run``."""
        self.news: News = no_news
        """Followed once the state is loaded; to be set before ``run``."""
        self.row_origin = RowOrigin()
        """What rows in the metrics topic begin with; to be set before ``run``."""
        self.acting: Callable[[int], None] = lambda _journal_number: None
        """Told before each effect on which decision it rests; to be set before ``run``."""
        self.answering: Callable[[Any, Any], None] = lambda _request, _response: None
        """Told of each request with its answer when that goes out; to be set before ``run``."""

    @property
    def state(self) -> ClusterState:
        """The state as decided, for inspection."""
        return self._machine.state

    @property
    def run_state(self) -> RunState:
        """What it may forget at a restart, for inspection."""
        return self._machine.run

    @property
    def queued_requests_count(self) -> int:
        """How many requests wait for the broker for which most do, for inspection."""
        return self._channels.queued_count_max

    async def run(self) -> None:
        """Serve until ``stop``.

        Raises:
            PortError: the port is taken (in an ExceptionGroup).
            OSError: the journal cannot be written (perhaps in an ExceptionGroup).
            JournalCorruptError, JournalInUseError: the journal cannot be used.
            WrongClusterError: the journal is another cluster's.
            OtherJournalError: the journal is new, and brokers have heard of another one.
            TermEndedError: ZooKeeper has another controller (perhaps in an ExceptionGroup).
            HalfDoneError: a defect; the next start replays what was decided before it.
        """
        try:
            settings = replace(self._settings, accepts_other_journals=self.accepts_other_journals)
            self._machine = Machine(await self._load(), settings, self._random, self.witness)
            self._machine.want_topics(_wanted_topics(self._spec))
            await self._serve()
            if self._defect is not None:
                raise self._defect
        finally:
            await self._store.close()

    def stop(self) -> None:
        """End ``run``; what was answered is durable, nothing else is lost that counts."""
        self._stopping.set()

    async def ask(self, request: Any, version: int) -> Any:
        """Have the machine answer a request."""
        token = self._next_token
        self._next_token += 1
        waiting = self._waiting[token] = asyncio.get_running_loop().create_future()
        try:
            self._post(RequestArrived(token, request, version))
            response = await waiting
            self.answering(request, response)
            return response
        finally:
            self._waiting.pop(token, None)

    async def _load(self) -> ClusterState:
        loaded = await self._store.load()
        self._durable = loaded.durable
        state = loaded.state
        if loaded.torn_bytes:
            _log.warning(
                "journal: %d bytes at the end were cut: never durable, or damaged since; "
                "brokers tell whether they have heard of what was in them",
                loaded.torn_bytes,
            )
        if state.cluster_id not in ("", self._spec.cluster_id):
            raise WrongClusterError(
                f"the journal belongs to cluster {state.cluster_id}, not {self._spec.cluster_id}"
            )
        _log.info(
            "loaded: %d decisions, %d topics, %d brokers",
            state.journal_number,
            len(state.topics),
            len(state.brokers),
        )
        return state

    async def _serve(self) -> None:
        host, port = self._spec.controller.bind_host, self._spec.controller.port
        config = self._settings.defaults
        may_ask = who_may_ask(self._spec.configs, lambda: self.state)
        server = RpcServer(
            Dispatcher(self.ask, may_ask).dispatch,
            size_bytes_max=config.socket_request_max_bytes,
            memory=server_memory(config, {node_client_id(each.id) for each in self._spec.brokers}),
            limits=connection_limits(config),
        )
        door = controller_door(self._spec.configs, self._clock.now_ms)
        async with asyncio.TaskGroup() as group:
            wait_ms = config.controller_socket_timeout_ms
            self._channels = Channels(group, self._connect, self._post, self._give_up, wait_ms)
            group.create_task(self._commit_all(), name="store")
            topic = self._metric_topic()
            group.create_task(self._write_rows(topic), name="metric-dump")
            self._post(Started())
            background = [group.create_task(self.news(self._post), name="news")]
            if topic is not None:
                background.append(group.create_task(topic.run(), name="metric-topic"))
            try:
                self.listening.set_result(await _listen(server, host, port, door))
                _log.info("listening on %s:%d", host, self.listening.result())
                await self._stopping.wait()
            finally:
                for task in background:
                    task.cancel()
                await server.stop()
                self._channels.close_all()
                self._alarm.silence()
                self._stopping.set()
                self._has_commits.set()
                self._has_rows.set()

    def _connect_by_rpc(self, host: str, port: int) -> RpcClient:
        client_id = node_client_id(self._spec.controller.id)
        return RpcClient(host=host, port=port, client_id=client_id, key=self._key)

    def _post(self, event: Event) -> None:
        """Decide; what follows is done once the decision is durable."""
        try:
            decision = self._machine.step(event, self._now_ms())
        except HalfDoneError as error:
            self._defect = error
            self._stopping.set()
            raise
        arrived_ms = self._clock.now_ms()
        commit = _Commit(decision, arrived_ms)
        if self._commits or decision.journal_number > self._durable.journal_number:
            self._commits.append(commit)
            self._has_commits.set()
        else:  # As most heartbeats: nothing has to be durable before.
            self._do_all(commit)
        self._arm()

    def _give_up(self, broker_id: int) -> None:
        """Let a broker's session end whose channel is full: it does not follow any more."""
        _log.error("broker %d does not follow: its channel is full", broker_id)
        self._channels.close(broker_id)

    async def _commit_all(self) -> None:
        """Make decisions durable in groups and then do what they ask for, in order."""
        while self._commits or not self._stopping.is_set():
            await self._has_commits.wait()
            self._has_commits.clear()
            commits, self._commits = self._commits, []
            if commits:
                self._durable = await self._store.append([each.decision for each in commits])
            for commit in commits:
                self._do_all(commit)
            if self._store.should_compact and not self._commits:
                self._durable = await self._store.compact(self._machine.state)

    def _do_all(self, commit: _Commit) -> None:
        for effect in commit.decision.effects(self._durable):
            self.acting(commit.decision.journal_number)
            put_stamp_on(effect, self._machine.state, commit.decision.journal_number)
            self._do(effect, commit.arrived_ms)

    def _do(self, effect: Effect, arrived_ms: int) -> None:
        match effect:
            case Send():
                self._channels.send(effect.broker_id, effect.sequence, effect.request)
            case Answer():
                waiting = self._waiting.get(effect.token)
                if waiting is not None and not waiting.done():
                    waiting.set_result(effect.response)
            case Note():
                _log.log(logging.WARNING if effect.is_warning else logging.INFO, effect.text)
            case ConnectBroker():
                self._channels.open(effect.broker_id, effect.broker_epoch, effect.host, effect.port)
            case DisconnectBroker():
                self._channels.close(effect.broker_id)
            case End():
                self._defect = OtherJournalError(effect.reason)
                self._stopping.set()
            case Report() | ReassignmentReport():
                self._rows.append(self._row_of.told(effect, arrived_ms))
                self._has_rows.set()
            case _:
                assert_never(effect)

    def _metric_topic(self) -> MetricTopic | None:
        if not self._spec.metrics.to_topic:
            return None
        return metric_topic(self._settings, lambda: self.state, self._connect, self.row_origin)

    async def _write_rows(self, topic: MetricTopic | None) -> None:
        metrics = self._spec.metrics
        now_ms = self._clock.now_ms()
        writer = self._new_row_writer(metrics.dump_dir, self._spec.controller.id, now_ms)
        while self._rows or not self._stopping.is_set():
            await self._has_rows.wait()
            self._has_rows.clear()
            rows, self._rows = self._rows, []
            if topic is not None:
                topic.offer(rows)
            try:
                await writer.write(rows)
            except OSError as error:
                _log.warning("%d metric rows lost: %s", len(rows), error)
        await writer.close()

    def _arm(self) -> None:
        """Have a ``Tick`` posted when the machine's next deadline comes."""
        due_ms = self._machine.next_deadline_ms()
        if due_ms is not None:
            self._alarm.ring_by(due_ms / 1000)

    def _tick(self) -> None:
        due_ms = self._machine.next_deadline_ms()
        if due_ms is not None and due_ms <= self._now_ms():
            self._post(Tick(due_ms))
        else:
            self._arm()

    def _now_ms(self) -> int:
        return int(asyncio.get_running_loop().time() * 1000)


def settings_of(spec: ClusterSpec) -> Settings:
    """Return what the cluster file says to the controller."""
    control_plane = control_plane_of(spec.configs)
    return Settings(
        cluster_id=spec.cluster_id,
        controller_id=spec.controller.id,
        session_timeout_ms=spec.controller.session_timeout_ms,
        heartbeat_interval_ms=spec.controller.heartbeat_interval_ms,
        metrics_interval_ms=spec.metrics.interval_ms,
        broker_ids=tuple(broker.id for broker in spec.brokers),
        has_zookeeper=spec.zookeeper is not None,
        control_plane_listener=control_plane.listener,
        tells_nodes_apart=control_plane.protocol is not SecurityProtocol.PLAINTEXT,
        defaults=broker_config(spec.configs),
        overrides=dict(spec.configs),
        broker_overrides={
            broker.id: {
                **broker.configs,
                "log.dirs": ",".join(log_dir.path for log_dir in broker.log_dirs),
            }
            for broker in spec.brokers
        },
    )


def _wanted_topics(spec: ClusterSpec) -> list[WantedTopic]:
    return [
        WantedTopic(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            configs=dict(topic.configs),
        )
        for topic in spec.topics
    ]


async def _listen(server: RpcServer, host: str, port: int, door: Door) -> int:
    try:
        return await server.start(host, port, door)
    except OSError as error:
        raise PortError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
