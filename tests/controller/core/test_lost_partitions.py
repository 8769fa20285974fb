"""A partition that the journal lost goes on with its logs when somebody adds it anew."""

from __future__ import annotations

from controller.core import lost_partitions, missing_logs, unknown_replicas
from controller.core.records import PartitionsAdded
from controller.core.step import Step
from protocol.ids import NO_LEADER
from protocol.messages.journal import JournalReport, ReportedReplica, ReportedTopic
from tests.controller.core.cluster import Cluster, three_brokers, tp
from tests.controller.core.heard import led
from tests.controller.core.test_catch_up import step_of

ADDED = tp("orders-1")


def lost(**ends: int | None) -> tuple[Cluster, Step]:
    """Brokers b1, b2, ... told how far their log of orders-1 goes, in epoch 3, or of none."""
    cluster = three_brokers()
    cluster.create("orders", [1, 2])
    topic_id, step = cluster.state.topics["orders"].topic_id, step_of(cluster)
    reports = {int(name[1:]): report(topic_id, end) for name, end in ends.items()}
    missing_logs.note(step, reports)
    unknown_replicas.note(step, reports)
    step.change(PartitionsAdded("orders", ((2, 3),)))
    return cluster, step


def report(topic_id: bytes, end: int | None) -> JournalReport:
    if end is None:
        return JournalReport(topics=[])
    replica: ReportedReplica = led(1, (3, 5), (1, 3))
    replica.partition, replica.log_epoch, replica.log_end_offset = 1, 3, end
    return JournalReport(
        topics=[ReportedTopic(name="orders", topic_id=topic_id, replicas=[replica])]
    )


def added(cluster: Cluster, step: Step) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    lost_partitions.start_added(step, [ADDED])
    after = cluster.state.partition(ADDED)
    assert after.leader_epoch > 3 + 1, "brokers were told of one that nobody leads"
    return after.replicas, after.leader, after.isr


def test_who_has_the_longest_log_leads_it_where_all_have_told() -> None:
    """New logs would have had all others cut (seed 1062256)."""
    assert added(*lost(b1=20, b2=None, b3=20)) == ((2, 3), 3, (3,))


def test_who_alone_has_a_log_becomes_the_replica() -> None:
    assert added(*lost(b1=20, b2=None, b3=None)) == ((1,), 1, (1,))


def test_nobody_leads_it_before_all_have_told() -> None:
    assert added(*lost(b1=20, b3=20)) == ((2, 3), NO_LEADER, ())


def test_one_that_nobody_has_begins_empty() -> None:
    cluster, step = lost(b1=None, b2=None, b3=None)
    lost_partitions.start_added(step, [ADDED])
    after = cluster.state.partition(ADDED)
    assert (after.leader, after.leader_epoch, after.isr) == (2, 0, (2, 3))
