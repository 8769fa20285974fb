"""The coordinator of groups, put together: `__consumer_offsets` on the logs of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from broker.coordinators.coordinator_log import CoordinatorLog, LogPorts
from broker.coordinators.shard_host import HostPorts
from broker.coordinators.shards import Shards
from broker.core.groups.group_shard import GroupShard
from broker.engine.engine import Engine
from protocol.configs.coordination import CoordinationConfig
from protocol.configs.group import GroupConfig
from protocol.ids import TopicPartition
from protocol.releases import shows
from protocol.topic_names import CONSUMER_OFFSETS

GroupShards: TypeAlias = Shards[GroupShard]
"""What handlers ask."""
_EMPTIES_STAY_SINCE: Final = "4.0"
"""A group that lost its last offset is there until the next look for expired ones."""


def group_shards(
    engine: Engine,
    config: CoordinationConfig,
    logs: LogPorts,
    group_config: Callable[[str], GroupConfig] | None,
    *,
    cluster_release: str | None = None,
) -> GroupShards:
    """Return the coordinator of groups; the engine's events must reach it."""
    state = engine.state
    ports = HostPorts(
        now_ms=state.now_ms,
        wall_ms=state.wall_ms,
        timeout_ms=config.offsets_commit_timeout_ms,
    )
    return Shards(
        CONSUMER_OFFSETS,
        state.metadata,
        lambda tp: CoordinatorLog(tp, logs),
        lambda log: GroupShard(
            config,
            lambda: log.batch_bytes_max,
            state.metadata,
            group_config,
            empties_stay=shows(cluster_release, _EMPTIES_STAY_SINCE),
        ),
        ports,
    )


class CoordinatorRelay:
    """What the engine tells coordinators."""

    def __init__(
        self, groups: Callable[[], GroupShards], *others: Callable[[], Shards[Any]]
    ) -> None:
        """All are asked when the first event comes."""
        self._groups = groups
        self._others = others

    def leads_internal(self, tp: TopicPartition, leader_epoch: int) -> None:
        """Load what is a coordinator's."""
        for shards in self._of(tp):
            shards.lead(tp, leader_epoch)

    def leads_internal_no_more(self, tp: TopicPartition) -> None:
        """Unload it."""
        for shards in self._of(tp):
            shards.resign(tp)

    def _of(self, tp: TopicPartition) -> list[Shards[Any]]:
        asked = [ask() for ask in (self._groups, *self._others)]
        return [shards for shards in asked if shards.topic == tp.topic]

    def partitions_deleted(self, tps: Sequence[TopicPartition]) -> None:
        """Forget the groups' offsets in partitions that are no more."""
        for host in self._groups().hosts():
            if host.is_loaded:
                for decided in host.shard.partitions_deleted(tps):
                    host.take(decided)
