"""A lab elsewhere: who is asked, with which token, and what is said of a refusal."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import msgspec
import pytest

from jbodlab.asking.lab_elsewhere import LabApi, LabElsewhere
from jbodlab.asking.lab_values import BrokerPlace, ClusterPlaces
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.free_ports import free_port

PLACES = ClusterPlaces(
    config_path="/opt/lab/cluster.yaml",
    controller="running",
    brokers=(
        BrokerPlace(
            id=7,
            host="kafka.example",
            port=9092,
            rack="a",
            state="paused",
            log_dirs=("/opt/lab/data/d1", "/disks/d2"),
        ),
    ),
)


class Asked(NamedTuple):
    method: str
    path: str
    token: str | None
    body: bytes


@contextmanager
def serving(answers: Mapping[str, tuple[int, Any]]) -> Generator[tuple[str, list[Asked]]]:
    """Answer by path; give the address and what was asked."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append(Asked(self.command, self.path, self.headers["Authorization"], body))
            status, content = answers[self.path]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(msgspec.json.encode(content))

        do_GET = do_POST = answer  # noqa: N815 - its names

        def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - its name

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


def test_log_dirs_have_the_names_that_they_have_at_the_lab() -> None:
    with serving({"/places": (200, PLACES)}) as (url, _):
        lab = LabElsewhere(LabApi(url))
    (broker,) = lab.brokers
    assert (broker.advertised_host, broker.rack) == ("kafka.example", "a")
    assert [lab.short(each.path) for each in broker.log_dirs] == ["data/d1", "/disks/d2"]
    for name, path in (("data/d1", "/opt/lab/data/d1"), ("/disks/d2", "/disks/d2")):
        assert lab.log_dir(name) == (broker, path)
    assert lab.state("broker-7") == "paused"
    with pytest.raises(LabError, match="there are data/d1, /disks/d2"):
        lab.log_dir("data/d3")


def test_requests_for_a_control_endpoint_are_passed_on_with_the_token() -> None:
    path = "/brokers/7/control/log-dirs/heal"
    with serving({"/places": (200, PLACES), path: (200, {"cleared": 1})}) as (url, asked):
        lab = LabElsewhere(LabApi(f"{url}/#token=secret", token="not this one"))
        assert lab.control(7).heal("/disks/d2") == {"cleared": 1}
        assert lab.api.link == f"{url}/#token=secret"
    assert asked == [
        Asked("GET", "/places", "Bearer secret", b""),
        Asked("POST", path, "Bearer secret", b'{"path": "/disks/d2"}'),
    ]


def test_a_proxy_may_serve_it_below_a_path() -> None:
    with serving({"/lab/nodes": (200, [])}) as (url, _):
        assert LabApi(f"{url}/lab/").call("GET", "/nodes") == b"[]"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, ExitCode.USAGE),
        (404, ExitCode.FAILED),
        (409, ExitCode.FAILED),
        (503, ExitCode.NOT_RUNNING),
        (504, ExitCode.TIMED_OUT),
    ],
)
def test_a_refusal_is_told_in_its_words(status: int, code: ExitCode) -> None:
    refusal = {"error": "it is so", "what_to_do": "do this"}
    with serving({"/nodes": (status, refusal)}) as (url, _), pytest.raises(LabError) as told:
        LabApi(url).call("GET", "/nodes")
    assert (told.value.exit_code, str(told.value)) == (code, "it is so; do this")


def test_who_is_no_lab_is_told_apart() -> None:
    with serving({"/places": (200, {"hello": 1})}) as (url, _), pytest.raises(LabError) as told:
        LabElsewhere(LabApi(url))
    assert "is no HTTP API of this release of jbodlab" in str(told.value)
    with serving({"/places": (404, [])}) as (url, _), pytest.raises(LabError) as told:
        LabElsewhere(LabApi(url))
    assert str(told.value) == f"{url} answers '[]'"


def test_a_server_that_does_not_answer_is_told() -> None:
    port = free_port()
    with pytest.raises(LabError, match="does `jbodlab serve` run there") as told:
        LabApi(f"http://127.0.0.1:{port}").call("GET", "/places")
    assert told.value.exit_code == ExitCode.NOT_RUNNING


@pytest.mark.parametrize("url", ["kafka:9092", "ftp://x", "http://", "http://x:70000", "8099"])
def test_what_is_no_address_is_told(url: str) -> None:
    with pytest.raises(LabError, match="is no address of an HTTP API") as told:
        LabApi(url)
    assert told.value.exit_code == ExitCode.USAGE
