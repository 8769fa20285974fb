"""Rules on the network and on disks of real processes, under load: nothing acknowledged is lost."""

from __future__ import annotations

import pytest

from tests.integration.labs import DEADLINE_MS, Lab

pytestmark = pytest.mark.sampled_among("faults by rules", kept=1)


def wait_for_isr(lab: Lab, topic: str, isr: set[int]) -> None:
    lab.cluster.wait_until(
        lambda admin: set(admin.any_view([topic]).partition(topic, 0).isr) == isr,
        f"the Isr of {topic} is {isr}",
        DEADLINE_MS,
    )


def test_a_follower_that_is_cut_off_leaves_the_isr_and_comes_back(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    load = lab.load("t")
    lab.wait_for_records(load, 100)
    cut = {"mode": "cut", "from": "broker-1", "to": "broker-2"}
    (fault,) = lab.control(1).add_faults([cut])
    wait_for_isr(lab, "t", {1, 3})
    lab.wait_for_records(load, 100)
    (ended,) = lab.control(1).clear_faults([fault])
    wait_for_isr(lab, "t", {1, 2, 3})
    report = load.stop()
    assert ended["hits"] > 0
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)


def test_a_broker_cut_off_from_the_controller_is_fenced_and_leads_nothing(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    load = lab.load("t")
    lab.wait_for_records(load, 100)
    cut = {"mode": "cut", "from": "broker-1", "to": "controller"}
    lab.control(1).add_faults([cut])
    lab.cluster.wait_until(
        lambda admin: admin.view(2, ["t"]).partition("t", 0).leader in (2, 3),
        "another broker leads",
        DEADLINE_MS,
    )
    lab.wait_for_records(load, 100)
    (ended,) = lab.control(1).clear_faults()
    lab.wait_for_full_isr("t")
    report = load.stop()
    assert ended["hits"] > 0
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)


def test_latency_and_loss_cost_time_and_nothing_else(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    ways = [
        {"mode": "latency", "from": "broker-1", "to": "*", "latency_ms": 5, "jitter_ms": 5},
        {"mode": "loss", "from": "broker-1", "to": "*", "probability": 0.05, "retransmit_ms": 50},
    ]
    lab.control(1).add_faults(ways)
    load = lab.load("t")
    lab.wait_for_records(load, 200)
    lab.cluster.wait_until(
        lambda _: all(one["hits"] > 0 for one in lab.control(1).faults()),
        "each fault met something",
        DEADLINE_MS,
    )
    report = load.stop()
    lab.control(1).clear_faults()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)


def test_a_follower_that_stands_still_leaves_the_isr_and_comes_back(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    load = lab.load("t")
    lab.wait_for_records(load, 100)
    lab.cluster.pause("broker-3")
    lab.cluster.wait_until(
        lambda admin: set(admin.view(1, ["t"]).partition("t", 0).isr) == {1, 2},
        "the Isr is without broker 3",
        DEADLINE_MS,
    )
    lab.wait_for_records(load, 100)
    lab.cluster.resume("broker-3")
    lab.wait_for_full_isr("t")
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)
