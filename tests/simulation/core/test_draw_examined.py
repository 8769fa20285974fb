"""Who examines is drawn once, and rights are given and taken where there is an authorizer."""

from __future__ import annotations

from random import Random

from simulation.core.draw_examined import (
    AUTHORIZER,
    DELETES_TOPICS,
    with_authorizer,
    with_examiner,
)
from simulation.core.draw_settings import Setting, settled
from simulation.core.features import Features, Situation
from simulation.core.plan import ClusterPlan, Workload

WRITER = Workload(name="writer", topic="orders")
CLUSTER = ClusterPlan(configs={"num.partitions": "2"})


def test_an_examiner_comes_once_and_asks_few_cases() -> None:
    cluster, workloads = with_examiner(Random(1), CLUSTER, (WRITER,))
    writer, examiner = workloads
    assert (cluster, writer) == (CLUSTER, WRITER)
    assert examiner.kind == "examine"
    assert examiner.topic == ""
    assert examiner.records_max in range(4, 15)
    assert with_examiner(Random(2), cluster, workloads) == (cluster, workloads)


def test_some_examined_clusters_delete_no_topics() -> None:
    drawn = [with_examiner(Random(seed), CLUSTER, (WRITER,))[0] for seed in range(100)]
    keeping = [each for each in drawn if each.configs.get(DELETES_TOPICS) == "false"]
    assert 15 <= len(keeping) <= 35
    assert all(each == CLUSTER for each in drawn if each not in keeping)


def test_where_there_is_an_authorizer_somebody_examines_and_all_others_may_do_all() -> None:
    cluster, workloads = with_authorizer(Random(1), CLUSTER, (WRITER,))
    assert cluster.configs["num.partitions"] == "2"
    assert cluster.configs[AUTHORIZER].endswith(".StandardAuthorizer")
    assert cluster.configs["allow.everyone.if.no.acl.found"] == "true"
    assert [one.kind for one in workloads] == ["produce", "examine"]


def test_both_situations_share_the_examiner() -> None:
    both = Features((Situation.EXAMINED, Situation.AUTHORIZER))
    cluster, workloads = settled(Setting(CLUSTER, (WRITER,)), both, Random)
    assert AUTHORIZER in cluster.configs
    assert [one.kind for one in workloads].count("examine") == 1
