"""Asks a broker's control endpoint: JSON over HTTP on loopback. Knows no Kafka protocol."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jbodlab.errors import ExitCode, LabError

HOST: Final = "127.0.0.1"
TIMEOUT_S: Final = 30


class ControlClient:
    """The control endpoint of one broker; every call is a connection of its own."""

    def __init__(self, broker_id: int, control_port: int, *, timeout_s: float = TIMEOUT_S) -> None:
        self.broker_id = broker_id
        self.control_port = control_port
        self._timeout_s = timeout_s

    def status(self) -> dict[str, Any]:
        """Return what the broker says of itself."""
        return self._call("GET", "/status", None)

    def log_dirs(self) -> list[dict[str, Any]]:
        """Return the state of each log dir, faults and hit counts included."""
        return self._call("GET", "/log-dirs", None)["log_dirs"]

    def replicas(self) -> dict[str, Any]:
        """Return all replicas and log dirs with their offsets, as they are at one moment."""
        return self._call("GET", "/replicas", None)

    def metrics(self) -> str:
        """Return the broker's metrics as Prometheus reads them."""
        return self.exchange("GET", "/metrics", None).decode()

    def faults(self) -> list[dict[str, Any]]:
        """Return every fault that was set, with its ``id``, rule, matches and hits."""
        return self._call("GET", "/faults", None)["faults"]

    def add_faults(self, faults: Sequence[Mapping[str, Any]]) -> list[str]:
        """Set faults, as in the cluster file, each with an ``id`` if it likes; return the ids."""
        return self._call("POST", "/faults", {"faults": list(faults)})["ids"]

    def clear_faults(self, ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Take faults off, all by default; return them as they were."""
        return self._call("POST", "/faults/clear", {"ids": None if ids is None else list(ids)})[
            "cleared"
        ]

    def release(self, fault_id: str, count: int | None = None) -> int:
        """Let requests go on that a fault of mode hold holds, all or the first; return how many."""
        body = {"id": fault_id, "count": count}
        return self._call("POST", "/faults/release", body)["released"]

    def passed(self) -> dict[str, list[dict[str, Any]]]:
        """Return by id the newest requests that faults of mode observe saw."""
        return self._call("GET", "/faults/passed", None)["passed"]

    def fail(self, path: str, mode: str, **options: int) -> dict[str, Any]:
        """Break a log dir: eio, enospc, read_only, hang, slow (``delay_ms``), ..."""
        return self._call("POST", "/log-dirs/fail", {"path": path, "mode": mode, **options})

    def heal(self, path: str) -> dict[str, Any]:
        """Take the faults off a log dir; Kafka uses it again after a restart of the broker."""
        return self._call("POST", "/log-dirs/heal", {"path": path})

    def restart(self, path: str) -> dict[str, Any]:
        """Begin to bring a repaired log dir back; ``log_dirs`` tells how far it is."""
        return self._call("POST", "/log-dirs/restart", {"path": path})

    def replace(
        self,
        path: str,
        *,
        accept_loss: bool,
        force: bool = False,
        throttle_bytes_per_second: int | None = None,
    ) -> dict[str, Any]:
        """Begin to put an empty disk in the place of a log dir, by ``force`` of one that works."""
        body = {
            "path": path,
            "accept_loss": accept_loss,
            "force": force,
            "throttle_bytes_per_second": throttle_bytes_per_second,
        }
        return self._call("POST", "/log-dirs/replace", body)

    def restart_partition(self, topic: str, partition: int, *, accept_loss: bool = False) -> str:
        """Begin to bring one offline partition back; return the path of its log dir."""
        body = {"topic": topic, "partition": partition, "accept_loss": accept_loss}
        path: str = self._call("POST", "/partitions/restart", body)["path"]
        return path

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        content = self.exchange(method, path, body)
        try:
            return json.loads(content or b"{}")
        except ValueError as error:
            raise self._no_answer(error) from error

    def exchange(self, method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
        """Send any request; return the body of its answer.

        Raises:
            LabError: FAILED with what the broker refuses, NOT_RUNNING when it does not answer.
        """
        connection = http.client.HTTPConnection(HOST, self.control_port, timeout=self._timeout_s)
        try:
            connection.request(
                method,
                path,
                body=None if body is None else json.dumps(body),
                headers={"Content-Type": "application/json"},
            )
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._no_answer(error) from error
        finally:
            connection.close()
        if response.status >= 400:
            raise LabError(ExitCode.FAILED, f"broker {self.broker_id}: {_told(content)}")
        return content

    def _no_answer(self, error: Exception) -> LabError:
        return LabError(
            ExitCode.NOT_RUNNING,
            f"broker {self.broker_id} does not answer on its control port "
            f"{HOST}:{self.control_port} ({error}); is it running? try `jbodlab status`",
        )


def _told(content: bytes) -> str:
    """Return what a refusal says."""
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return content.decode(errors="replace")
