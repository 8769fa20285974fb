"""Coordinates transactions: what handlers ask, of the shards of ``__transaction_state`` led here.

It gets producer ids before the rules need them and has markers written when an end is in the log.
Neither is decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from broker.coordinators.coordinator_log import CoordinatorLog, LogPorts
from broker.coordinators.marker_channels import MarkerChannels, MarkerPorts
from broker.coordinators.shard_host import HostPorts, ShardHost
from broker.coordinators.shards import Shards
from broker.core.coordination import TRANSACTION_STATE
from broker.core.metadata_image import MetadataImage
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.marker_progress import MarkerProgress
from broker.core.transaction_state.metadata import NO_PRODUCER_ID, TransactionMetadata
from broker.core.transaction_state.shard import (
    Initialized,
    MarkersDue,
    TransactionLimits,
    TransactionShard,
)
from broker.engine.engine import Engine
from broker.record_turns import RecordTurns
from protocol.configs.parsing import BrokerConfig, TopicConfig
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.records.batch import Compression
from protocol.transport.turns import Turns

TRANSACTION_VERSION: Final = 0
"""The cluster's ``transaction.version``: a cluster with ZooKeeper has no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionPorts:
    """What the coordinator of transactions needs."""

    config: BrokerConfig
    metadata: MetadataImage
    logs: LogPorts
    channels: MarkerChannels
    next_producer_id: Callable[[], Awaitable[int]]
    now_ms: Callable[[], int]
    """The loop's clock."""
    wall_ms: Callable[[], int]


class Transactions:
    """The transactional ids whose coordinator this broker is.

    Each method raises KafkaError, as ``Shards.ask`` does, where it is not or not yet.
    """

    def __init__(self, ports: TransactionPorts) -> None:
        """Lead nothing yet: the engine's events must reach ``shards``."""
        self._ports = ports
        self._channels = ports.channels
        config = ports.config
        limits = TransactionLimits(
            timeout_ms_max=config.transaction_max_timeout_ms,
            id_expiration_ms=config.transactional_id_expiration_ms,
            abort_interval_ms=config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            expiry_interval_ms=config.transaction_remove_expired_transaction_cleanup_interval_ms,
        )
        hosts = HostPorts(
            now_ms=ports.now_ms,
            wall_ms=ports.wall_ms,
            timeout_ms=config.request_timeout_ms,
            on_effect=self._on_effect,
        )
        self.shards: Shards[TransactionShard] = Shards(
            TRANSACTION_STATE,
            ports.metadata,
            lambda tp: CoordinatorLog(tp, ports.logs),
            lambda _log: TransactionShard(limits, TRANSACTION_VERSION),
            hosts,
        )

    def run(self, tasks: asyncio.TaskGroup) -> None:
        """Load, write and send markers by ``tasks``, from now on."""
        self._channels.run(tasks)
        self.shards.run(tasks)

    def stop(self) -> None:
        """Answer all that wait: the broker ends."""
        self.shards.stop()
        self._channels.stop()

    async def begin(self, asked: BeginAsked) -> Initialized:
        """InitProducerId. KafkaError, too: COORDINATOR_LOAD_IN_PROGRESS, no producer id came."""
        shard = self.shards.shard_of(asked.transactional_id)
        new_producer_id = NO_PRODUCER_ID
        if shard.needs_producer_id_to_begin(asked):
            new_producer_id = await self._ports.next_producer_id()
        answer: Initialized = await self.shards.ask(
            asked.transactional_id,
            lambda shard, waiter, _now_ms, wall_ms: shard.begin(
                waiter, asked, new_producer_id=new_producer_id, wall_ms=wall_ms
            ),
        )
        return answer

    async def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        *,
        client_transaction_version: int,
    ) -> ErrorCode:
        """Have partitions join the open transaction, or begin one."""
        code: ErrorCode = await self.shards.ask(
            transactional_id,
            lambda shard, waiter, _now_ms, wall_ms: shard.add_partitions(
                waiter,
                transactional_id,
                producer,
                partitions,
                client_transaction_version=client_transaction_version,
                wall_ms=wall_ms,
            ),
        )
        return code

    async def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> Sequence[ErrorCode]:
        """Tell whether partitions are in the open transaction, one code for each."""
        codes: Sequence[ErrorCode] = await self.shards.ask(
            transactional_id,
            lambda shard, waiter, _now_ms, _wall_ms: shard.verify_partitions(
                waiter, transactional_id, producer, partitions
            ),
        )
        return codes

    async def end(self, transactional_id: str, asked: EndAsked) -> Initialized:
        """Commit or abort; answered when that is decided for good, before markers are written."""
        shard = self.shards.shard_of(transactional_id)
        new_producer_id = NO_PRODUCER_ID
        if shard.may_need_producer_id_to_end(transactional_id, asked):
            new_producer_id = await self._ports.next_producer_id()
        answer: Initialized = await self.shards.ask(
            transactional_id,
            lambda shard, waiter, _now_ms, wall_ms: shard.end(
                waiter, transactional_id, asked, new_producer_id=new_producer_id, wall_ms=wall_ms
            ),
        )
        return answer

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """Return what is known of one."""
        return self.shards.shard_of(transactional_id).get(transactional_id)

    def transactions(self) -> Sequence[TransactionMetadata]:
        """Return all that are coordinated here."""
        return [one for shard in self.shards.shards() for one in shard.transactions()]

    def _on_effect(self, host: ShardHost[TransactionShard], due: MarkersDue) -> None:
        """Write the markers of a transaction whose end is in the log."""
        shard = host.shard
        progress = MarkerProgress(due, host.leader_epoch)

        def complete() -> None:
            if host.holds(shard):
                host.take(shard.markers_written(due, self._ports.wall_ms()))

        self._channels.send(progress, complete)


def coordinated_transactions(
    engine: Engine,
    config: BrokerConfig,
    *,
    record_turns: RecordTurns,
    topic_config: Callable[[str], TopicConfig],
    next_producer_id: Callable[[], Awaitable[int]],
) -> Transactions:
    """Return the coordinator of transactions; the engine's events must reach its shards."""
    state = engine.state
    logs = LogPorts(
        appends=engine.produces,
        reads=engine.led_logs,
        record_turns=record_turns,
        turns=Turns(),
        wall_ms=state.wall_ms,
        topic_config=topic_config,
        compression=Compression.NONE,
        load_bytes_max=config.transaction_state_log_load_buffer_size,
    )
    markers = MarkerPorts(
        metadata=state.metadata,
        connect=state.ports.connect,
        request_timeout_ms=lambda: config.request_timeout_ms,
    )
    return Transactions(
        TransactionPorts(
            config=config,
            metadata=state.metadata,
            logs=logs,
            channels=MarkerChannels(markers),
            next_producer_id=next_producer_id,
            now_ms=state.now_ms,
            wall_ms=state.wall_ms,
        )
    )
