"""The harness by itself: brokers of Apache Kafka alone lose disks, a controller and a follower."""

from __future__ import annotations

import pytest

from tests.mixed.election import elections
from tests.mixed.mixed_lab import MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]


def test_a_leader_whose_log_dir_fails_is_replaced_and_returns_with_its_disk(lab: MixedLab) -> None:
    """It has the controller as well, which it hands over when it stops."""
    lab.create("disk", (1, 2, 3))
    log_dir = lab.log_dir_of(1, "disk")

    with lab.checked_load("disk", 1) as load, elections(lab.nodes) as looking:
        looking.elect((1).__eq__)
        lab.nodes.break_log_dir(1, log_dir)
        leader = lab.wait_for_leader_other_than(1, "disk")
        lab.wait_for_records(load, 100)
        assert leader == 2
        assert 1 in lab.partition("disk").offline_replicas
        lab.nodes.repair_log_dir(1, log_dir)
        lab.nodes.stop_broker(1)
        lab.wait_until(lambda: lab.controller_id() in (2, 3), "another broker leads the cluster")
        lab.wait_for_records(load, 100)
        lab.restart(1)
        lab.wait_for_isr("disk", 3)


def test_a_leader_that_is_killed_is_missed_and_returns(lab: MixedLab) -> None:
    lab.create("killed", (2, 3, 1), (3, 1, 2))

    with lab.checked_load("killed", 2) as load:
        lab.nodes.kill_broker(2)
        assert lab.wait_for_leader_other_than(2, "killed") == 3
        lab.wait_for_records(load, 100)
        lab.restart(2)
        lab.wait_for_isr("killed", 3)


def test_replicas_are_reassigned_under_load(lab: MixedLab) -> None:
    lab.create("moved", (1, 2))

    with lab.checked_load("moved", 1) as load:
        lab.reassign("moved", (3, 2))
        lab.wait_for_records(load, 100)

    assert lab.partition("moved").leader == 3
