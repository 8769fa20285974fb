"""Where new replicas go: spread over brokers and racks as Kafka does. It chooses no log dir.

Source: AdminUtils.scala assignReplicasToBrokers (3.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from controller.core.state import ClusterState
from protocol.errors import ErrorCode, KafkaError

PARTITIONS_PER_REQUEST_MAX: Final = 10_000
"""Kafka's bound since 4.0: one request keeps the controller from nobody else for long."""


class RandomSource(Protocol):
    """The part of ``random.Random`` that the controller draws from."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 to ``stop`` - 1."""
        ...

    def randbytes(self, n: int, /) -> bytes:
        """Return ``n`` random bytes."""
        ...


class UsableBroker(NamedTuple):
    """A broker that may take replicas."""

    broker_id: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class Start:
    """Where the round robin begins."""

    index: int
    """Of the first leader's broker, for partition 0."""
    shift: int
    """Distance of the followers; grows with each round."""
    partition: int
    """Number of the first new partition."""


def start_for_new_topic(candidates: Sequence[UsableBroker], chance: RandomSource) -> Start:
    """Draw where a new topic begins."""
    return Start(chance.randrange(len(candidates)), chance.randrange(len(candidates)), 0)


def start_for_growth(
    candidates: Sequence[UsableBroker], first_leader: int, partition: int
) -> Start:
    """Continue a topic whose partition 0 prefers ``first_leader``, at number ``partition``.

    Source: AdminZkClient.addPartitions.
    """
    index = next(
        (i for i, candidate in enumerate(candidates) if candidate.broker_id >= first_leader), 0
    )
    return Start(index, index, partition)


def check_total(partitions: int) -> None:
    """Check how many partitions one request makes, all its topics together.

    Raises:
        KafkaError: POLICY_VIOLATION, for the request as a whole.

    Source: ReplicationControlManager.java validateTotalNumberOfPartitions; KAFKA-17870, 19673.
    """
    if partitions > PARTITIONS_PER_REQUEST_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )


def check_counts(partitions: int, replication_factor: int, candidate_count: int) -> None:
    """Check that the wanted numbers can be placed.

    Raises:
        KafkaError: INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR.
    """
    if partitions <= 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."
        )
    if replication_factor <= 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."
        )
    if replication_factor > candidate_count:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers: "
            f"{candidate_count}.",
        )


def check_room(state: ClusterState, broker_ids: Iterable[int]) -> None:
    """Check that brokers which were chosen by hand can take new replicas; all are registered.

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT.

    Source: KIP-1066, KAFKA-20832.
    """
    full = sorted({b for b in broker_ids if not state.brokers[b].has_room})
    if full:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Replica assignment has brokers whose log dirs are all cordoned or offline: "
            f"{', '.join(map(str, full))}",
        )


def place(
    candidates: Sequence[UsableBroker], partitions: int, replication_factor: int, start: Start
) -> list[tuple[int, ...]]:
    """Return the replicas of each new partition; the first one is the preferred leader.

    Args:
        candidates: sorted by broker id, at least ``replication_factor`` of them (``check_counts``).
        partitions: how many.
        replication_factor: at least 1.
        start: where to begin.

    Raises:
        KafkaError: UNKNOWN_SERVER_ERROR, when only some brokers have a rack.
    """
    if all(candidate.rack is None for candidate in candidates):
        brokers = [candidate.broker_id for candidate in candidates]
        pick = _spread
    else:
        brokers = _alternate_racks(candidates)
        pick = _spread_over_racks
    rack_of = {candidate.broker_id: candidate.rack or "" for candidate in candidates}
    return [
        pick(brokers, rack_of, replication_factor, first, shift)
        for first, shift in _rounds(len(brokers), partitions, start)
    ]


def _rounds(broker_count: int, partitions: int, start: Start) -> Iterator[tuple[int, int]]:
    """Give the index of the leader and the shift of the followers for each partition."""
    shift = start.shift
    for number in range(start.partition, start.partition + partitions):
        if number > 0 and number % broker_count == 0:
            shift += 1
        yield (number + start.index) % broker_count, shift


def _spread(
    brokers: list[int], _rack_of: dict[int, str], replication_factor: int, first: int, shift: int
) -> tuple[int, ...]:
    followers = (
        brokers[_follower_index(first, shift, number, len(brokers))]
        for number in range(replication_factor - 1)
    )
    return (brokers[first], *followers)


def _spread_over_racks(
    brokers: list[int], rack_of: dict[int, str], replication_factor: int, first: int, shift: int
) -> tuple[int, ...]:
    """Skip racks that have a replica while another has none; then only brokers that have one."""
    rack_count = len(set(rack_of.values()))
    chosen = [brokers[first]]
    racks = {rack_of[brokers[first]]: None}
    number = 0
    while len(chosen) < replication_factor:
        index = _follower_index(first, shift * rack_count, number, len(brokers))
        broker_id = brokers[index]
        number += 1
        is_new_rack = rack_of[broker_id] not in racks or len(racks) == rack_count
        if is_new_rack and broker_id not in chosen:
            chosen.append(broker_id)
            racks[rack_of[broker_id]] = None
    return tuple(chosen)


def _follower_index(first: int, shift: int, number: int, broker_count: int) -> int:
    return (first + 1 + (shift + number) % (broker_count - 1)) % broker_count


def _alternate_racks(candidates: Sequence[UsableBroker]) -> list[int]:
    """Deal the brokers out rack by rack: racks by name, brokers by id."""
    by_rack: dict[str, list[int]] = {}
    for candidate in sorted(candidates):
        if candidate.rack is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                "Not all brokers have rack information for replica rack aware assignment.",
            )
        by_rack.setdefault(candidate.rack, []).append(candidate.broker_id)
    racks = [by_rack[rack] for rack in sorted(by_rack)]
    depth = max(len(rack) for rack in racks)
    return [rack[level] for level in range(depth) for rack in racks if level < len(rack)]
