"""Producers that contend for transactional ids as they are drawn, and what comes between."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from protocol.configs.parsing import config_mistakes
from protocol.configs.topic import TOPIC_KEYS
from protocol.faults.model import CONTROLLER_NODE, DiskFault, NetworkFault, NetworkMode
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core.actions import Clear, DeleteRecords, ElectLeaders, Fault, Start
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_contenders import (
    ACCOUNTS,
    CUTS,
    LATE_WORD,
    NAME,
    SLOW_LOAD,
    contenders_lanes,
    with_contenders,
)
from simulation.core.draw_coordination import LEDGER, Coordinated, with_transactions
from simulation.core.draw_faults import FaultScope
from simulation.core.plan import ClusterPlan, Workload

SEEDS = range(80)


def alone(seed: int) -> Coordinated:
    return Coordinated(*with_contenders(Random(seed), draw_cluster(Random(seed)), ()))


def beside(seed: int) -> Coordinated:
    dice = Random(seed)
    return Coordinated(*with_contenders(dice, *with_transactions(dice, draw_cluster(dice), ())))


def contenders_of(workloads: tuple[Workload, ...]) -> Workload:
    (found,) = [one for one in workloads if one.kind == "contend"]
    return found


def topics_of(cluster: ClusterPlan) -> list[str]:
    return [topic.name for topic in cluster.topics]


def test_they_have_both_coordinators_and_a_topic_that_somebody_reads() -> None:
    for seed in SEEDS:
        cluster, workloads = alone(seed)
        assert {TRANSACTION_STATE, CONSUMER_OFFSETS, ACCOUNTS} <= {*topics_of(cluster)}
        contenders = contenders_of(workloads)
        assert (contenders.name, contenders.topic) == (NAME, ACCOUNTS)
        assert [one.topic for one in workloads if one.read_committed] == [ACCOUNTS]


def test_beside_transactions_they_share_their_topic_or_have_one_of_their_own() -> None:
    shared = 0
    for seed in SEEDS:
        cluster, workloads = beside(seed)
        is_shared = contenders_of(workloads).topic == LEDGER
        shared += is_shared
        assert (ACCOUNTS in topics_of(cluster)) is not is_shared
        assert len(topics_of(cluster)) == len({*topics_of(cluster)})
    assert len(SEEDS) * 0.3 < shared < len(SEEDS) * 0.7


def test_records_have_keys_where_and_only_where_their_topic_is_compacted() -> None:
    compacted = single = 0
    for seed in SEEDS:
        cluster, workloads = alone(seed)
        (accounts,) = [topic for topic in cluster.topics if topic.name == ACCOUNTS]
        assert config_mistakes(TOPIC_KEYS, accounts.configs) == []
        is_compacted = "cleanup.policy" in accounts.configs
        assert bool(contenders_of(workloads).keys) is is_compacted
        needed = int(accounts.configs["min.insync.replicas"])
        assert needed <= accounts.replication_factor
        compacted += is_compacted
        single += accounts.replication_factor == 1
    assert len(SEEDS) * 0.3 < compacted < len(SEEDS) * 0.7
    assert single > len(SEEDS) * 0.1


def test_each_of_four_things_comes_between_in_order_of_time() -> None:
    seen: dict[str, int] = {}
    for seed in SEEDS:
        cluster, workloads = alone(seed)
        (lane,) = contenders_lanes(Random(seed), FaultScope(cluster, 5_000), workloads)
        times = [timed.at_ms for timed in lane]
        assert times == sorted(times)
        assert times[-1] <= 5_000
        done = [timed.action for timed in lane]
        broken = [one for one in done if isinstance(one, Fault)]
        cleared = [one.fault for one in done if isinstance(one, Clear)]
        assert sorted(fault.name for fault in broken) == sorted(cleared)
        assert any(isinstance(one, ElectLeaders) for one in done)
        seen[_kind(broken, done)] = seen.get(_kind(broken, done), 0) + 1
    assert {*seen} == {"cut", "slow", "late", "anew"}
    assert all(count > len(SEEDS) * 0.05 for count in seen.values())


def _kind(broken: Sequence[Fault], done: Sequence[object]) -> str:
    if not broken:
        assert any(isinstance(one, DeleteRecords) for one in done)
        assert any(isinstance(one, Start) for one in done)
        return "anew"
    rule = broken[0].rule
    if isinstance(rule, DiskFault):
        assert broken[0].name == SLOW_LOAD
        return "slow"
    assert isinstance(rule, NetworkFault)
    if rule.mode is NetworkMode.CUT:
        assert all(fault.name.startswith(CUTS) for fault in broken)
        return "cut"
    assert (broken[0].name, rule.source) == (LATE_WORD, CONTROLLER_NODE)
    return "late"


def test_in_a_small_cluster_a_broker_is_away() -> None:
    cluster, workloads = with_contenders(Random(1), ClusterPlan(brokers=1), ())
    (lane,) = contenders_lanes(Random(1), FaultScope(cluster, 5_000), workloads)
    assert any(isinstance(timed.action, Start) for timed in lane)
