"""The shards of one internal topic that this broker leads, and who is asked for which key."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, Generic

from broker.coordinators.coordinator_log import CoordinatorLog
from broker.coordinators.shard_host import Decide, HostPorts, ShardHost, ShardT
from broker.core.coordination import partition_for
from broker.core.metadata_image import MetadataImage
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

logger = logging.getLogger(__name__)


class Shards(Generic[ShardT]):
    """All partitions of ``topic`` that are led here."""

    def __init__(
        self,
        topic: str,
        metadata: MetadataImage,
        new_log: Callable[[TopicPartition], CoordinatorLog],
        new_shard: Callable[[CoordinatorLog], ShardT],
        ports: HostPorts,
    ) -> None:
        self.topic = topic
        self._metadata = metadata
        self._new_log = new_log
        self._new_shard = new_shard
        self._ports = ports
        self._hosts: dict[int, ShardHost[ShardT]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def run(self, tasks: asyncio.TaskGroup) -> None:
        """Have shards loaded and written by ``tasks``, from now on."""
        self._tasks = tasks

    # What the engine tells.

    def lead(self, tp: TopicPartition, leader_epoch: int) -> None:
        """Load a partition that this broker leads now."""
        if self._tasks is None:
            return  # It ends, or has not begun.
        host = self._hosts.get(tp.partition)
        if host is None:
            log = self._new_log(tp)
            host = ShardHost(tp, log, lambda: self._new_shard(log), self._ports)
            self._hosts[tp.partition] = host
            logger.debug("coordinator of %s: loading, leader epoch %d", tp, leader_epoch)
        host.begin(self._tasks, leader_epoch)

    def resign(self, tp: TopicPartition) -> None:
        """Forget a partition that this broker does not lead any more."""
        host = self._hosts.pop(tp.partition, None)
        if host is not None:
            logger.debug("coordinator of %s: unloaded", tp)
            host.end()

    def stop(self) -> None:
        """Answer all that wait: the broker ends."""
        self._tasks = None
        for host in self._hosts.values():
            host.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._hosts.clear()

    def transaction_ended(self, tp: TopicPartition, producer_id: int, *, is_commit: bool) -> None:
        """A marker is in a partition's log; who is still loading finds it there."""
        host = self._hosts.get(tp.partition)
        if host is not None and host.is_loaded:
            host.shard.replay_end(producer_id, is_commit=is_commit)

    # What is asked.

    def partition_of(self, key: str) -> TopicPartition:
        """Return where a key belongs.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE, the topic is not there.
        """
        topic = self._metadata.topic(self.topic)
        if topic is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return TopicPartition(self.topic, partition_for(key, len(topic.partitions)))

    async def ask(self, key: str, decide: Decide[ShardT], *, writes: bool = False) -> Any:
        """Have the shard of a key decide and return the answer.

        Raises:
            KafkaError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, or
                what ``decide`` raises.
        """
        return await self._host(key).ask(decide, writes=writes)

    def shard_of(self, key: str) -> ShardT:
        """Return the shard of a key, for questions that neither wait nor change anything.

        Raises:
            KafkaError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        return self._host(key).shard

    def hosts(self) -> Iterator[ShardHost[ShardT]]:
        """Give all that are led here, loaded or not."""
        yield from self._hosts.values()

    def shards(self) -> Iterator[ShardT]:
        """Give all that are led here, without those that could not be loaded.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, one is not loaded yet.
        """
        for host in self._hosts.values():
            if not host.is_unreadable:
                yield host.shard

    def _host(self, key: str) -> ShardHost[ShardT]:
        try:
            partition = self.partition_of(key).partition
        except KafkaError as error:
            raise KafkaError(ErrorCode.NOT_COORDINATOR) from error
        host = self._hosts.get(partition)
        if host is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return host
