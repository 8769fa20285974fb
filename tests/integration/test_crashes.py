"""Processes end without warning: what was answered stays, what is left goes on."""

from __future__ import annotations

import os
import signal

import pytest

from broker.exit_codes import ExitCode
from jbodlab.errors import LabError
from jbodlab.processes.cluster import CONTROLLER
from protocol.faults.model import broker_node
from tests.integration.labs import DEADLINE_MS, Lab, told_of_nodes
from tests.jbodlab.command_line import jbodlab

pytestmark = pytest.mark.sampled_among("processes that end", kept=2)


def test_a_killed_controller_forgets_no_decision_it_answered(lab: Lab) -> None:
    lab.create("before", 6, configs={"min.insync.replicas": "2", "retention.ms": "777000"})
    lab.control(1).fail(lab.log_dir_of(1, "before").path, "eio")
    lab.wait_for_new_leader("before", 1)
    told = lab.admin.any_view(["before"]).partitions
    load = lab.load("before", 6)

    lab.cluster.kill(CONTROLLER)
    lab.wait_for_records(load, 200)
    lab.cluster.start_controller()
    lab.cluster.wait_until(
        lambda admin: (
            [(each.leader, each.replicas) for each in admin.any_view(["before"]).partitions]
            == [(each.leader, each.replicas) for each in told]
        ),
        "the controller tells what it told before",
    )
    lab.control(1).heal(lab.offline_dirs(1)[0])
    lab.cluster.restart_broker(1)
    lab.wait_for_full_isr("before")
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("before", report.acknowledged, 6)


@pytest.mark.scenario(164, 254)
def test_a_killed_broker_loses_nothing_and_comes_back(lab: Lab) -> None:
    lab.create("t", 3)
    load = lab.load("t", 3)
    lab.wait_for_records(load, 200)
    leader = lab.partition("t").leader

    lab.cluster.kill(broker_node(leader))

    lab.cluster.wait_until(
        lambda admin: all(
            each.leader not in (-1, leader) for each in admin.any_view(["t"]).partitions
        ),
        "other brokers lead",
    )
    lab.wait_for_records(load, 200)
    lab.cluster.start_broker(leader)
    lab.wait_for_full_isr("t")
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged, 3)


@pytest.mark.scenario(57)
def test_the_last_log_dir_lost_ends_the_process_with_its_own_exit_code(lab: Lab) -> None:
    lab.create("t", 3)
    load = lab.load("t", 3)
    process = lab.cluster.processes[broker_node(3)]
    for view in lab.admin.log_dirs(3):
        assert process.is_running
        lab.control(3).fail(view.path, "eio")
    assert process.wait(DEADLINE_MS) == ExitCode.ALL_LOG_DIRS_FAILED
    lab.cluster.wait_until(
        lambda admin: all(
            each.leader in (1, 2) and 3 not in each.isr for each in admin.view(1, ["t"]).partitions
        ),
        "the others lead",
    )
    lab.wait_for_records(load, 100)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged, 3)


@pytest.mark.scenario(163)
def test_a_clean_stop_hands_over_leaderships_without_an_error(lab: Lab) -> None:
    lab.create("t", 6)
    load = lab.load("t", 6)
    lab.wait_for_records(load, 100)
    lab.cluster.stop([broker_node(2)])
    assert lab.cluster.processes[broker_node(2)].exit_code == ExitCode.CLEAN
    lab.wait_for_records(load, 100)
    lab.cluster.start_broker(2)
    lab.wait_for_full_isr("t")
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged, 6)


def test_a_crash_leaves_its_stacks_and_every_node_shows_its_own_when_asked(lab: Lab) -> None:
    for process in lab.cluster.processes.values():
        assert process.write_stacks(DEADLINE_MS)
        assert " in main\n" in process.log_file.read_text()
    crashed = lab.cluster.processes[broker_node(2)]
    os.kill(crashed.pid, signal.SIGSEGV)
    assert crashed.wait(DEADLINE_MS) == -signal.SIGSEGV
    with pytest.raises(LabError, match="broker-2 does not run, it ended by SIGSEGV; logs are in"):
        lab.cluster.wait_until(lambda _: False, "never", 0)
    told = told_of_nodes(lab.cluster)
    assert f"the end of {crashed.log_file}" in told
    assert "Fatal Python error: Segmentation fault" in told
    assert "broker-1.log" not in told
    shown = jbodlab("status", "--config", str(lab.cluster.config_path))
    assert "not running, ended by SIGSEGV" in shown.stdout
    lab.cluster.start_broker(2)
    assert jbodlab("status", "--config", str(lab.cluster.config_path)).stdout.count("SIG") == 0
