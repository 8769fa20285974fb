"""The HTTP API of a real cluster: what it shows, what it breaks and mends, what it tells."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from kafka import KafkaProducer

import jbodlab
from jbodlab.http_api.core.operations import OPERATIONS, RecordedRun
from jbodlab.processes.cluster import Cluster as ClusterProcesses
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST, PATIENT_MS

pytestmark = pytest.mark.sampled_among("the HTTP API", kept=6)

PROJECT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", jbodlab.__name__, "serve")


class Client:
    """Asks one server, as any language's HTTP client does."""

    def __init__(self, address: str) -> None:
        self.port = urlsplit(address).port
        assert self.port

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        content = None if body is None else json.dumps(body)
        sent = {"Content-Type": "application/json", **headers}
        connection.request(method, path, content, sent)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response.status, json.loads(answer)

    def get(self, path: str) -> Any:
        status, answer = self.call("GET", path)
        assert status == 200, answer
        return answer

    def until(self, path: str, holds: Callable[[Any], bool]) -> Any:
        deadline = time.monotonic() + DEADLINE_S
        while not holds(answer := self.get(path)):
            assert time.monotonic() < deadline, answer
        return answer

    @contextmanager
    def events(self) -> Generator[Iterator[dict[str, Any]]]:
        """Listen; the first line tells that the server hears."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        connection.request("GET", "/events")
        response = connection.getresponse()
        assert response.readline() == b": jbodlab\n"

        def changes() -> Iterator[dict[str, Any]]:
            while line := response.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])["change"]

        yield changes()
        response.close()
        connection.close()


@contextmanager
def served(cluster: jbodlab.Cluster, *options: str) -> Generator[Client]:
    config = str(cluster.folder / "cluster.yaml")
    server = subprocess.Popen(
        [*COMMAND, "--config", config, "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    )
    try:
        assert server.stdout is not None
        yield Client(json.loads(server.stdout.readline())["address"])
    finally:
        server.terminate()
        server.communicate(timeout=DEADLINE_S)


@pytest.fixture(scope="module")
def cluster() -> Generator[jbodlab.Cluster]:
    with jbodlab.Cluster(
        brokers=1, log_dirs=2, configs=FAST, session_timeout_ms=PATIENT_MS
    ) as cluster:
        yield cluster
        # Those that the server started are not known to the one that began with others.
        ClusterProcesses(cluster.folder / "cluster.yaml").stop()


@pytest.fixture(scope="module")
def client(cluster: jbodlab.Cluster) -> Generator[Client]:
    with served(cluster) as client:
        yield client


def wait_for(changes: Iterator[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(each for each in changes if each["kind"] == kind)


def test_a_disk_breaks_and_comes_back_and_every_step_is_told(client: Client) -> None:
    with client.events() as changes:
        status, _ = client.call("POST", "/topics", {"name": "orders", "partitions": 2})
        assert status == 201
        assert wait_for(changes, "topic_created")["topic"] == "orders"
        status, answer = client.call("POST", "/brokers/1/log-dirs/1/fail", {"mode": "eio"})
        assert (status, answer) == (200, {"done": "log dir 1 of broker 1 fails with eio"})
        assert wait_for(changes, "fault_added")["broker"] == 1
        failed = wait_for(changes, "log_dir_failed")
        assert (failed["broker"], failed["log_dir"]) == (1, 1)
        assert wait_for(changes, "leader_changed")["new"] == -1
        assert client.call("POST", "/brokers/1/log-dirs/1/restart", {})[0] == 409
        assert client.call("POST", "/brokers/1/log-dirs/1/heal", {})[0] == 200
        status, answer = client.call("POST", "/brokers/1/log-dirs/1/restart", {})
        assert status == 202
        assert wait_for(changes, "log_dir_returned")["log_dir"] == 1
        client.until(answer["look_at"], lambda found: all(each["is_online"] for each in found))
        assert wait_for(changes, "leader_changed")["new"] == 1
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
    file.write_text("0123456789abcdef\n")
    with served(cluster, "--host", "0.0.0.0", "--token-file", str(file)) as client:
        assert client.call("GET", "/cluster")[0] == 401
        bearer = {"Authorization": "Bearer 0123456789abcdef", "Host": "lab.example"}
        assert client.call("GET", "/cluster", **bearer)[0] == 200


def places(log_dirs: list[dict[str, Any]], topic: str) -> list[int]:
    """Return the numbers of the log dirs that have a topic's replicas, those of moves included."""
    return [
        each["number"]
        for each in log_dirs
        for replica in each["replicas"]
        if replica["topic"] == topic
    ]
