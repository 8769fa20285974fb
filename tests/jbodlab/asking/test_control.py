"""The control client speaks JSON and turns refusals into one line."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from jbodlab.asking.control import ControlClient
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.free_ports import free_port


@contextmanager
def endpoint(status: int, content: Any) -> Generator[tuple[ControlClient, list[Any]]]:
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            asked.append((self.command, self.path, body))
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815 - the base class asks for these names

        def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield ControlClient(1, server.server_address[1]), asked
        finally:
            server.shutdown()
            thread.join()


def test_a_fault_names_path_mode_and_delay() -> None:
    with endpoint(200, {}) as (client, asked):
        client.fail("/d1", "slow", delay_ms=5)
        client.heal("/d1")
    assert asked == [
        ("POST", "/log-dirs/fail", {"path": "/d1", "mode": "slow", "delay_ms": 5}),
        ("POST", "/log-dirs/heal", {"path": "/d1"}),
    ]


def test_faults_are_set_told_and_cleared_by_their_ids() -> None:
    with endpoint(200, {"ids": ["a"], "faults": [{"id": "a"}], "cleared": []}) as (client, asked):
        assert client.add_faults([{"id": "a", "mode": "eio"}]) == ["a"]
        assert client.faults() == [{"id": "a"}]
        assert client.clear_faults(["a"]) == []
    assert asked == [
        ("POST", "/faults", {"faults": [{"id": "a", "mode": "eio"}]}),
        ("GET", "/faults", None),
        ("POST", "/faults/clear", {"ids": ["a"]}),
    ]


def test_metrics_are_returned_as_text() -> None:
    with endpoint(200, "a 1") as (client, asked):
        assert client.metrics() == '"a 1"'
    assert asked == [("GET", "/metrics", None)]


def test_status_and_log_dirs_are_returned_as_they_come() -> None:
    with endpoint(200, {"log_dirs": [{"path": "/d1"}]}) as (client, asked):
        assert client.status() == {"log_dirs": [{"path": "/d1"}]}
        assert client.log_dirs() == [{"path": "/d1"}]
    assert [path for _, path, _ in asked] == ["/status", "/log-dirs"]


def test_a_refusal_is_the_brokers_own_sentence() -> None:
    with (
        endpoint(404, {"error": "/x is no log dir"}) as (client, _),
        pytest.raises(LabError, match="broker 1: /x is no log dir") as caught,
    ):
        client.fail("/x", "eio")
    assert caught.value.exit_code is ExitCode.FAILED


def test_nobody_there_says_what_to_try() -> None:
    port = free_port()
    with pytest.raises(LabError, match="try `jbodlab status`") as caught:
        ControlClient(2, port).status()
    assert caught.value.exit_code is ExitCode.NOT_RUNNING
