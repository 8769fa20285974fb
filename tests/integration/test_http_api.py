"""The HTTP API of a real cluster: what it shows, what it breaks and mends, what it tells."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result
from kafka import KafkaProducer

import jbodlab
from jbodlab.errors import ExitCode
from jbodlab.http_api.core.bodies import RecordedRun
from jbodlab.http_api.core.operations import OPERATIONS
from jbodlab.processes.cluster import Cluster as ClusterProcesses
from jbodlab.processes.run_state import run_dir
from tests.deadlines import DEADLINE_S
from tests.integration.http_clients import TOKEN, Client, served
from tests.integration.labs import FAST, PATIENT_MS
from tests.jbodlab.command_line import jbodlab as jbodlab_command

pytestmark = pytest.mark.sampled_among("the HTTP API", kept=4)


@pytest.fixture(scope="module")
def cluster() -> Generator[jbodlab.Cluster]:
    with jbodlab.Cluster(
        brokers=1, log_dirs=2, configs=FAST, session_timeout_ms=PATIENT_MS
    ) as cluster:
        yield cluster
        # Those that the server started are not known to the one that began with others.
        ClusterProcesses(cluster.folder / "cluster.yaml").stop()


@pytest.fixture
def client_elsewhere(cluster: jbodlab.Cluster) -> Generator[Client]:
    """A server that knows none of the cluster's processes, as one beside containers."""
    with served(cluster, config="of-containers.yaml") as client:
        yield client


@pytest.fixture(scope="module")
def client(cluster: jbodlab.Cluster) -> Generator[Client]:
    with served(cluster) as client:
        yield client


