"""Reassignments between brokers of a real cluster, under load."""

from __future__ import annotations

import pytest

from jbodlab.asking.admin import ClusterAdmin
from protocol.errors import ErrorCode, KafkaError
from protocol.faults.model import broker_node
from tests.integration.labs import Lab


def place_ahead(lab: Lab, broker: int, topic: str, partition: int) -> str:
    """Choose a log dir without replicas for a replica that is still to come; return its path."""
    free = next(view.path for view in lab.admin.log_dirs(broker) if not view.replicas)
    with pytest.raises(KafkaError) as caught:
        lab.admin.move_replicas(broker, free, {topic: [partition]})
    assert caught.value.code == ErrorCode.REPLICA_NOT_AVAILABLE
    return free


@pytest.mark.scenario(6, 206)
def test_replicas_move_to_an_unused_log_dir_of_the_next_broker_under_load(shared_lab: Lab) -> None:
    lab = shared_lab
    single = {"min.insync.replicas": "1"}
    lab.create("nomad", assignment={0: [1], 1: [2], 2: [3]}, configs=single)
    load = lab.load("nomad", 3, size_bytes=2000)
    lab.wait_for_records(load, 500)
    old = {partition: partition + 1 for partition in range(3)}
    new = {partition: broker % 3 + 1 for partition, broker in old.items()}
    wanted = {partition: place_ahead(lab, new[partition], "nomad", partition) for partition in new}

    replicas = {("nomad", partition): [broker] for partition, broker in new.items()}
    lab.admin.reassign(replicas)
    lab.wait_for_reassignments(replicas)

    lab.wait_for_records(load, 500)
    report = load.stop()
    for partition, broker in new.items():
        view = lab.partition("nomad", partition)
        assert (view.replicas, view.isr, view.leader) == ((broker,), (broker,), broker)
        assert lab.log_dir_of(broker, "nomad", partition).path == wanted[partition]
    assert report.failed == ()
    lab.assert_nothing_lost("nomad", report.acknowledged, 3)

    def is_gone(admin: ClusterAdmin) -> bool:
        return not any(
            (replica.topic, replica.partition) == ("nomad", partition)
            for partition, broker in old.items()
            for log_dir in admin.log_dirs(broker)
            for replica in log_dir.replicas
        )

    lab.cluster.wait_until(is_gone, "the old replicas are deleted")


@pytest.mark.scenario(203)
def test_the_new_leader_has_the_high_watermark(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("marked", assignment={0: [1, 2]}, configs={"min.insync.replicas": "1"})
    load = lab.load("marked")
    lab.wait_for_records(load, 100)
    report = load.stop()

    for replicas in ([3, 1, 2], [3]):
        lab.admin.reassign({("marked", 0): replicas})
        lab.wait_for_reassignments({("marked", 0): replicas})

    assert lab.partition("marked").leader == 3
    lab.assert_nothing_lost("marked", report.acknowledged)


def test_a_reassignment_outlives_its_controller_and_its_target(lab: Lab) -> None:
    lab.create("steady", assignment={0: [1, 2]}, configs={"min.insync.replicas": "1"})
    load = lab.load("steady", size_bytes=2000)
    lab.wait_for_records(load, 500)
    for view in lab.admin.log_dirs(3):
        lab.control(3).fail(view.path, "slow", delay_ms=700)
    lab.admin.reassign({("steady", 0): [3, 2]})
    under_way = lab.admin.reassignments()
    assert [(each.adding, each.removing) for each in under_way] == [((3,), (1,))]

    lab.cluster.kill("controller")
    lab.cluster.start_controller()
    lab.cluster.kill(broker_node(3))
    lab.cluster.start_broker(3)
    lab.wait_for_reassignments({("steady", 0): [3, 2]})

    lab.wait_for_full_isr("steady")
    lab.wait_for_records(load, 100)
    report = load.stop()
    assert lab.partition("steady").replicas == (3, 2)
    assert report.failed == ()
    lab.assert_nothing_lost("steady", report.acknowledged)
