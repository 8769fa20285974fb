"""The engine: runs the rules of the core on log dirs and peers. The only writer of broker state.

It speaks no wire protocol and knows no handler; each concern is a module of its own, put together
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from broker.core.metadata_image import MetadataImage
from broker.engine.checkpoints import Checkpoints
from broker.engine.control import Control
from broker.engine.describe import Describe
from broker.engine.failures import Failures
from broker.engine.fetch import Fetches
from broker.engine.follower import Following
from broker.engine.moves import Moves
from broker.engine.offsets import Offsets
from broker.engine.produce import Produces
from broker.engine.state import EngineState
from broker.engine.types import (
    EngineGauges,
    EnginePorts,
    EpochAnswer,
    FetchParams,
    FetchPart,
    FetchResult,
    ListedOffset,
    LogDirDescription,
    ProducePart,
    ProduceResult,
)
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from protocol.configs import BrokerConfig
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from protocol.metric_rows import LogDirRow, ReplicaRow


class Engine:
    """All partitions of one broker.

    Order of calls: ``start`` once, ``run`` once, then anything; ``stop`` once at the end.
    """

    def __init__(
        self,
        *,
        broker_id: BrokerId,
        log_dirs: Sequence[LogDir],
        config: BrokerConfig,
        ports: EnginePorts,
    ) -> None: ...

    @property
    def metadata(self) -> MetadataImage:
        """What UpdateMetadata told; for Metadata answers and leader lookups."""
        ...

    async def start(self, loaded: Mapping[str, LoadedLogDir]) -> None:
        """Take over what was found on disk, by log dir path; a log dir not in it is offline."""

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Start replication, moves, checkpoints and Isr reports in ``task_group``."""

    async def stop(self) -> None:
        """Stop cleanly: flush, checkpoint and mark every good log dir."""

    async def produce(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> list[ProduceResult]: ...

    async def fetch(self, params: FetchParams, parts: Sequence[FetchPart]) -> list[FetchResult]: ...

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        *,
        current_leader_epoch: int,
        isolation_level: int,
        replica_id: int,
    ) -> ListedOffset: ...

    def offset_for_leader_epoch(
        self,
        tp: TopicPartition,
        *,
        current_leader_epoch: int,
        leader_epoch: int,
        replica_id: int,
    ) -> EpochAnswer: ...

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Expects ``topic_states`` filled; the answer has ``topics`` with topic names set too."""
        ...

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Expects ``topic_states`` filled (v3 layout)."""
        ...

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Expects ``topic_states`` filled."""
        ...

    async def alter_replica_log_dirs(
        self, parts: Sequence[tuple[TopicPartition, str]]
    ) -> dict[TopicPartition, ErrorCode]: ...

    async def describe_log_dirs(
        self, topics: Mapping[str, Sequence[int]] | None
    ) -> list[LogDirDescription]: ...

    def offline_directory_ids(self) -> list[bytes]: ...

    def topic_configs_changed(self, topics: Sequence[str]) -> None:
        """Read ``ports.topic_config`` again for the hosted partitions of these topics."""

    def gauges(self) -> EngineGauges: ...

    def log_dir_rows(self, at_ms: int) -> list[LogDirRow]: ...

    def replica_rows(self, at_ms: int) -> list[ReplicaRow]: ...
