"""The state of one broker that all concerns of the engine share.

Only modules of this package change it. It answers simple questions and decides nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from broker.core.cleaner_offsets import CleanerOffsets
from broker.core.future_log import CleaningPauses
from broker.core.hosted import HostedPartitions
from broker.core.log_dirs import LogDirStates
from broker.core.log_positions import LogPositions
from broker.core.metadata_image import MetadataImage
from broker.core.partition import Partition
from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import ReplicationQuotas
from broker.core.tail import TailCache
from broker.engine.hosted_log import HostedLog
from broker.engine.replica import Replica
from broker.engine.types import EnginePorts, LeaderHint
from broker.storage.log_dir import LogDir
from protocol.configs.parsing import BrokerConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.ports import DiskUsage
from protocol.topic_names import INTERNAL_TOPICS

T = TypeVar("T")


class LogHere(NamedTuple):
    """One log on one of this broker's log dirs."""

    tp: TopicPartition
    log: HostedLog[LogPositions]
    replica: Replica | None
    """The one that it is the current or the future log of; None while that is not online."""


class EngineState:
    """Everything a broker knows at run time."""

    def __init__(
        self,
        *,
        broker_id: BrokerId,
        log_dirs: Sequence[LogDir],
        config: BrokerConfig,
        ports: EnginePorts,
    ) -> None:
        """Begin with nothing hosted.

        Raises:
            KafkaError: INVALID_CONFIG, ``cordoned.log.dirs`` names what is no log dir.
        """
        self.broker_id = broker_id
        self.ports = ports
        self.loop = asyncio.get_running_loop()
        self.log_dirs = {log_dir.path: log_dir for log_dir in log_dirs}
        self.log_dir_states = LogDirStates(
            list(self.log_dirs),
            offline=[path for path, log_dir in self.log_dirs.items() if not log_dir.is_online],
            witness=ports.witness,
        )
        self.quotas = ReplicationQuotas.of(config)
        self.rebuilds = RebuildThrottle()
        self.configure(config)
        self.hosted: HostedPartitions[Replica, HostedLog[Partition]] = HostedPartitions(
            ports.witness
        )
        self.metadata = MetadataImage(broker_id=broker_id, listener=ports.listener)
        self.tails = TailCache(total_bytes_max=config.jbodlab_tail_cache_bytes)
        self.cleaning_pauses = CleaningPauses()
        self.cleaner_offsets = CleanerOffsets()
        self.orphan_future_logs: dict[TopicPartition, HostedLog[LogPositions]] = {}
        """Future logs whose current log is not online here: found at the start, or left behind."""
        self.left_over: dict[TopicPartition, None] = {}
        """Logs found at the start that a cut swap may have left of replicas that were deleted."""
        self.unretired: dict[TopicPartition, str] = {}
        """Log dirs that failed with the log that a move has replaced: it is a current one there."""
        self.usage: dict[str, DiskUsage] = {}
        """Space of each online log dir, as of the last look."""
        self.controller_epoch = 0
        self.seen_topics: dict[str, None] = {}
        self.leader_addresses: dict[int, tuple[str, int]] = {}
        """As LeaderAndIsr names them; newer than the metadata image while a change is under way."""
        self.group: asyncio.TaskGroup | None = None
        """Where background work runs; set while the engine runs."""
        self.control_turn = asyncio.Lock()
        """LeaderAndIsr and StopReplica go one at a time, as in Kafka (replicaStateChangeLock)."""

    def configure(self, config: BrokerConfig) -> None:
        """Take a configuration over; what reads ``config`` afresh follows by itself.

        Raises:
            KafkaError: INVALID_CONFIG, ``cordoned.log.dirs`` names what is no log dir.
        """
        self.log_dir_states.cordon(config.cordoned_log_dirs)
        self.config = config
        self.quotas.configure(config)
        self.lag_time_max_ms = config.replica_lag_time_max_ms

    def iterate_logs(self) -> Iterator[LogHere]:
        """Go through every log, current and future, whether its replica is online or not."""
        for tp, replica in self.hosted.iterate_online():
            yield LogHere(tp, replica.log, replica)
            if replica.future is not None and replica.future.log is not None:
                yield LogHere(tp, replica.future.log, replica)
        for tp, idle in self.hosted.iterate_idle():
            yield LogHere(tp, idle, None)
        for tp, orphan in self.orphan_future_logs.items():
            yield LogHere(tp, orphan, None)

    async def until_swapped(self, tp: TopicPartition) -> Replica | None:
        """Return the online replica of ``tp``, if there is one, once no swap is under way."""
        while True:
            replica = self.hosted.online_replica(tp)
            swapped = None if replica is None else replica.log.swapping.ended
            if swapped is None:
                return replica
            await asyncio.shield(swapped)

    async def shielded(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await ``work``, which goes on when the caller is cancelled: half a change is none.

        Raises:
            KafkaError: BROKER_NOT_AVAILABLE, the engine has ended.
        """
        assert self.group is not None, "the engine does not run"
        done: asyncio.Future[T] = self.loop.create_future()
        settling = _settle(work, done)
        try:
            self.group.create_task(settling)
        except RuntimeError as error:
            settling.close()
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "it is about to end") from error
        return await done

    @property
    def is_moving(self) -> bool:
        """Whether a replica is on its way to another log dir."""
        return len(self.cleaning_pauses) > 0

    def move_ended(self, tp: TopicPartition) -> None:
        """Let ``tp`` be cleaned again; tell when no replica moves any more."""
        self.cleaning_pauses.resume(tp)
        self.tell_if_nothing_moves()

    def tell_of_role(self, replica: Replica) -> None:
        """Tell coordinators that this replica leads or follows now, or is about to end."""
        if replica.tp.topic not in INTERNAL_TOPICS:
            return
        if replica.partition.is_leader and not replica.is_ended and not replica.is_stopped:
            self.ports.events.leads_internal(replica.tp, replica.leader_epoch)
        else:
            self.ports.events.leads_internal_no_more(replica.tp)

    def tell_if_nothing_moves(self) -> None:
        """Tell that an order to move replicas is carried out, unless one still moves."""
        if not self.is_moving:
            self.ports.events.moves_ended()

    def now_ms(self) -> int:
        """Return the loop's time."""
        return int(self.loop.time() * 1000)

    def wall_ms(self) -> int:
        """Return the time of day, for records and file ages."""
        return self.ports.clock.now_ms()

    def unique(self) -> str:
        """Return 32 hex digits for the name of a future or deleted log."""
        return f"{self.ports.random.getrandbits(128):032x}"

    def absence(self, tp: TopicPartition, *, of_marker: bool = False) -> ErrorCode:
        """Return why ``tp`` is not online here; for markers all that is elsewhere is unknown.

        Source: ReplicaManager.getPartitionOrError, KafkaApis.handleWriteTxnMarkersRequest.
        """
        if self.hosted.is_offline(tp):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self.metadata.has_partition(tp) and not of_marker:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def leader_hint(self, tp: TopicPartition) -> LeaderHint:
        """Return who leads ``tp``, as far as is known here; (-1, -1) when it is not."""
        replica = self.hosted.online_replica(tp)
        known = self.metadata.leader_of(tp)
        if replica is not None and replica.leader_epoch >= known[1]:
            return LeaderHint(replica.partition.leader_id, replica.leader_epoch)
        return LeaderHint(*known)

    def address_of(self, broker_id: int) -> tuple[str, int] | None:
        """Return where another broker listens; None while that is unknown."""
        broker = self.metadata.live_broker(broker_id)
        if broker is not None:
            return broker.host, broker.port
        return self.leader_addresses.get(broker_id)


async def _settle(work: Callable[[], Coroutine[Any, Any, T]], done: asyncio.Future[T]) -> None:
    try:
        result = await work()
    except Exception as error:
        if done.done():
            raise
        done.set_exception(error)
    else:
        if not done.done():
            done.set_result(result)
