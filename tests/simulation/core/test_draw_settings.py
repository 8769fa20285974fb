"""Clusters and clients as features change them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from protocol.configs.parsing import config_mistakes
from protocol.configs.topic import TOPIC_KEYS
from simulation.core.dice import Dice
from simulation.core.draw_cluster import draw_cluster, draw_workloads
from simulation.core.draw_settings import SOURCE_LOG_DIR, Setting, settled
from simulation.core.features import Features, Situation


def drawn(seed: int, *names: str) -> Setting:
    cluster = draw_cluster(Random(seed))
    setting = Setting(cluster, draw_workloads(Random(seed), cluster))

    def stream(name: str) -> Dice:
        return Random(f"{seed}/{name}")

    return settled(setting, Features(names), stream)


def test_without_features_nothing_changes_but_how_long_producers_write() -> None:
    cluster = draw_cluster(Random(7))
    assert drawn(7).cluster == cluster
    endless = [replace(one, records_max=None) for one in drawn(7).workloads]
    assert endless == list(draw_workloads(Random(7), cluster))


def test_some_producers_come_to_an_end_early() -> None:
    ends = [
        one.records_max
        for seed in range(100)
        for one in drawn(seed).workloads
        if one.kind == "produce"
    ]
    early = [records_max for records_max in ends if records_max is not None]
    assert len(ends) / 10 < len(early) < len(ends) / 3
    assert all(5 <= records_max <= 200 for records_max in early)


@pytest.mark.parametrize("seed", range(20))
def test_compacted_topics_are_written_with_keys(seed: int) -> None:
    setting = drawn(seed, Situation.KEYED_RECORDS)
    compacted = [
        topic.name
        for topic in setting.cluster.topics
        if "compact" in topic.configs.get("cleanup.policy", "")
    ]
    assert compacted
    for one in setting.workloads:
        assert bool(one.keys) == (one.kind == "produce" and one.topic in compacted)


@pytest.mark.parametrize("seed", range(40))
def test_old_clients_get_nothing_that_they_do_not_have(seed: int) -> None:
    setting = drawn(seed, Situation.OLD_CLIENTS, Situation.COMPRESSION)
    readers = [one for one in setting.workloads if one.kind == "consume"]
    read = [one.topic for one in readers if one.message_format < 2]
    for one in setting.workloads:
        if one.message_format < 2:
            assert not one.idempotent
            assert one.client == "plain"
            assert one.compression != "zstd"
        assert not (one.topic in read and one.compression == "zstd")
    for topic in setting.cluster.topics:
        assert not (topic.name in read and topic.configs.get("compression.type") == "zstd")


@pytest.mark.parametrize("seed", range(20))
def test_retention_is_looked_for_within_a_story(seed: int) -> None:
    cluster = drawn(seed, Situation.SHORT_RETENTION).cluster
    assert int(cluster.configs["log.retention.check.interval.ms"]) <= 1000
    assert cluster.configs["log.initial.task.delay.ms"] == "0"
    assert any(
        "retention.ms" in topic.configs or "retention.bytes" in topic.configs
        for topic in cluster.topics
    )


@pytest.mark.parametrize("seed", range(20))
def test_some_topics_have_their_records_stamped_by_brokers(seed: int) -> None:
    topics = drawn(seed, Situation.STAMPED_RECORDS).cluster.topics
    assert any(one.configs.get("message.timestamp.type") == "LogAppendTime" for one in topics)


@pytest.mark.parametrize("seed", range(20))
def test_the_first_topic_lies_where_the_plan_knows(seed: int) -> None:
    cluster = drawn(seed, Situation.FAILING_MOVE, Situation.UNCLEAN_ELECTION).cluster
    first = cluster.topics[0]
    assert len(first.assignment) == first.partitions
    assert all(len(replicas) >= 2 for replicas in first.assignment)
    assert first.log_dir == SOURCE_LOG_DIR
    assert cluster.log_dirs >= 3


@pytest.mark.parametrize("seed", range(40))
def test_every_batch_fits_into_a_segment(seed: int) -> None:
    setting = drawn(seed, Situation.KEYED_RECORDS, Situation.SHORT_RETENTION)
    segments = {
        topic.name: int(topic.configs.get("segment.bytes", "1000000"))
        for topic in setting.cluster.topics
    }
    for one in setting.workloads:
        assert one.record_bytes * one.batch_records < segments[one.topic]


@pytest.mark.parametrize("seed", range(20))
def test_topics_get_only_configurations_that_exist(seed: int) -> None:
    for topic in drawn(seed, *Situation).cluster.topics:
        assert config_mistakes(TOPIC_KEYS, topic.configs) == []


@pytest.mark.parametrize("seed", range(20))
def test_records_of_the_first_topic_may_be_deleted_where_that_is_to_take_long(seed: int) -> None:
    first = drawn(seed, Situation.KEYED_RECORDS, Situation.LASTING_DELETION).cluster.topics[0]
    assert "delete" in first.configs.get("cleanup.policy", "delete")


@pytest.mark.parametrize("seed", range(20))
def test_who_is_away_is_missed_soon_where_isrs_are_to_change(seed: int) -> None:
    cluster = drawn(seed, Situation.ISR_CHANGES).cluster
    assert cluster.heartbeat_interval_ms <= 250
    assert cluster.session_timeout_ms <= 1_000
    assert cluster.log_dirs >= 2
    assert int(cluster.configs["replica.lag.time.max.ms"]) <= 1_500
    assert all(len(replicas) >= 2 for replicas in cluster.topics[0].assignment)


@pytest.mark.parametrize("seed", range(20))
def test_replicas_lie_in_the_first_of_several_log_dirs_where_those_are_to_return(seed: int) -> None:
    cluster = drawn(seed, Situation.RETURNING_LOG_DIRS).cluster
    assert cluster.log_dirs >= 2
    assert cluster.session_timeout_ms <= 1_000
    assert cluster.topics[0].log_dir == "d1"
    assert all(len(replicas) >= 2 for replicas in cluster.topics[0].assignment)
