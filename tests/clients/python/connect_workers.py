"""Workers of Kafka Connect that are one cluster, and their REST API. It knows no connector."""

from __future__ import annotations

import json
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from jbodlab.processes.free_ports import LOOPBACK, free_ports
from tests.clients.builds import JVM_FLAGS
from tests.clients.python.ledger import DEADLINE_S, REPLICAS, MissedError

WORKERS: Final = 2
MAIN: Final = "org.apache.kafka.connect.cli.ConnectDistributed"
PAUSE_S: Final = 0.1
_NOT_YET: Final = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
"""Answered by who has not heard of a connector, has to ask one that is gone, or shares anew."""
_FILE: Final = """\
bootstrap.servers={bootstrap}
group.id={group}
listeners=http://{address}
exactly.once.source.support=enabled
plugin.discovery=service_load
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.topic={group}-offsets
offset.storage.replication.factor={replicas}
offset.storage.partitions=5
config.storage.topic={group}-configs
config.storage.replication.factor={replicas}
status.storage.topic={group}-status
status.storage.replication.factor={replicas}
offset.flush.interval.ms=500
session.timeout.ms=6000
heartbeat.interval.ms=1000
scheduled.rebalance.max.delay.ms=1000
"""


class Workers:
    """Some that run; any of them is asked."""

    def __init__(self, group: str, processes: Mapping[str, subprocess.Popen[bytes]]) -> None:
        """Take each by the address of its REST API."""
        self.group = group
        self._processes = dict(processes)

    def wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition.

        Raises:
            MissedError: it does not come, or a worker ended.
        """
        end = time.monotonic() + DEADLINE_S
        while not condition():
            ended = [
                each.returncode for each in self._processes.values() if each.poll() is not None
            ]
            if ended:
                raise MissedError(f"a worker ended with {ended[0]}")
            if time.monotonic() > end:
                raise MissedError(f"not so after {DEADLINE_S} s: {what}")
            threading.Event().wait(PAUSE_S)

    def ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """Return what the REST API answers; ask again while the workers are not at one.

        Raises:
            MissedError: it refuses.
        """
        end = time.monotonic() + DEADLINE_S
        while True:
            for address in self._processes:
                answer = _asked(method, f"http://{address}/{path}", body)
                if answer is not None:
                    return answer
            if time.monotonic() > end:
                raise MissedError(f"no worker answers {method} {path}")
            threading.Event().wait(PAUSE_S)

    def is_running(self, name: str) -> bool:
        """Tell whether a connector and all its tasks run.

        Raises:
            MissedError: one failed.
        """
        status = self.ask("GET", "connectors?expand=status").get(name)
        if status is None:
            return False
        parts = [status["status"]["connector"], *status["status"]["tasks"]]
        for part in parts:
            if part["state"] == "FAILED":
                raise MissedError(f"{name} failed: {part['trace'].splitlines()[0]}")
        return len(parts) > 1 and all(part["state"] == "RUNNING" for part in parts)

    def start(self, name: str, configs: Mapping[str, str]) -> None:
        """Create a connector; wait until it runs."""
        self.ask("PUT", f"connectors/{name}/config", configs)
        self.wait_until(f"{name} runs", lambda: self.is_running(name))

    def forget(self, name: str) -> None:
        """Stop a connector, take its offsets from it, delete it."""
        self.ask("PUT", f"connectors/{name}/stop")
        self.wait_until(
            f"{name} is stopped",
            lambda: self.ask("GET", f"connectors/{name}/status")["tasks"] == [],
        )
        self.ask("DELETE", f"connectors/{name}/offsets")
        if offsets := self.ask("GET", f"connectors/{name}/offsets")["offsets"]:
            raise MissedError(f"{name} has offsets still: {offsets}")
        self.ask("DELETE", f"connectors/{name}")
        self.wait_until(f"{name} is deleted", lambda: name not in self.ask("GET", "connectors"))

    def kill_worker_of(self, name: str) -> None:
        """Kill who runs the first task of a connector."""
        (task, *_) = self.ask("GET", f"connectors/{name}/status")["tasks"]
        process = self._processes.pop(task["worker_id"])
        process.kill()
        process.wait()


def _asked(method: str, url: str, body: Mapping[str, str] | None) -> Any:
    """Return what is answered; None where it has to be asked again."""
    request = urllib.request.Request(
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as response:
            text = response.read()
            return json.loads(text) if text else {}
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace")
        if error.code not in _NOT_YET:
            raise MissedError(f"{method} {url} is answered {error.code}: {said}") from error
    except OSError:
        pass  # It does not listen yet, or no longer.
    return None


@contextmanager
def workers(libs: Path, bootstrap: Sequence[str], group: str, folder: Path) -> Generator[Workers]:
    """Run ``WORKERS`` for the length of a block; ``folder`` gets what they write."""
    addresses = [f"{LOOPBACK}:{port}" for port in free_ports(WORKERS)]
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for number, address in enumerate(addresses):
            file = folder / f"worker-{number}.properties"
            words = {"bootstrap": ",".join(bootstrap), "group": group, "address": address}
            file.write_text(_FILE.format(replicas=REPLICAS, **words))
            command = ["java", *JVM_FLAGS, "-cp", f"{libs}/*", MAIN, str(file)]
            with (folder / f"worker-{number}.log").open("wb") as log:
                processes[address] = subprocess.Popen(command, stdout=log, stderr=log)
        found = Workers(group, processes)
        for address in addresses:
            found.wait_until(
                "the REST API answers",
                lambda at=address: _asked("GET", f"http://{at}/connectors", None) is not None,
            )
        yield found
    finally:
        for process in processes.values():
            process.kill()
        for process in processes.values():
            process.wait()
