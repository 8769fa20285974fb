"""The coordinators of one broker, made, started and stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from broker.coordinators.coordinator_log import log_ports
from broker.coordinators.groups import GroupShards, group_shards
from broker.coordinators.transactions import Transactions
from broker.coordinators.verifier import Verifier, make_verifier
from broker.engine.engine import Engine
from broker.record_turns import RecordTurns
from protocol.configs.group import GroupConfig
from protocol.configs.parsing import BrokerConfig, TopicConfig
from protocol.features import TRANSACTION_VERSION, finalized_level
from protocol.records.batch import Compression


@dataclass(frozen=True, slots=True)
class Coordinators:
    """``run`` once, then ``stop`` once; the engine's events must reach the shards of both."""

    groups: GroupShards
    transactions: Transactions
    verifier: Verifier

    def run(self, tasks: asyncio.TaskGroup) -> None:
        """Work by ``tasks`` from now on."""
        self.groups.run(tasks)
        self.transactions.run(tasks)
        self.verifier.run(tasks)

    def stop(self) -> None:
        """Answer all that wait: the broker ends."""
        self.groups.stop()
        self.transactions.stop()
        self.verifier.stop()


class ResourceConfigs(NamedTuple):
    """Give what something of a name is configured to, now."""

    of_topic: Callable[[str], TopicConfig]
    of_group: Callable[[str], GroupConfig] | None = None
    """None: all groups have the broker's defaults."""


def make_coordinators(
    engine: Engine,
    config: BrokerConfig,
    *,
    record_turns: RecordTurns,
    configs: ResourceConfigs,
    next_producer_id: Callable[[], Awaitable[int]],
    cluster_release: str | None,
) -> Coordinators:
    """Make them over the logs of the engine; features are those of ``cluster_release``."""
    transaction_version = finalized_level(cluster_release, TRANSACTION_VERSION)
    group_logs = log_ports(
        engine,
        record_turns=record_turns,
        topic_config=configs.of_topic,
        compression=Compression(config.offsets_topic_compression_codec),
        load_bytes_max=config.offsets_load_buffer_size,
    )
    transaction_logs = log_ports(
        engine,
        record_turns=record_turns,
        topic_config=configs.of_topic,
        compression=Compression.NONE,
        load_bytes_max=config.transaction_state_log_load_buffer_size,
    )
    return Coordinators(
        group_shards(engine, config, group_logs, configs.of_group, cluster_release=cluster_release),
        Transactions(
            engine,
            config,
            transaction_logs,
            next_producer_id,
            transaction_version=transaction_version,
        ),
        make_verifier(engine, config),
    )
