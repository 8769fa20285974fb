"""A server of the HTTP API as a process, and a client of it as any language has one."""

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

import jbodlab
from tests.deadlines import DEADLINE_S

PROJECT = Path(__file__).parents[2]
TOKEN = "0123456789abcdef"
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

        try:
            yield changes()
        finally:
            response.close()
            connection.close()


@contextmanager
def served(
    cluster: jbodlab.Cluster, *options: str, config: str = "cluster.yaml"
) -> Generator[Client]:
    """Serve the cluster; it is nobody's under another file's name: the notes go by that."""
    file = cluster.folder / config
    file.write_bytes((cluster.folder / "cluster.yaml").read_bytes())
    server = subprocess.Popen(
        [*COMMAND, "--config", str(file), "--port", "0", "--json", *options],
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
