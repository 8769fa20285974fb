"""Every election strategy over all small combinations."""

from __future__ import annotations

from itertools import product

import pytest

from controller.core.election import Elected, Strategy, elect, needs_unclean
from controller.core.records import (
    BrokerFenced,
    Leadership,
    LeadershipChanged,
    ReplicasProbed,
    ShutdownBegun,
)
from controller.core.state import ClusterState, Partition
from tests.controller.core.cluster import registered, topic_records, tp

T0 = tp("t-0")


def cluster(
    partition: Partition,
    *,
    dead: tuple[int, ...] = (),
    bad: tuple[int, ...] = (),
    shutting_down: tuple[int, ...] = (),
) -> ClusterState:
    """Brokers 1, 2, 3 and partition t-0; ``bad``: its log dir there is offline."""
    state = ClusterState()
    records = [
        *(record for broker_id in (1, 2, 3) for record in registered(broker_id, broker_id)),
        *topic_records("t", [partition]),
        *(BrokerFenced(broker_id) for broker_id in dead),
        *(ShutdownBegun(broker_id) for broker_id in shutting_down),
        *(ReplicasProbed(broker_id, (T0,), ()) for broker_id in bad),
    ]
    for record in records:
        record.apply(state)
    return state


def partition(isr: tuple[int, ...] = (1, 2, 3), leader: int = 1) -> Partition:
    return Partition(
        replicas=(1, 2, 3),
        leader=leader,
        leader_epoch=7,
        isr=isr,
        partition_epoch=9,
        controller_epoch=1,
    )


def run(state: ClusterState, strategy: Strategy, *, unclean: bool = False) -> Elected | None:
    return elect(state, T0, strategy, is_unclean_allowed=unclean)


def outcome(elected: Elected | None) -> tuple[int, tuple[int, ...]] | None:
    return None if elected is None else (elected.partition.leader, elected.partition.isr)


@pytest.mark.scenario(167, 174)
def test_offline_takes_the_first_online_isr_member_of_the_assignment() -> None:
    assert outcome(run(cluster(partition(), dead=(1,)), Strategy.OFFLINE)) == (2, (2, 3))
    assert outcome(run(cluster(partition((3, 1)), bad=(1,)), Strategy.OFFLINE)) == (3, (3,))


@pytest.mark.scenario(167, 175)
def test_offline_without_an_online_isr_member_is_unclean_or_nothing() -> None:
    state = cluster(partition((1,)), bad=(1,))

    assert needs_unclean(state, T0)
    assert run(state, Strategy.OFFLINE) is None
    elected = run(state, Strategy.OFFLINE, unclean=True)
    assert outcome(elected) == (2, (2,))
    assert elected is not None
    assert elected.is_unclean
    assert elected.partition.is_recovering


def test_an_unclean_election_needs_an_online_replica() -> None:
    state = cluster(partition((1,)), dead=(1, 3), bad=(2,))
    assert run(state, Strategy.OFFLINE_UNCLEAN, unclean=True) is None


@pytest.mark.scenario(167)
@pytest.mark.parametrize(("is_online", "in_isr"), list(product((True, False), repeat=2)))
def test_preferred_wants_the_head_online_and_in_the_isr(*, is_online: bool, in_isr: bool) -> None:
    isr = (3, 2, 1) if in_isr else (3, 2)
    state = cluster(partition(isr, leader=3), bad=() if is_online else (1,))

    elected = run(state, Strategy.PREFERRED)

    assert outcome(elected) == ((1, isr) if is_online and in_isr else None)


@pytest.mark.scenario(167)
def test_reassign_elects_among_the_targets_and_keeps_the_isr() -> None:
    moving = Partition(
        replicas=(2, 3, 1),
        removing_replicas=(1,),
        leader=1,
        leader_epoch=7,
        isr=(1, 3),
        partition_epoch=9,
    )
    state = ClusterState()
    for record in (*registered(1, 1), *registered(2, 2), *registered(3, 3)):
        record.apply(state)
    for record in topic_records("t", [moving]):
        record.apply(state)
    state.topics["t"].partitions[0] = moving

    elected = run(state, Strategy.REASSIGN)

    assert outcome(elected) == (3, (1, 3))
    assert elected is not None
    assert elected.recipients == (2, 3)
    state.topics["t"].partitions[0] = Partition(
        replicas=(2, 3), leader=1, leader_epoch=7, isr=(), partition_epoch=9
    )
    assert run(state, Strategy.REASSIGN) is None


@pytest.mark.scenario(167)
def test_controlled_shutdown_moves_to_a_broker_that_stays() -> None:
    elected = run(cluster(partition(), shutting_down=(1,)), Strategy.CONTROLLED_SHUTDOWN)

    assert outcome(elected) == (2, (2, 3))
    assert elected is not None
    assert elected.recipients == (1, 2, 3)
    last = cluster(partition((1,)), shutting_down=(1,))
    assert run(last, Strategy.CONTROLLED_SHUTDOWN) is None
    everyone = cluster(partition(), shutting_down=(1, 2, 3))
    assert run(everyone, Strategy.CONTROLLED_SHUTDOWN) is None


def test_controlled_shutdown_skips_replicas_on_offline_log_dirs() -> None:
    state = cluster(partition(), bad=(2,), shutting_down=(1,))

    elected = run(state, Strategy.CONTROLLED_SHUTDOWN)

    assert outcome(elected) == (3, (2, 3))
    assert elected is not None
    assert elected.recipients == (1, 3)


@pytest.mark.scenario(255, 261)
def test_no_strategy_elects_an_offline_replica_or_skips_an_epoch() -> None:
    isrs = [(1,), (2,), (1, 2), (2, 3), (3, 1), (1, 2, 3)]
    flags = list(product((True, False), repeat=3))
    for isr, dead, bad, leaving in product(isrs, flags, flags, flags):
        state = cluster(
            partition(isr),
            dead=tuple(b for b, flag in zip((1, 2, 3), dead, strict=True) if flag),
            bad=tuple(
                b for b, flag, gone in zip((1, 2, 3), bad, dead, strict=True) if flag and not gone
            ),
            shutting_down=tuple(
                b
                for b, flag, gone in zip((1, 2, 3), leaving, dead, strict=True)
                if flag and not gone
            ),
        )
        for strategy, unclean in product(Strategy, (True, False)):
            elected = run(state, strategy, unclean=unclean)
            if elected is None:
                continue
            assert state.is_replica_online(T0, elected.partition.leader)
            assert elected.partition.leader in elected.partition.isr
            assert elected.partition.leader_epoch == 8
            if not elected.is_unclean:
                assert all(member in isr for member in elected.partition.isr)


def test_recovery_is_kept_by_a_clean_election() -> None:
    state = cluster(partition((2,)), dead=(1,))
    LeadershipChanged((Leadership("t", 0, -1, 7, (2,), 9, 1, is_recovering=True),)).apply(state)

    elected = run(state, Strategy.OFFLINE)

    assert elected is not None
    assert elected.partition.is_recovering
