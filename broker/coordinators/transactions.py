"""Coordinates transactions: the shards of ``__transaction_state`` that are led here.

It gets producer ids before the rules need them and has markers written when an end is in the log.
Neither is decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from broker.coordinators.coordinator_log import CoordinatorLog, LogPorts
from broker.coordinators.marker_channels import MarkerChannels, MarkerPorts
from broker.coordinators.shard_host import HostPorts, ShardHost
from broker.coordinators.shards import Shards
from broker.core.transaction_state.begin import BeginAsked
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.marker_progress import MarkerProgress
from broker.core.transaction_state.shard import (
    Initialized,
    MarkersDue,
    TransactionLimits,
    TransactionShard,
)
from broker.engine.engine import Engine
from protocol.configs.parsing import BrokerConfig
from protocol.ids import NO_PRODUCER_ID
from protocol.topic_names import TRANSACTION_STATE


class Transactions:
    """The transactional ids whose coordinator this broker is."""

    def __init__(
        self,
        engine: Engine,
        config: BrokerConfig,
        logs: LogPorts,
        next_producer_id: Callable[[], Awaitable[int]],
        *,
        transaction_version: int,
    ) -> None:
        """Lead nothing yet: the engine's events must reach ``shards``.

        ``transaction_version`` is the finalized level of the feature.
        """
        state = engine.state
        limits = _limits(config)
        hosts = HostPorts(
            now_ms=state.now_ms,
            wall_ms=state.wall_ms,
            timeout_ms=config.request_timeout_ms,
            on_effect=self._on_effect,
        )
        markers = MarkerPorts(
            metadata=state.metadata,
            connect=state.ports.connect,
            request_timeout_ms=lambda: config.request_timeout_ms,
        )
        self.shards: Shards[TransactionShard] = Shards(
            TRANSACTION_STATE,
            state.metadata,
            lambda tp: CoordinatorLog(tp, logs),
            lambda log: TransactionShard(limits, transaction_version, lambda: log.batch_bytes_max),
            hosts,
        )
        self._wall_ms = state.wall_ms
        self._retry_ms = markers.retry_ms
        self._next_producer_id = next_producer_id
        self._channels = MarkerChannels(markers)

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
            new_producer_id = await self._next_producer_id()
        answer: Initialized = await self.shards.ask(
            asked.transactional_id,
            lambda shard, waiter, _now_ms, wall_ms: shard.begin(
                waiter, asked, new_producer_id=new_producer_id, wall_ms=wall_ms
            ),
        )
        return answer

    async def end(self, transactional_id: str, asked: EndAsked) -> Initialized:
        """Commit or abort; answered when that is decided for good, before markers are written."""
        shard = self.shards.shard_of(transactional_id)
        new_producer_id = NO_PRODUCER_ID
        if shard.may_need_producer_id_to_end(transactional_id, asked):
            new_producer_id = await self._next_producer_id()
        answer: Initialized = await self.shards.ask(
            transactional_id,
            lambda shard, waiter, _now_ms, wall_ms: shard.end(
                waiter, transactional_id, asked, new_producer_id=new_producer_id, wall_ms=wall_ms
            ),
        )
        return answer

    def _on_effect(self, host: ShardHost[TransactionShard], due: MarkersDue) -> None:
        """Write the markers of a transaction whose end is in the log."""
        shard = host.shard
        progress = MarkerProgress(due, host.leader_epoch)
        self._channels.send(
            progress,
            on_done=lambda: self._complete(host, shard, due),
            is_wanted=lambda: host.holds(shard),
        )

    def _complete(
        self, host: ShardHost[TransactionShard], shard: TransactionShard, due: MarkersDue
    ) -> None:
        """Have a transaction completed that has all markers, as soon as the log takes records.

        One that is refused would be loaded anew, and write its markers again and again meanwhile.
        Source: TransactionMarkerChannelManager.tryAppendToLog.
        """
        if not host.holds(shard):
            return
        if host.takes_records:
            host.take(shard.markers_written(due, self._wall_ms()))
        else:
            delay_s = self._retry_ms / 1000
            asyncio.get_running_loop().call_later(delay_s, self._complete, host, shard, due)


def _limits(config: BrokerConfig) -> TransactionLimits:
    return TransactionLimits(
        timeout_ms_max=config.transaction_max_timeout_ms,
        id_expiration_ms=config.transactional_id_expiration_ms,
        abort_interval_ms=config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
        expiry_interval_ms=config.transaction_remove_expired_transaction_cleanup_interval_ms,
    )
