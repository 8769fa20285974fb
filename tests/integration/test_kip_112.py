"""The test plan of KIP-112: a log dir fails at the start, on the leader, on a follower."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from protocol.faults.model import broker_node
from tests.integration.labs import Lab


def make_unusable(path: str) -> None:
    """Do what mode 000 does, also to root: put a file where the directory was."""
    shutil.move(path, f"{path}.aside")
    Path(path).write_text("")


def make_usable(path: str) -> None:
    Path(path).unlink()
    shutil.move(f"{path}.aside", path)


def serves_alone(lab: Lab, broker: int, others: list[int]) -> None:
    """The plan's last step: a new topic, every other broker killed, this one serves it alone."""
    lab.create("second", assignment={0: [broker, *others]}, configs={"min.insync.replicas": "1"})
    for other in others:
        lab.cluster.kill(broker_node(other))
    lab.cluster.wait_until(
        lambda admin: admin.view(broker, ["second"]).partition("second", 0).isr == (broker,),
        f"broker {broker} is alone in the Isr",
    )
    load = lab.load("second")
    lab.wait_for_records(load, 50)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("second", report.acknowledged)


@pytest.mark.sampled_among("test plans of KIP-112", kept=2)
@pytest.mark.scenario(1, 4, 14, 67)
def test_plan_1_a_log_dir_that_is_broken_when_its_broker_starts(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    load = lab.load("t")
    lab.wait_for_records(load, 100)
    broken = lab.log_dir_of(1, "t").path
    lab.cluster.kill(broker_node(1))
    make_unusable(broken)

    lab.cluster.start_broker(1)

    lab.wait_for_new_leader("t", 1)
    assert 1 not in lab.partition("t").isr
    assert lab.offline_dirs(1) == [broken]
    lab.wait_for_records(load, 100)

    lab.cluster.stop([broker_node(1)])
    make_usable(broken)
    lab.cluster.start_broker(1)
    lab.wait_for_full_isr("t")
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)


@pytest.mark.sampled_among("test plans of KIP-112", kept=2)
@pytest.mark.scenario(2, 54)
def test_plan_2_the_leaders_log_dir_fails_and_its_broker_can_still_serve_alone(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    load = lab.load("t")
    lab.wait_for_records(load, 100)
    make_unusable(lab.log_dir_of(1, "t").path)
    lab.wait_for_new_leader("t", 1)
    lab.wait_for_records(load, 100)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)
    serves_alone(lab, 1, [2, 3])


@pytest.mark.sampled_among("test plans of KIP-112", kept=2)
@pytest.mark.scenario(3, 54)
def test_plan_3_a_followers_log_dir_fails_and_the_leader_stays(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    epoch = lab.partition("t").leader_epoch
    load = lab.load("t")
    lab.wait_for_records(load, 100)
    make_unusable(lab.log_dir_of(2, "t").path)
    lab.cluster.wait_until(
        lambda admin: admin.any_view(["t"]).partition("t", 0).offline_replicas == (2,),
        "the follower is offline",
    )
    lab.wait_for_records(load, 100)
    report = load.stop()
    view = lab.partition("t")
    assert (view.leader, sorted(view.isr)) == (1, [1, 3])
    assert view.leader_epoch >= epoch
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)
    serves_alone(lab, 2, [1, 3])
