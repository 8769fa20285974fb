"""A leader's log dir fails under load, in every way a disk can: nothing acknowledged is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.labs import Lab

Break = Callable[[Lab, int, str], None]


def by_fault(mode: str) -> Break:
    def break_it(lab: Lab, broker: int, path: str) -> None:
        lab.control(broker).fail(path, mode)

    return break_it


def by_replacing_it_with_a_file(_lab: Lab, _broker: int, path: str) -> None:
    # In one step: while its entries are deleted one by one, the broker makes others.
    Path(path).rename(f"{path}.away")
    Path(path).write_text("not a directory any more")


WAYS: dict[str, Break] = {
    "replaced by a file": by_replacing_it_with_a_file,
    "eio": by_fault("eio"),
    "enospc": by_fault("enospc"),
    "read_only": by_fault("read_only"),
    "sync_failure": by_fault("sync_failure"),
}


@pytest.mark.scenario(2, 48, 49, 59, 255)
@pytest.mark.sampled("way", kept=1)
@pytest.mark.parametrize("way", WAYS)
def test_another_replica_leads_and_every_acknowledged_record_is_there_once(
    lab: Lab, way: str
) -> None:
    fail_over(lab, WAYS[way])


@pytest.mark.sampled_among("log dirs of leaders that fail", kept=1)
@pytest.mark.scenario(2, 48, 49, 59, 255)
def test_a_log_dir_that_hangs_counts_as_failed(suspicious_lab: Lab) -> None:
    fail_over(suspicious_lab, by_fault("hang"))


def fail_over(lab: Lab, break_it: Break) -> None:
    """Break the leader's log dir under load and look at everything that must follow."""
    lab.create("t")
    leader = lab.partition("t").leader
    broken = lab.log_dir_of(leader, "t").path
    load = lab.load("t")
    lab.wait_for_records(load, 100)

    break_it(lab, leader, broken)

    lab.wait_for_new_leader("t", leader)
    lab.wait_for_records(load, 200)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)
    view = lab.partition("t")
    assert leader not in view.isr
    assert view.offline_replicas == (leader,)
    assert lab.offline_dirs(leader) == [broken]


@pytest.mark.sampled_among("log dirs of leaders that fail", kept=1)
@pytest.mark.scenario(50, 54)
def test_the_broker_serves_its_other_log_dirs_on(lab: Lab) -> None:
    lab.create("broken", assignment={0: [1, 2, 3]})
    lab.create("whole", assignment={0: [1, 2, 3]})
    broken = lab.log_dir_of(1, "broken").path
    assert lab.log_dir_of(1, "whole").path != broken
    before = lab.partition("whole")
    load = lab.load("whole")

    lab.control(1).fail(broken, "eio")
    lab.wait_for_new_leader("broken", 1)

    lab.wait_for_records(load, 200)
    report = load.stop()
    assert report.failed == ()
    # That it does not wait either, in virtual time: tests/properties/test_isolation.py.
    assert lab.partition("whole") == before
    assert (before.leader, sorted(before.isr), before.offline_replicas) == (1, [1, 2, 3], ())
    lab.assert_nothing_lost("whole", report.acknowledged)


@pytest.mark.sampled_among("log dirs of leaders that fail", kept=1)
def test_a_slow_log_dir_stays_online_and_harms_no_other(lab: Lab) -> None:
    lab.create("slow", assignment={0: [1, 2, 3]})
    lab.create("fast", assignment={0: [1, 2, 3]})
    before = lab.partition("fast")
    path = lab.log_dir_of(1, "slow").path
    assert lab.log_dir_of(1, "fast").path != path
    lab.control(1).fail(path, "slow", delay_ms=50)
    slow, fast = lab.load("slow"), lab.load("fast")
    lab.wait_for_records(fast, 300)
    slow_report, fast_report = slow.stop(), fast.stop()
    assert slow_report.failed == fast_report.failed == ()
    assert [one["hits"] > 0 for one in lab.control(1).clear_faults()] == [True]
    assert lab.partition("fast") == before
    assert lab.offline_dirs(1) == []
    lab.assert_nothing_lost("fast", fast_report.acknowledged)
    lab.assert_nothing_lost("slow", slow_report.acknowledged)


@pytest.mark.sampled_among("log dirs of leaders that fail", kept=1)
@pytest.mark.scenario(66, 74)
def test_a_healed_log_dir_stays_offline_until_the_restart_and_rejoins_after_it(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    load = lab.load("t")
    broken = lab.log_dir_of(1, "t").path
    lab.control(1).fail(broken, "eio")
    lab.wait_for_new_leader("t", 1)
    lab.control(1).heal(broken)
    lab.wait_for_records(load, 100)
    assert lab.offline_dirs(1) == [broken]
    assert 1 not in lab.partition("t").isr

    lab.cluster.restart_broker(1)

    lab.wait_for_full_isr("t")
    report = load.stop()
    assert lab.offline_dirs(1) == []
    assert lab.partition("t").offline_replicas == ()
    lab.assert_nothing_lost("t", report.acknowledged)
