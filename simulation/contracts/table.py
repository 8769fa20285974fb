"""All contracts, in the order of their modules."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Final, cast

from simulation.contracts.broker import (
    answering,
    answers,
    control,
    deleting,
    engine,
    fetching,
    following,
    hosted_logs,
    hosting,
    isr,
    metadata,
    moves,
    partition,
    placing,
    rebuilding,
    serving,
    throttling,
    waiting,
    written_down,
)
from simulation.contracts.contract import Contract
from simulation.contracts.controller import (
    asked_elections,
    broker_lives,
    broker_records,
    config_changes,
    controller_steps,
    elections,
    failovers,
    first_hearing,
    hearing_of,
    isr_changes,
    patience,
    reassignments,
    record_promises,
    replicas,
    telling,
    throttles_of_moves,
    topic_lives,
    topic_records,
)
from simulation.contracts.coordinators import (
    assigning,
    classic_group,
    classic_members,
    classic_requests,
    consumer_group,
    consumer_heartbeats,
    consumer_lives,
    group_offsets,
    group_shard,
    joins,
    loading,
    rebalances,
    reconciling,
    shard_hosts,
    transaction_shard,
    transactional_ids,
)
from simulation.contracts.logs import (
    appending,
    cleaning,
    compaction,
    leader_epochs,
    producer_memory,
    producers,
    retention,
    tails,
    transactions,
    verifications,
    verifying,
)
from simulation.contracts.storage import durable, opened, reading

_MODULES: Final = (
    answering,
    answers,
    appending,
    asked_elections,
    assigning,
    broker_lives,
    broker_records,
    classic_group,
    classic_members,
    classic_requests,
    cleaning,
    compaction,
    config_changes,
    consumer_group,
    consumer_heartbeats,
    consumer_lives,
    control,
    controller_steps,
    deleting,
    durable,
    elections,
    engine,
    failovers,
    fetching,
    first_hearing,
    following,
    group_offsets,
    group_shard,
    hearing_of,
    hosted_logs,
    hosting,
    isr,
    isr_changes,
    joins,
    leader_epochs,
    loading,
    metadata,
    moves,
    opened,
    partition,
    patience,
    placing,
    producer_memory,
    producers,
    reading,
    reassignments,
    rebalances,
    rebuilding,
    reconciling,
    record_promises,
    replicas,
    retention,
    serving,
    shard_hosts,
    tails,
    telling,
    throttles_of_moves,
    throttling,
    topic_lives,
    topic_records,
    transaction_shard,
    transactional_ids,
    transactions,
    verifications,
    verifying,
    waiting,
    written_down,
)


def _contracts_of(module: ModuleType) -> Iterator[Contract]:
    for value in vars(module).values():
        if isinstance(value, Contract):
            yield value
        elif isinstance(value, tuple):
            several = cast("tuple[object, ...]", value)
            yield from (each for each in several if isinstance(each, Contract))


CONTRACTS: Final = tuple(each for module in _MODULES for each in _contracts_of(module))
