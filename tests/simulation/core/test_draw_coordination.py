"""Groups and transactions as they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from protocol.configs.parsing import config_mistakes
from protocol.configs.topic import TOPIC_KEYS
from protocol.faults.model import NetworkFault, broker_node
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core.actions import Clear, Fault, Reassign, StopWorkload
from simulation.core.draw import draw_plan
from simulation.core.draw_cluster import TOPIC_NAMES, draw_cluster
from simulation.core.draw_coordination import (
    GROUPS_FOLLOWERS,
    MARKERS_FAULT,
    STATE_FAULT,
    TRANSACTIONS_FOLLOWERS,
    Coordinated,
    groups_lanes,
    plain_topics,
    transactions_lanes,
    with_groups,
    with_transactions,
)
from simulation.core.draw_faults import FaultScope
from simulation.core.features import Situation, draw_features
from simulation.core.planned_situations import timed_actions
from simulation.core.restless_classic import SESSION_TIMEOUTS_MS
from simulation.workload.restless_members import GROUP_CONFIGS
from tests.simulation.core.streams import streams_of

SEEDS = range(30)


def groups_of(seed: int) -> Coordinated:
    return with_groups(Random(seed), draw_cluster(Random(seed)), ())


def transactions_of(seed: int) -> Coordinated:
    return with_transactions(Random(seed), draw_cluster(Random(seed)), ())


@pytest.mark.parametrize("draw", [groups_of, transactions_of])
def test_coordinators_topics_are_small_compacted_and_on_several_brokers(
    draw: Callable[[int], Coordinated],
) -> None:
    for seed in SEEDS:
        cluster = draw(seed).cluster
        internal = [topic for topic in cluster.topics if topic.name.startswith("__")]
        assert internal
        for topic in internal:
            assert (topic.partitions, topic.replication_factor) == (1, 3)
            assert topic.configs["cleanup.policy"] == "compact"
        for topic in cluster.topics:
            assert config_mistakes(TOPIC_KEYS, topic.configs) == []


def test_one_to_three_members_share_a_topic_and_the_first_stays() -> None:
    counts: dict[int, None] = {}
    for seed in SEEDS:
        cluster, workloads = groups_of(seed)
        members = [one for one in workloads if one.group == "members"]
        counts[len(members)] = None
        assert members[0].begins
        lanes = groups_lanes(Random(seed), FaultScope(cluster, 5_000), workloads)
        stopped = [
            timed.action.workload
            for lane in lanes
            for timed in lane
            if isinstance(timed.action, StopWorkload)
        ]
        assert members[0].name not in stopped
        assert all(name in [one.name for one in members] for name in stopped)
    assert sorted(counts) == [1, 2, 3]


def test_offsets_of_a_group_of_its_own_are_administered_in_some_plans() -> None:
    drawn = [one for seed in SEEDS for one in groups_of(seed).workloads if one.kind == "administer"]
    assert 0 < len(drawn) < len(SEEDS)
    assert {(one.topic, one.group) for one in drawn} == {("shared", "administered")}


def test_one_group_is_restless_wherever_there_is_a_coordinator_of_groups() -> None:
    for seed in SEEDS:
        for cluster, workloads in (groups_of(seed), transactions_of(seed)):
            has_coordinator = CONSUMER_OFFSETS in [topic.name for topic in cluster.topics]
            restless = [one for one in workloads if one.kind == "regroup"]
            assert len(restless) == has_coordinator
            assert all(one.into == cluster.topics[0].name != one.topic for one in restless)
            for name in ("session.timeout.ms", "heartbeat.interval.ms"):
                smallest = int(cluster.configs[f"group.consumer.min.{name}"])
                assert smallest <= min(
                    int(each.get(f"consumer.{name}", smallest)) for each in GROUP_CONFIGS
                )
            assert int(cluster.configs["group.min.session.timeout.ms"]) <= min(SESSION_TIMEOUTS_MS)


def test_what_is_committed_is_read_or_transformed_and_its_results_read() -> None:
    kinds: dict[str, None] = {}
    for seed in SEEDS:
        cluster, workloads = transactions_of(seed)
        names = [topic.name for topic in cluster.topics]
        assert TRANSACTION_STATE in names
        for one in workloads:
            kinds[one.kind] = None
            assert one.topic in names
            assert one.into is None or one.into in names
        is_transformed = any(one.kind == "transform" for one in workloads)
        assert (CONSUMER_OFFSETS in names) is is_transformed
    assert sorted(kinds) == ["consume", "produce", "regroup", "transform"]


def test_a_coordinator_s_disk_breaks_or_markers_or_followers_are_late_in_order_of_time() -> None:
    modes: dict[str, None] = {}
    for seed in SEEDS:
        cluster, workloads = transactions_of(seed)
        scope = FaultScope(cluster, 5_000)
        (lane,) = transactions_lanes(Random(seed), scope, workloads)
        times = [timed.at_ms for timed in lane]
        assert times == sorted(times)
        assert times[-1] <= 5_000
        broken = [timed.action for timed in lane if isinstance(timed.action, Fault)]
        modes.update((fault.name, None) for fault in broken)
        assert [Clear(fault.name, once_met=True) for fault in broken] == [
            timed.action for timed in lane if isinstance(timed.action, Clear)
        ]
    assert sorted(modes) == sorted([MARKERS_FAULT, STATE_FAULT, *TRANSACTIONS_FOLLOWERS])


def test_followers_that_hear_nothing_are_elected_at_times_while_they_are_in_the_isr() -> None:
    elected = 0
    for seed in range(200):
        cluster, workloads = groups_of(seed)
        for lane in groups_lanes(Random(seed), FaultScope(cluster, 5_000), workloads):
            cuts = {
                timed.action.rule.target: timed.at_ms
                for timed in lane
                if isinstance(timed.action, Fault)
                and timed.action.name in GROUPS_FOLLOWERS
                and isinstance(timed.action.rule, NetworkFault)
            }
            moves = [timed for timed in lane if isinstance(timed.action, Reassign)][1:]
            if not cuts or not moves:
                continue
            (moved,) = moves
            assert isinstance(moved.action, Reassign)
            after_ms = moved.at_ms - cuts[broker_node(moved.action.to[0])]
            assert 0 < after_ms < int(cluster.configs["replica.lag.time.max.ms"])
            elected += 1
    assert elected >= 10


def test_orders_that_delete_and_change_topics_leave_coordinators_theirs() -> None:
    kept = (CONSUMER_OFFSETS, TRANSACTION_STATE, "shared", "ledger", "results")
    drawn = [
        seed
        for seed in range(300)
        if any(one in draw_features(streams_of(seed)("features")) for one in Situation)
    ]
    for seed in drawn:
        plan = draw_plan(seed, streams_of(seed), 5)
        assert all(topic.name in TOPIC_NAMES for topic in plain_topics(plan.cluster).topics)
        for timed in timed_actions(plan):
            word = type(timed.action).__name__
            if word in {"DeleteTopic", "AddPartitions", "AlterConfigs", "DeleteRecords"}:
                name = getattr(timed.action, "topic", "") or getattr(timed.action, "name", "")
                assert name not in kept
