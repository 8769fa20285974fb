"""The ``jbodlab`` command against a real cluster: what a user does in the first five minutes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.errors import ExitCode
from jbodlab.processes.cluster import HTTP_API, Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST

TOPIC = TopicSpec(name="orders", partitions=3, replication_factor=3, configs={})


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A cluster file, and nothing left running afterwards."""
    file = write_lab_spec(tmp_path_factory.mktemp("cli"), LabShape(configs=FAST, topics=(TOPIC,)))
    yield file
    Cluster(file).stop()


def run(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jbodlab", *arguments, "--config", str(config)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)


def answer(config: Path, *arguments: str) -> Any:
    done = run(config, *arguments, "--json")
    assert done.returncode == ExitCode.OK, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def up(config: Path) -> dict[str, Any]:
    return answer(config, "up")


def test_up_starts_everything_and_creates_the_topics_of_the_file(up: dict[str, Any]) -> None:
    assert up["started"] == ["controller", "broker-1", "broker-2", "broker-3"]
    assert up["topics"] == ["orders"]


def test_up_again_starts_nothing(config: Path, up: dict[str, Any]) -> None:
    assert up["bootstrap_servers"] == answer(config, "up")["bootstrap_servers"]
    assert answer(config, "up")["started"] == []


def test_what_runs_is_not_secured_and_its_file_stays(config: Path, up: dict[str, Any]) -> None:
    before = config.read_text()
    done = run(config, "up", "--secure")
    assert done.returncode == ExitCode.FAILED
    assert "controller, broker-1, broker-2, broker-3 run, and nothing is secured" in done.stderr
    assert config.read_text() == before
    assert up["bootstrap_servers"] == answer(config, "up")["bootstrap_servers"]


def test_the_http_api_runs_beside_the_cluster(config: Path, up: dict[str, Any]) -> None:
    address = answer(config, "up")["http_api"]
    assert address == answer(config, "status")["http_api"]
    assert address in run(config, "status").stdout
    deadline = time.monotonic() + DEADLINE_S
    while (told := cluster_told(address)) is None:  # It may still be starting.
        assert time.monotonic() < deadline
    assert told["bootstrap_servers"] == up["bootstrap_servers"]


def cluster_told(address: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(f"{address}/cluster", timeout=DEADLINE_S) as response:
            return json.load(response)
    except urllib.error.URLError:
        return None


def test_status_tells_processes_and_partitions(config: Path, up: dict[str, Any]) -> None:
    assert up
    status = answer(config, "status")
    assert [row["running"] for row in status["processes"]] == [True] * 4
    assert status["brokers"] == [1, 2, 3]
    assert [each["partition"] for each in status["partitions"]] == [0, 1, 2]
    assert "running" in run(config, "status").stdout


def test_faults_are_set_by_rules_listed_with_what_they_met_and_taken_off(
    config: Path, up: dict[str, Any]
) -> None:
    assert up
    slow = answer(
        config, "faults", "add", "mode=slow", "log_dir=data/b1/d1", "delay_ms=1", "--id", "sluggish"
    )
    assert (slow["broker"], slow["id"]) == (1, "sluggish")
    cut = answer(config, "faults", "add", "mode=cut", "from=broker-2", "to=broker-1")
    assert cut["fault"] == {"mode": "cut", "from": "broker-2", "to": "broker-1"}
    listed = answer(config, "faults", "list")
    in_force = [(row["broker"], row["id"]) for row in listed if row["is_in_force"]]
    assert in_force == [(1, "sluggish"), (2, "fault-1")]
    shown = run(config, "faults", "list").stdout
    assert "mode=slow node=broker-1" in shown
    assert "in force" in shown
    (ended,) = answer(config, "faults", "clear", "sluggish")
    assert (ended["id"], ended["is_in_force"]) == ("sluggish", False)
    refused = run(config, "faults", "clear", "sluggish")
    assert refused.returncode == ExitCode.FAILED
    assert "sluggish is in force nowhere" in refused.stderr
    assert [row["id"] for row in answer(config, "faults", "clear")] == ["fault-1"]
    refused = run(config, "faults", "add", "mode=lost_entry", "broker=1")
    assert "a real file system cannot be told" in refused.stderr


def test_a_broker_is_paused_and_resumed(config: Path, up: dict[str, Any]) -> None:
    assert up
    assert answer(config, "brokers", "pause", "3") == {"paused": 3}
    paused = {row["name"]: row["paused"] for row in answer(config, "status")["processes"]}
    assert paused == {"controller": False, "broker-1": False, "broker-2": False, "broker-3": True}
    assert answer(config, "brokers", "resume", "3") == {"resumed": 3}
    assert not any(row["paused"] for row in answer(config, "status")["processes"])


def test_topics_are_created_described_listed_and_deleted(config: Path, up: dict[str, Any]) -> None:
    assert up
    answer(config, "topics", "create", "extra", "--partitions", "2", "--set", "retention.ms=9000")
    assert answer(config, "topics", "list") == ["extra", "orders"]
    described = answer(config, "topics", "describe", "extra")
    assert [len(each["replicas"]) for each in described] == [3, 3]
    again = run(config, "topics", "create", "extra")
    assert again.returncode == ExitCode.FAILED
    assert again.stderr.startswith("jbodlab: the cluster answers TOPIC_ALREADY_EXISTS")
    answer(config, "topics", "delete", "extra")
    missing = run(config, "topics", "describe", "extra")
    assert missing.returncode == ExitCode.FAILED
    assert missing.stderr == "jbodlab: there is no topic extra: see `jbodlab topics list`\n"


def test_reassignments_are_listed_and_only_those_under_way_cancelled(
    config: Path, up: dict[str, Any]
) -> None:
    assert up
    assert answer(config, "reassignments", "list") == []
    refused = run(config, "reassignments", "cancel", "orders", "0")
    assert refused.returncode == ExitCode.FAILED
    assert refused.stderr.startswith("jbodlab: the cluster answers NO_REASSIGNMENT_IN_PROGRESS")


def test_a_log_dir_is_broken_seen_healed_and_used_again(config: Path, up: dict[str, Any]) -> None:
    assert up
    path = answer(config, "log-dirs", "describe", "--broker", "1")[0]["path"]
    answer(config, "log-dirs", "fail", path, "--mode", "eio")
    cluster = Cluster(config)
    cluster.wait_until(lambda admin: not admin.log_dirs(1)[0].is_online, "the log dir is offline")
    shown = run(config, "log-dirs", "describe").stdout
    assert "KAFKA_STORAGE_ERROR" in shown
    answer(config, "log-dirs", "heal", path, "--restart")
    assert all(each["error"] == "NONE" for each in answer(config, "log-dirs", "describe"))


def test_a_replica_moves_with_a_progress_bar(config: Path, up: dict[str, Any]) -> None:
    assert up
    dirs = answer(config, "log-dirs", "describe", "--broker", "2")
    source = next(each["path"] for each in dirs if each["replicas"])
    partition = next(each["replicas"][0]["partition"] for each in dirs if each["path"] == source)
    target = next(each["path"] for each in dirs if each["path"] != source)
    moved = answer(
        config, "log-dirs", "move", "orders", str(partition), "--broker", "2", "--to", target
    )
    assert moved["log_dir"] == target


def limit_moves(up: dict[str, Any], broker: int, bytes_per_second: int) -> None:
    tool = [sys.executable, "-m", "jbodlab", "kafka-configs", "--alter", "--broker", str(broker)]
    rate = f"replica.alter.log.dirs.io.max.bytes.per.second={bytes_per_second}"
    where = ["--bootstrap-server", ",".join(up["bootstrap_servers"])]
    change = [*tool, "--add-config", rate, *where]
    subprocess.run(change, check=True, capture_output=True, timeout=DEADLINE_S)


@pytest.mark.sampled_among("commands that meet what is broken", kept=1)
def test_a_move_whose_source_fails_ends_and_what_it_advises_helps(
    config: Path, up: dict[str, Any]
) -> None:
    cluster = Cluster(config)
    with ClusterAdmin(cluster.spec) as admin:
        admin.create_topic(TopicSpec(name="moving", partitions=1, replication_factor=3, configs={}))
        answer(config, "topics", "fill", "moving", "--mib", "3")
        held = {view.path: [one.topic for one in view.replicas] for view in admin.log_dirs(3)}
    source = next(path for path, topics in held.items() if "moving" in topics)
    target = next(path for path in held if path != source)
    words = ("log-dirs", "move", "moving", "0", "--broker", "3", "--to", target)
    limit_moves(up, 3, 50_000)

    command = [sys.executable, "-m", "jbodlab", *words, "--config", str(config)]
    moving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        cluster.wait_until(
            lambda admin: any(
                replica.is_future and replica.size_bytes > 0
                for view in admin.log_dirs(3)
                for replica in view.replicas
            ),
            "the copy has begun",
        )
        ControlClient(3, cluster.spec.broker(3).control_port).fail(source, "eio")
        told, said = moving.communicate(timeout=DEADLINE_S)
    finally:
        moving.kill()

    assert (moving.returncode, told) == (ExitCode.FAILED, "")
    heal, restart = f"log-dirs heal {short(source)}", f"log-dirs restart {short(source)}"
    assert said.splitlines()[-1] == (
        f"jbodlab: the move of moving-0 to {short(target)} has ended: {short(source)}, which it is "
        "copied from, is offline (`jbodlab log-dirs describe` tells why), and the replica with it; "
        f"bring it back with `jbodlab {heal}` and `jbodlab {restart}`, then move again"
    )
    for advice in (heal, restart):
        answer(config, *advice.split())
    limit_moves(up, 3, 1_000_000_000)
    assert answer(config, *words)["log_dir"] == target
    with ClusterAdmin(cluster.spec) as admin:
        admin.delete_topic("moving")
    cluster.wait_until(
        lambda admin: (
            not any(
                replica.topic == "moving"
                for broker in (1, 2, 3)
                for view in admin.log_dirs(broker)
                for replica in view.replicas
            )
        ),
        "other tests find what they expect",
    )


def short(path: str) -> str:
    """Return a log dir as the cluster file writes it."""
    return path[path.index("data/") :]


def test_down_stops_everything(config: Path, up: dict[str, Any]) -> None:
    assert up
    http_api = Cluster(config).processes[HTTP_API]
    assert len(answer(config, "down")["stopped"]) == 4
    assert not http_api.is_running
    assert run(config, "status").returncode == ExitCode.NOT_RUNNING
    # The module's other tests may still come: the order is random.
    answer(config, "up")


@pytest.mark.sampled_among("commands that meet what is broken", kept=1)
def test_a_broker_that_cannot_start_names_its_log_and_its_exit_code(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "b2").write_text("no directory: none of its log dirs can be made")
    done = run(file, "up")
    assert done.returncode == ExitCode.PROCESS_DIED
    (line,) = [each for each in done.stderr.splitlines() if each]
    assert line.startswith("jbodlab: broker-2 ended with exit code 1, all log dirs failed")
    assert line.endswith(f"(log: {tmp_path}/data/run/cluster/broker-2.log)")
    assert run(file, "status").returncode == ExitCode.NOT_RUNNING
