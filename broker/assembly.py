"""The parts of one broker, made and connected to each other; ``broker.app`` starts and stops them.

Nothing is opened and no task begun here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from broker.client_gate import ClientGate
from broker.context import Context
from broker.coordinators.coordinators import Coordinators, ResourceConfigs, make_coordinators
from broker.coordinators.groups import CoordinatorRelay
from broker.core.fetch_session import SESSION_ID_MAX, FetchSessions
from broker.core.internal_topics import new_topic
from broker.core.log_dirs import LogDirFailed
from broker.core.metadata_answer import MetadataAnswers
from broker.doors import Doors
from broker.engine.engine import Engine
from broker.engine.types import EnginePorts
from broker.exit_codes import ExitCode
from broker.lifecycle.auto_topics import AutoTopics
from broker.lifecycle.broker_configs import BrokerConfigs, config_overrides
from broker.lifecycle.config_news import ConfigNews, make_config_news
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.engine_events import EngineEventRelay
from broker.lifecycle.group_configs import GroupConfigs
from broker.lifecycle.identity import Identity
from broker.lifecycle.journal_knowledge import JournalKnowledge
from broker.lifecycle.log_dir_returns import LogDirReturns, ReturnPorts
from broker.lifecycle.metric_topic import metric_topic_ports
from broker.lifecycle.move_throttles import MoveThrottles
from broker.lifecycle.producer_ids import ProducerIds
from broker.lifecycle.session import ControllerSession, SessionPorts
from broker.lifecycle.topic_configs import TopicConfigs
from broker.lifecycle.zookeeper_plane import Followed, follow_config_changes, zookeeper_plane
from broker.loading import Loading
from broker.metric_dump import MetricDump
from broker.metrics import Metrics
from broker.node_connections import NodeConnections
from broker.nodes import nodes_by_client_id
from broker.record_turns import RecordTurns
from broker.reported_replicas import reported_topics
from broker.request_faults import RequestFaults
from broker.storage.faults import FaultyDisk
from broker.storage.log_dir import DirWorkers, LogDir
from broker.storage.meta_properties import new_directory_id
from broker.storage.startup import LoadOptions, Owner
from broker.world import World
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec, LogDirSpec
from protocol.configs.parsing import BrokerConfig, broker_config
from protocol.configs.types import ALL_LOG_DIRS
from protocol.faults.model import broker_node
from protocol.ids import ZERO_UUID, BrokerId
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.metric_topic.producer import MetricTopic
from protocol.transport.network_faults import NetworkFaults
from protocol.transport.server_memory import server_memory

ALTER_PARTITION_VERSION: Final = 3


class Parts:
    """One broker, not running. Made once, while its loop runs."""

    def __init__(
        self,
        spec: ClusterSpec,
        own: BrokerSpec,
        world: World,
        end_process: Callable[[ExitCode], None],
    ) -> None:
        """Make everything that needs no log dir to be open.

        Args:
            spec: the cluster.
            own: this broker.
            world: where it lives.
            end_process: called when the last log dir failed, or when a failure could not be told.
        """
        self._spec, self._own, self._world = spec, own, world
        self._end_process = end_process
        self.overrides = config_overrides(own)
        self.config = broker_config(self.overrides)
        self.metrics = Metrics(own.id)
        self.disks = {one.path: self._disk(one) for one in own.log_dirs}
        self.network = NetworkFaults(
            broker_node(own.id),
            chance=Random(world.random.getrandbits(64)),
            nodes=nodes_by_client_id(spec),
        )
        self.connections = NodeConnections(spec, own, self.network)
        self.request_faults = RequestFaults(self.network)
        self.memory = server_memory(self.config, nodes_by_client_id(spec))
        self.record_turns = RecordTurns(world.codec_worker())
        self.log_dirs = {path: self._log_dir(path, one) for path, one in self.disks.items()}
        self.loading = Loading(
            lambda path: self.log_dirs[path].is_online or self.returns.is_loading(path)
        )
        self.journal = self._journal()
        to_leader, connect = self.connections.to_leader, self.connections.to_controller
        self.control_plane = zookeeper_plane(spec, own, world, to_leader, connect)
        self.link = ControllerLink(self.control_plane.connect if self.control_plane else connect)
        self.link.heard = self.journal.heard
        self.broker_configs = BrokerConfigs(
            self.link, broker_id=own.id, static=self.overrides, on_changed=self.on_broker_configs
        )
        self.topic_configs = TopicConfigs(
            self.link,
            broker_config=self.config,
            on_changed=lambda topics: self.engine.topic_configs_changed(topics),  # noqa: PLW0108 -- made later
        )
        self.group_configs = GroupConfigs(self.link, broker_config=self.config)
        self.config_news = self._config_news()
        self.doors = Doors(own, self.config_news, world.clock.now_ms, self.connections)
        self.broker_configs.followers.append(self.doors.follow)
        self.session = self._session()
        count_max = spec.broker_count_max
        self.auto_topics = AutoTopics(self.link, lambda it: new_topic(it, self.config, count_max))
        self.returns = self._returns()
        self.client_gate = ClientGate()
        self.move_throttles = self._move_throttles()
        self.engine: Engine  # Made by make_engine, when it is known which log dirs are online.
        self.producer_ids: ProducerIds  # Made with it.
        self.coordinators: Coordinators  # Made with it.

    def _config_news(self) -> ConfigNews:
        own, topics, brokers = self._own, self.topic_configs, self.broker_configs
        news = make_config_news(self.link, own, brokers, topics, self.group_configs, self._world)
        of_clients = (news.client_quotas, news.scram_credentials)
        followed = Followed(news.acls, news.delegation_tokens, of_clients)
        follow_config_changes(self.control_plane, own.id, topics, brokers, followed)
        return news

    def _journal(self) -> JournalKnowledge:
        return JournalKnowledge(self.log_dirs.values, lambda: reported_topics(self.engine.state))

    def _producer_ids(self) -> ProducerIds:
        return ProducerIds(
            self.link,
            broker_id=self._own.id,
            broker_epoch=lambda: self.session.broker_epoch,
            keep=self.journal.take_block,
        )

    def _move_throttles(self) -> MoveThrottles:
        return MoveThrottles(
            self.link,
            self.broker_configs,
            broker_id=self._own.id,
            is_moving=lambda: self.engine.state.is_moving,
        )

    def _session(self) -> ControllerSession:
        return ControllerSession(
            self.link,
            SessionPorts(
                clock=self._world.clock,
                random=self._world.random,
                emit=self.metrics.record,
                online_directory_ids=self._online_directory_ids,
                cordoned_directory_ids=self.cordoned_directory_ids,
                registered=self.config_news.registered,
                unfenced=self.config_news.everything,
                unreported=partial(self._end_process, ExitCode.FAILURE_NOT_REPORTED),
                journal_report=lambda with_replicas: self.journal.report(
                    with_replicas=with_replicas
                ),
            ),
            broker_id=self._own.id,
            heartbeat_interval_ms=self._spec.controller.heartbeat_interval_ms,
            failure_timeout_ms=self.config.log_dir_failure_timeout_ms,
        )

    def _returns(self) -> LogDirReturns:
        return LogDirReturns(
            ReturnPorts(
                log_dirs=lambda: list(self.log_dirs.values()),
                open_anew=self._open_anew,
                adopt=self._adopt,
                owner=self.owner,
                load_options=self.load_options,
                journal_found=lambda found: self.journal.load([found]),
            ),
            lambda: self.engine,
            self.session,
        )

    def owner(self) -> Owner:
        """Return who opens the log dirs."""
        return Owner(
            broker_id=self._own.id,
            cluster_id=self._spec.cluster_id,
            new_directory_id=partial(new_directory_id, self._world.random),
        )

    def load_options(self) -> LoadOptions:
        """Return how logs are loaded."""
        return LoadOptions(
            configs=self.topic_configs.config_of,
            now_ms=self._world.clock.now_ms(),
            progress=self.loading.note,
        )

    def identity(self, port: int) -> Identity:
        """Return what to register as, listening on ``port``."""
        return Identity(
            broker_id=self._own.id,
            cluster_id=self._spec.cluster_id,
            incarnation_id=self._world.random.randbytes(16),
            listeners=self._own.listeners,
            port=port,
            rack=self._own.rack,
        )

    def make_engine(self) -> Engine:
        """Make the engine over the log dirs as they are: online or offline."""
        relay = EngineEventRelay(
            self.session,
            self.topic_configs,
            self.metrics,
            self.move_throttles,
            CoordinatorRelay(
                lambda: self.coordinators.groups, lambda: self.coordinators.transactions.shards
            ),
            partial(self._end_process, ExitCode.ALL_LOG_DIRS_FAILED),
        )
        self.engine = Engine(
            broker_id=BrokerId(self._own.id),
            log_dirs=list(self.log_dirs.values()),
            config=self.config,
            ports=EnginePorts(
                clock=self._world.clock,
                random=self._world.random,
                connect=self.connections.to_broker,
                send_alter_partition=self._send_alter_partition,
                broker_epoch=lambda: self.session.broker_epoch,
                topic_config=self.topic_configs.config_of,
                emit=self.metrics.record,
                events=relay,
                answers=self.memory.answers,
                answers_to_nodes=self.memory.answers_to_nodes,
                record_turns=self.record_turns,
                counters=self.metrics.counters,
                listener=self._own.listeners[0].name,
                witness=self._world.witness,
            ),
        )
        self.producer_ids = self._producer_ids()
        self.coordinators = make_coordinators(
            self.engine,
            self.config,
            record_turns=self.record_turns,
            configs=ResourceConfigs(self.topic_configs.config_of, self.group_configs.config_of),
            next_producer_id=self.producer_ids.next_producer_id,
            cluster_release=self._spec.cluster_release,
        )
        return self.engine

    def context(self) -> Context:
        """Return what handlers work with; the engine must have been made."""
        loop, engine = asyncio.get_running_loop(), self.engine
        return Context(
            broker_id=self._own.id,
            cluster_id=self._spec.cluster_id,
            release=self._own.emulate,
            cluster_release=self._spec.cluster_release,
            broker_configs=self.broker_configs,
            config_news=self.config_news,
            check_listeners=self.doors.check,
            metadata=engine.state.metadata,
            produces=engine.produces,
            fetches=engine.fetches,
            offsets=engine.offsets,
            record_deletions=engine.record_deletions,
            describe=engine.describe,
            moves=engine.moves,
            leadership=engine.leadership,
            stopping=engine.stopping,
            metadata_answers=MetadataAnswers(engine.state.metadata),
            controller=self.link,
            controller_behind=self.control_plane and self.control_plane.controller_behind,
            producer_ids=self.producer_ids,
            journal_heard=self.journal.heard,
            topic_configs=self.topic_configs,
            group_configs=self.group_configs,
            auto_topics=self.auto_topics,
            new_uuid=self._world.new_uuid,
            groups=self.coordinators.groups,
            transactions=self.coordinators.transactions,
            verifier=self.coordinators.verifier,
            fetch_sessions=FetchSessions(
                slot_count=self.config.max_incremental_fetch_session_cache_slots,
                first_session_id=self._world.random.randint(1, SESSION_ID_MAX),
            ),
            client_gate=self.client_gate,
            client_quotas=self.config_news.client_quotas.quotas,
            metrics=self.metrics,
            authorizer=self.config_news.acls.authorizer,
            delegation_tokens=self.config_news.delegation_tokens,
            answers=self.memory.answers,
            record_turns=self.record_turns,
            loop_ms=lambda: int(loop.time() * 1000),
            wall_ms=self._world.clock.now_ms,
            elapsed_us=self._world.elapsed_us,
            until_epoch_known=self.session.until_epoch_known,
        )

    def metric_topic(self) -> MetricTopic | None:
        """Return who writes rows to the metrics topic, if anybody; as ``dump``."""
        if not self._spec.metrics.to_topic:
            return None
        ports = metric_topic_ports(
            self.engine.state.metadata,
            self.connections.to_broker,
            self.auto_topics.create,
            self.producer_ids.next_producer_id,
            self.config.request_timeout_ms,
            self.metrics.counters.rows_dropped.add,
        )
        return MetricTopic(ports, node_id=self._own.id, origin=self._world.row_origin)

    def dump(self, topic: MetricTopic | None) -> MetricDump:
        """Return the writer of metric rows; the engine must have been made."""
        settings = self._spec.metrics
        now_ms = self._world.clock.now_ms()
        return MetricDump(
            self._world.new_row_writer(settings.dump_dir, self._own.id, now_ms),
            self.engine.describe,
            self.metrics,
            self._world.clock,
            interval_ms=settings.interval_ms,
            offer=None if topic is None else topic.offer,
        )

    def _disk(self, spec: LogDirSpec, *, is_empty: bool = False) -> FaultyDisk:
        chance = Random(self._world.random.getrandbits(64))
        make = self._world.empty_disk if is_empty else self._world.disk
        return FaultyDisk(make(spec), chance=chance, new_gate=self._world.new_gate)

    def _open_anew(self, path: str, is_empty: bool) -> LogDir:  # noqa: FBT001 - a port
        (spec,) = [one for one in self._own.log_dirs if one.path == path]
        return self._log_dir(path, self._disk(spec, is_empty=is_empty))

    def _adopt(self, log_dir: LogDir) -> None:
        assert isinstance(log_dir.disk, FaultyDisk)
        self.disks[log_dir.path] = log_dir.disk
        self.log_dirs[log_dir.path] = log_dir

    def _log_dir(self, path: str, disk: FaultyDisk) -> LogDir:
        world = self._world
        return LogDir(
            path=path,
            disk=disk,
            workers=DirWorkers(world.worker(path), world.worker(path), world.elapsed_us),
            deadline_ms=self.config.jbodlab_log_dir_io_deadline_ms,
            queue_depth_max=self.config.jbodlab_log_dir_queue_depth_max,
            on_failed=_leave_to_startup,
        )

    async def _send_alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        response: AlterPartitionResponse = await self.link.request(request, ALTER_PARTITION_VERSION)
        return response

    def on_broker_configs(self, config: BrokerConfig) -> None:
        """Have the engine and the topics follow a configuration; ``make_engine`` came before."""
        self.topic_configs.rebase(config)
        self.group_configs.rebase(config)
        self.engine.configure(config)
        self.session.log_dirs_cordoned()

    def _online_directory_ids(self) -> list[bytes]:
        return [one.directory_id for one in self.log_dirs.values() if one.is_online]

    def cordoned_directory_ids(self) -> list[bytes]:
        """Return the ids that heartbeats carry.

        Those of failed log dirs, too: one that comes back is cordoned from the first moment on.
        """
        cordoned = self.broker_configs.config.cordoned_log_dirs
        return [
            one.directory_id
            for path, one in self.log_dirs.items()
            if one.directory_id != ZERO_UUID and (path in cordoned or ALL_LOG_DIRS in cordoned)
        ]


def _leave_to_startup(_failed: LogDirFailed) -> None:
    """Before the engine runs, opening and loading report failures by themselves."""
