"""``jbodlab rebalance`` on a real cluster: even, stopped half-way, gone on with, taken back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import LabShape
from jbodlab.rebalance.core.plan_file import Wanted, from_json
from jbodlab.rebalance.look import look_at_cluster
from protocol.configs.parsing import ConfigSource
from protocol.ids import TopicPartition
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST, Lab, running_lab
from tests.integration.test_configs import BROKER, MOVE_LIMIT, TOPIC, change, found

pytestmark = pytest.mark.sampled_among("the longest stories of clusters", kept=1)

CAPACITY_BYTES = 1 << 30
SINGLE = {"min.insync.replicas": "1"}
RATE = "leader.replication.throttled.rate"
FOLLOWERS = "follower.replication.throttled.replicas"


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    """Have room on all disks: those of the machine may be nearly full, and a plan avoids such."""
    shape = LabShape(configs=FAST, capacity_bytes=CAPACITY_BYTES)
    with running_lab(tmp_path, shape) as lab:
        yield lab


def command(lab: Lab, *arguments: str) -> list[str]:
    config = ["--config", str(lab.cluster.config_path), "--json"]
    return [sys.executable, "-m", "jbodlab", "rebalance", *arguments, *config]


def answer(lab: Lab, *arguments: str) -> Any:
    done = subprocess.run(
        command(lab, *arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * DEADLINE_S,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    return json.loads(done.stdout)


def places(lab: Lab, topic: str) -> dict[TopicPartition, list[tuple[int, str]]]:
    """Return where the replicas of a topic are, the preferred leader first."""
    return {
        each.tp: [(replica.at.broker, replica.at.path) for replica in each.replicas]
        for each in look_at_cluster(lab.admin).partitions
        if each.tp.topic == topic
    }


def wanted_places(plan: Path) -> Iterator[tuple[Wanted, int, str]]:
    for wanted in from_json(plan.read_text()):
        for broker, log_dir in zip(wanted.brokers, wanted.log_dirs, strict=True):
            yield wanted, broker, log_dir


def pile_up(lab: Lab, topic: str, partitions: int, broker: int) -> str:
    """Create a topic on one broker and move all of it into one log dir."""
    lab.create(
        topic, partitions, assignment={n: [broker] for n in range(partitions)}, configs=SINGLE
    )
    path = lab.admin.log_dirs(broker)[0].path
    lab.admin.move_replicas(broker, path, {topic: list(range(partitions))})
    for number in range(partitions):
        lab.wait_for_move(broker, topic, path, number)
    return path


def used_bytes(lab: Lab, broker: int) -> list[int]:
    return [
        sum(replica.size_bytes for replica in view.replicas) for view in lab.admin.log_dirs(broker)
    ]


def is_unthrottled(lab: Lab, topic: str) -> bool:
    entries = [found(lab, TOPIC, topic, FOLLOWERS)]
    entries += [found(lab, BROKER, str(n), key) for n in (1, 2, 3) for key in (RATE, MOVE_LIMIT)]
    sources = [entry[1] for entry in entries if entry is not None]
    return not {ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG}.intersection(
        sources
    )


@pytest.mark.scenario(266)
def test_log_dirs_are_evened_out_under_load_and_the_way_back_restores_them(
    lab: Lab, tmp_path: Path
) -> None:
    pile_up(lab, "piled", 6, broker=1)
    load = lab.load("piled", 6, size_bytes=5000, pace_ms=20)
    lab.wait_for_records(load, 900)
    before = places(lab, "piled")
    plan = tmp_path / "plan.json"

    planned = answer(lab, "plan", "--between-brokers", "--out", str(plan), "--throttle", "1000000")
    assert planned["imbalance_then"] < planned["imbalance_now"] == 9.0
    assert planned["least_bytes"] <= planned["moved_bytes"]
    assert planned["seconds_at_least"] > 0
    answer(lab, "run", str(plan))

    after = places(lab, "piled")
    for wanted, broker, log_dir in wanted_places(plan):
        assert [place[0] for place in after[wanted.tp]] == list(wanted.brokers)
        assert log_dir in ("any", dict(after[wanted.tp])[broker])
    lab.wait_for_full_isr("piled")
    assert sorted({place[0] for each in after.values() for place in each}) == [1, 2, 3]
    assert max(max(used_bytes(lab, broker)) for broker in (1, 2, 3)) < sum(used_bytes(lab, 1)) * 2
    answer(lab, "undo", str(tmp_path / "plan.rollback.json"))
    assert places(lab, "piled") == before

    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("piled", report.acknowledged, 6)


def test_a_run_is_stopped_half_way_gone_on_with_and_taken_back(lab: Lab, tmp_path: Path) -> None:
    path = pile_up(lab, "stopped", 4, broker=1)
    load = lab.load("stopped", 4, size_bytes=20_000)
    lab.wait_for_records(load, 400)
    report = load.stop()
    before = places(lab, "stopped")
    plan = tmp_path / "plan.json"
    answer(
        lab, "plan", "--between-brokers", "--drain", path, "--drain-broker", "1", "--out", str(plan)
    )

    slow = ("--throttle", "300000", "--at-once", "1")
    running = subprocess.Popen(
        command(lab, "run", str(plan), *slow), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    lab.cluster.wait_until(lambda admin: bool(admin.reassignments()), "something is under way")
    assert not is_unthrottled(lab, "stopped")
    running.send_signal(signal.SIGINT)
    _, words = running.communicate(timeout=DEADLINE_S)
    assert running.returncode == ExitCode.STOPPED
    assert b"stopped; what was under way is taken back" in words
    assert lab.admin.reassignments() == []
    lab.cluster.wait_until(lambda _: is_unthrottled(lab, "stopped"), "throttles are off")
    rollback = (tmp_path / "plan.rollback.json").read_text()

    answer(lab, "run", str(plan))
    assert (tmp_path / "plan.rollback.json").read_text() == rollback
    assert all(place[0] != 1 for each in places(lab, "stopped").values() for place in each)
    answer(lab, "undo", str(tmp_path / "plan.rollback.json"))
    assert places(lab, "stopped") == before
    lab.assert_nothing_lost("stopped", report.acknowledged, 4)


def test_a_cordoned_log_dir_is_emptied_at_the_rate_that_was_asked_for(
    lab: Lab, tmp_path: Path
) -> None:
    path = pile_up(lab, "leaving", 3, broker=2)
    load = lab.load("leaving", 3, size_bytes=20_000)
    lab.wait_for_records(load, 150)
    report = load.stop()
    change(lab, BROKER, "2", "cordoned.log.dirs", path)
    plan = tmp_path / "drain.json"

    planned = answer(lab, "plan", "--drain", path, "--out", str(plan))
    assert [each["state"] for each in planned["log_dirs"] if each["path"] == path] == [
        "online, cordoned, drained"
    ]
    assert planned["network_bytes"] == 0
    done = answer(lab, "run", str(plan), "--throttle", "1000000")

    assert done["seconds"] > (planned["moved_bytes"] - 1_500_000) / 1_000_000 * 0.9
    assert all(place[1] != path for each in places(lab, "leaving").values() for place in each)
    assert not [view for view in lab.admin.log_dirs(2) if view.path == path and view.replicas]
    assert is_unthrottled(lab, "leaving")
    again = answer(lab, "plan", "--drain", path)
    assert again["partitions"] == []
    lab.assert_nothing_lost("leaving", report.acknowledged, 3)