def wait_for(changes: Iterator[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(each for each in changes if each["kind"] == kind)


def test_nodes_that_somebody_else_started_are_judged_by_their_answers(
    client_elsewhere: Client, cluster: jbodlab.Cluster
) -> None:
    client = client_elsewhere
    assert client.get("/cluster")["controller"] == "running"
    (broker,) = client.get("/brokers")
    assert (broker["state"], broker["pid"]) == ("running", None)
    assert len(broker["log_dirs"]) == 2
    for order in ("kill", "pause", "stop", "start"):
        status, answer = client.call("POST", f"/brokers/1/{order}", {})
        assert status == 409
        assert "broker-1 runs, and jbodlab did not start it here" in answer["error"]

    assert (
        client.call("POST", "/brokers/1/log-dirs/1/fail", {"mode": "slow", "delay_ms": 1})[0] == 200
    )
    assert client.call("DELETE", "/faults")[1] == {"done": "1 faults are taken off"}
    # By the notes: another test may have had the server start the broker again.
    processes = ClusterProcesses(cluster.folder / "cluster.yaml")
    processes.pause("broker-1")
    try:
        client.until("/brokers", lambda seen: seen[0]["state"] == "silent")
    finally:
        processes.resume("broker-1")
    client.until("/brokers", lambda seen: seen[0]["state"] == "running")


def test_a_disk_breaks_and_comes_back_and_every_step_is_told(client: Client) -> None:
    with client.events() as changes:
        status, _ = client.call("POST", "/topics", {"name": "orders", "partitions": 2})
        assert status == 201
        assert wait_for(changes, "topic_created")["topic"] == "orders"
        # A look may come between a topic and its leaders; one that finds a later topic knows them.
        client.until("/topics/orders/partitions", lambda found: leaders(found) == [1, 1])
        assert client.call("POST", "/topics", {"name": "later"})[0] == 201
        assert wait_for(changes, "topic_created")["topic"] == "later"
        status, answer = client.call("POST", "/brokers/1/log-dirs/1/fail", {"mode": "eio"})
        assert (status, answer) == (200, {"done": "log dir 1 of broker 1 fails with eio"})
        # Which look finds what, and what a node has written down by then, is nobody's promise.
        kinds = {"fault_added", "log_dir_failed", "leader_changed", "failover_step"}
        of_orders = (each for each in changes if each.get("topic") in {"orders", None})
        told = wait_for_all(of_orders, kinds)
        assert told["fault_added"]["broker"] == 1
        failed = told["log_dir_failed"]
        assert (failed["broker"], failed["log_dir"]) == (1, 1)
        assert told["leader_changed"]["new"] == -1
        assert told["failover_step"]["new"] == "log_dir_failed"
        assert told["failover_step"]["since_failure_ms"] == 0
        assert client.call("POST", "/brokers/1/log-dirs/1/restart", {})[0] == 409
        assert client.call("POST", "/brokers/1/log-dirs/1/heal", {})[0] == 200
        status, answer = client.call("POST", "/brokers/1/log-dirs/1/restart", {})
        assert status == 202
        assert wait_for(changes, "log_dir_returned")["log_dir"] == 1
        client.until(answer["look_at"], lambda found: all(each["is_online"] for each in found))
        assert wait_for(of_orders, "leader_changed")["new"] == 1
        assert client.call("DELETE", "/topics/orders")[0] == 200
        assert wait_for(changes, "topic_deleted")["topic"] == "orders"


def test_a_replica_moves_to_the_other_log_dir(client: Client) -> None:
    assert client.call("POST", "/topics", {"name": "moved"})[0] == 201
    at = client.until("/brokers/1/log-dirs", lambda found: bool(places(found, "moved")))
    (source,) = places(at, "moved")
    order = {"topic": "moved", "partition": 0, "broker": 1, "log_dir": 3 - source}
    status, answer = client.call("POST", "/moves", order)
    assert (status, answer["look_at"]) == (202, "/moves")
    client.until("/brokers/1/log-dirs", lambda found: places(found, "moved") == [3 - source])
    assert client.get("/moves") == []


def test_requests_of_a_client_are_held_released_and_shown(client: Client) -> None:
    assert client.call("POST", "/topics", {"name": "held"})[0] == 201
    hold = {"mode": "hold", "broker": 1, "apis": ["Produce"], "id": "barrier"}
    watch = {"mode": "observe", "broker": 1, "apis": ["Produce"], "topic": "held", "id": "watch"}
    toxic = {"type": "latency", "broker": 1, "attributes": {"latency": 1}, "name": "late"}
    for order in (hold, watch, toxic):
        assert client.call("POST", "/faults", order)[0] == 201
    (server,) = client.get("/cluster")["bootstrap_servers"]
    producer: Any = KafkaProducer(bootstrap_servers=server, client_id="mine")
    sent = producer.send("held", b"one")
    held = client.until("/faults", lambda found: any(each["hits"] for each in found))
    assert {each["id"] for each in held if each["is_in_force"]} == {"barrier", "watch", "late"}
    assert not sent.is_done
    deadline = time.monotonic() + DEADLINE_S
    while client.call("POST", "/faults/1/barrier/release", {})[1] == {"released": 0}:
        assert time.monotonic() < deadline
    assert sent.get(timeout=DEADLINE_S).offset == 0
    (passed,) = client.get("/faults/1/watch/passed")
    assert (passed["client_id"], passed["parts"], passed["errors"]) == ("mine", ["held-0"], [])
    assert client.call("GET", "/faults/1/barrier/passed")[0] == 404
    assert client.call("POST", "/faults/1/watch/release", {})[0] == 409
    assert client.call("DELETE", "/faults")[1] == {"done": "3 faults are taken off"}
    producer.close(timeout=DEADLINE_S)


def test_rates_and_latencies_of_requests_are_what_brokers_wrote_last(client: Client) -> None:
    rows = client.until("/requests", bool)
    assert {each["broker"] for each in rows} == {1}
    assert all(each["per_second"] > 0 and each["p99_us"] >= each["p50_us"] for each in rows)


def test_a_simulated_run_is_recorded_for_whoever_asks(client: Client) -> None:
    run = msgspec.convert(client.get("/runs/kip-112-leader-log-dir-fails/0"), RecordedRun)
    assert (run.name, run.seed, run.is_ok) == ("kip-112-leader-log-dir-fails", 0, True)
    disks = [frame.snapshot.brokers[0].log_dirs[0] for frame in run.frames]
    assert {disk.is_online for disk in disks} == {True, False}
    status, answer = client.call("GET", "/runs/nope/0")
    assert status == 409
    assert "no scenario is called nope" in answer["error"]
    assert client.call("GET", "/runs/a.yaml/0")[0] == 400


def test_faults_by_rule_are_put_in_force_counted_and_taken_off(
    client: Client, cluster: jbodlab.Cluster
) -> None:
    path = cluster.log_dir(1, 2).path
    rule = {"mode": "slow", "log_dir": path, "delay_ms": 1, "id": "sluggish"}
    status, answer = client.call("POST", "/faults", rule)
    assert (status, answer) == (201, {"broker": 1, "id": "sluggish"})
    (told,) = [each for each in client.get("/faults") if each["id"] == "sluggish"]
    assert told["is_in_force"]
    assert told["fault"]["delay_ms"] == 1
    assert client.call("DELETE", "/faults/1/sluggish")[0] == 200
    assert client.call("DELETE", "/faults/1/sluggish")[0] == 404
    assert client.call("DELETE", "/faults")[1] == {"done": "0 faults are taken off"}


def test_a_broker_is_paused_killed_and_started_again(client: Client) -> None:
    states = {"1": "paused"}
    assert client.call("POST", "/brokers/1/pause", {})[0] == 200
    assert client.get("/cluster")["brokers"] == states
    assert client.call("POST", "/brokers/1/resume", {})[0] == 200
    assert client.call("POST", "/brokers/1/start", {})[0] == 409
    assert client.call("POST", "/brokers/1/kill", {})[0] == 200
    assert client.get("/cluster")["brokers"] == {"1": "down"}
    assert client.call("POST", "/brokers/1/kill", {})[0] == 503
    assert client.call("POST", "/brokers/1/start", {})[0] == 202
    client.until("/cluster", lambda found: found["brokers"] == {"1": "running"})


def test_every_answer_has_the_shape_that_the_document_says(client: Client) -> None:
    described = client.get("/openapi.json")["paths"]
    assert sorted(described) == sorted({each.path for each in OPERATIONS})
    assert client.call("POST", "/topics", {"name": "shaped"})[0] == 201
    watch = {"mode": "observe", "broker": 1, "id": "watch"}
    assert client.call("POST", "/faults", watch)[0] == 201
    names = {"broker_id": 1, "topic": "shaped", "number": 1, "fault_id": "watch", "seed": 0}
    for each in OPERATIONS:
        if each.method == "GET" and each.name != "get_events":
            path = each.path.format(**names, plan="kip-112-leader-log-dir-fails")
            msgspec.convert(client.get(path), type=each.answer)
    assert client.call("DELETE", "/faults")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "word"),
    [
        ("GET", "/nowhere", None, 404, "/nowhere"),
        ("PUT", "/topics", None, 405, "PUT /topics"),
        ("GET", "/brokers/7/log-dirs", None, 404, "no broker 7, only 1"),
        ("POST", "/brokers/7/kill", {}, 404, "no broker 7, only 1"),
        ("POST", "/brokers/one/kill", {}, 404, "'one'"),
        ("POST", "/brokers/1/log-dirs/9/heal", {}, 404, "log dirs 1 to 2"),
        ("POST", "/brokers/1/log-dirs/1/fail", {"mode": "rust"}, 400, "'rust'"),
        ("POST", "/brokers/1/log-dirs/1/fail", {"mode": "slow"}, 400, "delay_ms"),
        ("POST", "/moves", {"topic": "orders"}, 400, "partition"),
        ("POST", "/topics", {"name": "a", "colour": "red"}, 400, "colour"),
        ("GET", "/topics/nothing/partitions", None, 404, "no topic nothing"),
        ("DELETE", "/topics/nothing", None, 409, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("POST", "/faults", {"mode": "eio", "log_dir": "data/b9/d9"}, 409, "no log dir"),
    ],
)
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_do(
    client: Client, method: str, path: str, body: Any, status: int, word: str
) -> None:
    found, answer = client.call(method, path, body)
    assert (found, word in answer["error"]) == (status, True), answer
    assert answer["what_to_do"]


def test_a_page_of_another_site_can_break_nothing(client: Client) -> None:
    origin = {"Origin": "http://evil.example"}
    assert client.call("POST", "/brokers/1/kill", {}, **origin)[0] == 403
    assert client.call("GET", "/cluster", Host="evil.example")[0] == 403
    assert client.get("/cluster")["brokers"] == {"1": "running"}


def test_with_a_token_only_who_says_it_is_heard(cluster: jbodlab.Cluster, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with served(cluster, "--host", "0.0.0.0", "--token-file", str(file)) as client:
        assert client.call("GET", "/cluster")[0] == 401
        bearer = {"Authorization": f"Bearer {TOKEN}", "Host": "lab.example"}
        assert client.call("GET", "/cluster", **bearer)[0] == 200


def test_the_command_line_of_another_host_drives_it_by_its_address(
    cluster: jbodlab.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    monkeypatch.chdir(tmp_path)  # Where there is no cluster file.
    with served(cluster, "--host", "0.0.0.0", "--token-file", str(file)) as client:
        monkeypatch.setenv("JBODLAB_API", f"http://127.0.0.1:{client.port}")
        assert "the token is missing" in run("status", code=ExitCode.USAGE).stderr
        monkeypatch.setenv("JBODLAB_API_TOKEN", TOKEN)
        told = answer("status")
        assert [each["name"] for each in told["processes"]] == ["controller", "broker-1"]
        assert all(each["pid"] for each in told["processes"])

        run("topics", "create", "driven", "--replication-factor", "1")
        (shown, _) = answer("log-dirs", "describe")
        assert shown["signs"] == []
        log_dir = str(Path(shown["path"]).relative_to(cluster.folder))
        run("log-dirs", "fail", log_dir)
        described = until_told("[Errno 5]", "log-dirs", "describe")
        assert f"{log_dir} " in described
        run("log-dirs", "heal", log_dir)
        assert answer("log-dirs", "restart", log_dir)["state"] == "done"

        run("faults", "add", "mode=slow", f"log_dir={log_dir}", "delay_ms=1", "--id", "sluggish")
        assert [each["id"] for each in answer("faults", "list")][-1] == "sluggish"
        assert [each["id"] for each in answer("faults", "clear", "sluggish")] == ["sluggish"]
        toxic = ("type=latency", "broker=1", "stream=downstream", "latency=5", "--id", "toxic")
        run("faults", "add", *toxic)
        assert answer("faults", "list")[-1]["fault"]["mode"] == "latency"
        run("faults", "clear")
        assert answer("rebalance", "plan")

        run("brokers", "pause", "1")
        assert "stand still" in run("faults", "list", code=ExitCode.NOT_RUNNING).stderr
        run("brokers", "resume", "1")
        before = answer("status")["processes"][1]["pid"]
        run("brokers", "restart", "1")
        assert answer("status")["processes"][1]["pid"] != before
        run("brokers", "kill", "1")
        assert "does not run" in run("log-dirs", "heal", log_dir, code=ExitCode.NOT_RUNNING).stderr
        run("brokers", "start", "1")
        run("topics", "delete", "driven")
        assert "run it where the cluster file is" in run("down", code=ExitCode.USAGE).stderr


def test_nodes_that_others_started_are_there_when_they_take_connections(
    cluster: jbodlab.Cluster, client: Client
) -> None:
    """As those of containers: nobody noted their processes."""
    notes = run_dir(cluster.folder / "cluster.yaml") / "state.json"
    written = notes.read_text()
    notes.unlink()
    try:
        assert client.get("/cluster")["brokers"] == {"1": "running"}
        nodes = {each["name"]: each for each in client.get("/nodes")}
        assert [(each["running"], each["pid"]) for each in nodes.values()] == [(True, None)] * 2
        assert client.call("POST", "/brokers/1/kill", {})[0] == 409
    finally:
        notes.write_text(written)


def wait_for_all(changes: Iterator[dict[str, Any]], kinds: set[str]) -> dict[str, dict[str, Any]]:
    """Return the first change of each kind, in whatever order they come."""
    found: dict[str, dict[str, Any]] = {}
    while kinds - found.keys():
        change = next(changes)
        found.setdefault(change["kind"], change)
    return found


def run(*words: str, code: ExitCode = ExitCode.OK) -> Result:
    result = jbodlab_command(*words)
    assert result.exit_code == code, result.output
    return result


def until_told(told: str, *words: str) -> str:
    """Run a command until it tells something: a disk is found dead when it is used next."""
    deadline = time.monotonic() + DEADLINE_S
    while told not in (said := run(*words).stdout):
        assert time.monotonic() < deadline, said
    return said


def answer(*words: str) -> Any:
    return json.loads(run(*words, "--json").stdout)


def leaders(partitions: list[dict[str, Any]]) -> list[int]:
    return [each["leader"] for each in partitions]


def places(log_dirs: list[dict[str, Any]], topic: str) -> list[int]:
    """Return the numbers of the log dirs that have a topic's replicas, those of moves included."""
    return [
        each["number"]
        for each in log_dirs
        for replica in each["replicas"]
        if replica["topic"] == topic
    ]
