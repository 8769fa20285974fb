"""Looks at a cluster: asks each running broker what a condition needs. Judges nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from protocol.admin.cluster import PartitionView
from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.faults.model import broker_node
from protocol.ids import TopicPartition
from protocol.messages.offsets import EARLIEST, LATEST
from simulation.cluster_instance import ClusterInstance, ClusterInstanceError
from simulation.core.needs import Need
from simulation.core.observation import (
    LogDirName,
    Observation,
    ObservedLogDir,
    ObservedNode,
    ObservedOffsets,
    ObservedPartition,
    ObservedReplica,
    ObservedWorkload,
)
from simulation.workload.clients import ClusterClient
from simulation.workload.questions import (
    list_offsets,
    log_dirs,
    reassignments,
)

_Answer = TypeVar("_Answer")
_NO_ANSWER: Final = (OSError, Malformed, KafkaError, ClusterInstanceError)


class Observer:
    """Makes observations."""

    def __init__(
        self,
        cluster: ClusterInstance,
        client: ClusterClient,
        workloads: Callable[[], Mapping[str, ObservedWorkload]],
    ) -> None:
        self._cluster = cluster
        self._client = client
        self._workloads = workloads
        spec = cluster.spec
        self._broker_ids = [broker.id for broker in spec.brokers]
        self._log_dir_names = {
            (broker.id, log_dir.path): f"d{number}"
            for broker in spec.brokers
            for number, log_dir in enumerate(broker.log_dirs, start=1)
        }

    async def observe(self, needs: Collection[Need]) -> Observation:
        """Ask for ``needs``; a broker that does not answer in time is left out."""
        metadata = await self._metadata() if _WITH_METADATA.intersection(needs) else {}
        dirs = await self._log_dirs() if Need.LOG_DIRS in needs else {}
        return Observation(
            now_ms=self._cluster.now_ms(),
            metadata=metadata,
            log_dirs=dirs,
            reassigning=await self._reassigning() if Need.REASSIGNMENTS in needs else None,
            offsets=await self._offsets(metadata) if Need.OFFSETS in needs else {},
            files=await self._files() if Need.FILES in needs else {},
            workloads=self._workloads(),
            nodes=self._nodes(),
            metrics=await self._metrics() if Need.METRICS in needs else {},
            fault_hits=await self._cluster.fault_hits() if Need.FAULT_HITS in needs else {},
        )

    def _nodes(self) -> dict[str, ObservedNode]:
        names = ["controller", *(broker_node(broker) for broker in self._broker_ids)]
        return {name: self._cluster.node(name) for name in names}

    async def _metadata(self) -> dict[int, Mapping[TopicPartition, ObservedPartition]]:
        views = await self._of_each(self._client.view_of)
        return {
            broker: {tp: _partition(seen) for tp, seen in view.by_partition.items()}
            for broker, view in views.items()
        }

    async def _log_dirs(self) -> dict[LogDirName, ObservedLogDir]:
        answers = await self._of_each(lambda broker: log_dirs(self._client, broker))
        return {
            (broker, self._log_dir_names[broker, each.path]): _log_dir(each)
            for broker, dirs in answers.items()
            for each in dirs
            if (broker, each.path) in self._log_dir_names
        }

    async def _files(self) -> dict[LogDirName, Mapping[str, str]]:
        return {
            (broker, name): await self._cluster.files(broker, path)
            for (broker, path), name in self._log_dir_names.items()
        }

    async def _reassigning(self) -> tuple[TopicPartition, ...] | None:
        try:
            return tuple(sorted(each.tp for each in await reassignments(self._client)))
        except _NO_ANSWER:
            return None

    async def _offsets(
        self, metadata: Mapping[int, Mapping[TopicPartition, ObservedPartition]]
    ) -> dict[TopicPartition, ObservedOffsets]:
        leaders = {tp: seen.leader for view in metadata.values() for tp, seen in view.items()}
        led = {
            broker: sorted(tp for tp, leader in leaders.items() if leader == broker)
            for broker in self._broker_ids
        }
        earliest = await self._offsets_at(led, EARLIEST)
        latest = await self._offsets_at(led, LATEST)
        return {
            tp: ObservedOffsets(earliest=offset, latest=latest[tp])
            for tp, offset in sorted(earliest.items())
            if tp in latest
        }

    async def _offsets_at(
        self, led: Mapping[int, Sequence[TopicPartition]], timestamp: int
    ) -> dict[TopicPartition, int]:
        answers = await self._of_each(
            lambda broker: list_offsets(self._client, broker, led[broker], timestamp)
        )
        return {
            tp: offset
            for found in answers.values()
            for tp, offset in found.items()
            if not isinstance(offset, ErrorCode)
        }

    async def _metrics(self) -> dict[tuple[str, str], float]:
        answers = await self._of_each(self._cluster.metrics)
        return {
            (broker_node(broker), self._without_paths(broker, name)): value
            for broker, found in answers.items()
            for name, value in found.items()
        }

    def _without_paths(self, broker: int, metric: str) -> str:
        """Name a log dir in a label as the plan does."""
        for (owner, path), name in self._log_dir_names.items():
            if owner == broker:
                metric = metric.replace(f'"{path}"', f'"{name}"')
        return metric

    async def _of_each(self, ask: Callable[[int], Awaitable[_Answer]]) -> dict[int, _Answer]:
        """Ask all running brokers at once; return the answers in the order of the ids."""
        running = [
            broker
            for broker in self._broker_ids
            if self._cluster.node(broker_node(broker)).state == "running"
        ]
        answers: dict[int, _Answer] = {}

        async def ask_one(broker: int) -> None:
            try:
                answers[broker] = await ask(broker)
            except _NO_ANSWER:
                return

        async with asyncio.TaskGroup() as group:
            for broker in running:
                group.create_task(ask_one(broker), name=f"look at broker-{broker}")
        return {broker: answers[broker] for broker in running if broker in answers}


_WITH_METADATA: Final = frozenset({Need.METADATA, Need.OFFSETS})


def _partition(seen: PartitionView) -> ObservedPartition:
    return ObservedPartition(
        leader=seen.leader,
        leader_epoch=seen.leader_epoch,
        replicas=seen.replicas,
        isr=seen.isr,
        offline_replicas=seen.offline_replicas,
    )


def _log_dir(seen: LogDirView) -> ObservedLogDir:
    return ObservedLogDir(
        error=ErrorCode(seen.error_code).name,
        is_cordoned=seen.is_cordoned,
        replicas={each.tp: _replica(each) for each in seen.replicas if not each.is_future},
        futures={each.tp: _replica(each) for each in seen.replicas if each.is_future},
    )


def _replica(seen: ReplicaView) -> ObservedReplica:
    return ObservedReplica(size_bytes=seen.size_bytes, offset_lag=seen.offset_lag)
