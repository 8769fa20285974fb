"""Clusters and clients as they are drawn."""

from __future__ import annotations

from random import Random

from protocol.configs.broker import BROKER_KEYS
from simulation.core.draw_cluster import draw_cluster, draw_workloads

CLUSTERS = [draw_cluster(Random(seed)) for seed in range(300)]


def test_clusters_come_in_all_sizes() -> None:
    assert {cluster.brokers for cluster in CLUSTERS} == {3, 4, 5}
    assert {cluster.log_dirs for cluster in CLUSTERS} == {1, 2, 3, 4}
    assert {len(cluster.racks) for cluster in CLUSTERS} == {0, 3, 4, 5}
    assert {topic.replication_factor for one in CLUSTERS for topic in one.topics} == {1, 2, 3}


def test_only_keys_that_exist_are_set() -> None:
    assert {name for cluster in CLUSTERS for name in cluster.configs} <= set(BROKER_KEYS) | {
        "log.segment.bytes",
        "log.index.interval.bytes",
    }


def test_no_topic_needs_more_replicas_than_it_has() -> None:
    for cluster in CLUSTERS:
        for topic in cluster.topics:
            needed = int(topic.configs.get("min.insync.replicas", "1"))
            assert needed <= topic.replication_factor <= cluster.brokers


def test_plain_readers_are_in_a_rack_of_the_cluster_where_there_are_racks() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        readers = [one for one in draw_workloads(Random(seed), cluster) if one.kind == "consume"]
        for one in readers:
            is_placed = bool(cluster.racks) and one.client == "plain"
            assert (one.rack in cluster.racks) if is_placed else one.rack is None
        assert ("replica.selector.class" in cluster.configs) is bool(cluster.racks)


def test_every_topic_is_written_and_only_acks_all_is_idempotent() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        workloads = draw_workloads(Random(seed), cluster)
        written = {one.topic for one in workloads if one.kind == "produce"}
        assert written == {topic.name for topic in cluster.topics}
        assert all(one.acks == "all" for one in workloads if one.idempotent)
