"""A lab elsewhere, known by the address of its HTTP API: its brokers, disks and processes."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from jbodlab.asking.control import ControlClient
from jbodlab.asking.lab_values import BrokerPlace, ClusterPlaces, NodeState, NodeStatus
from jbodlab.asking.layout import Layout, broker_at
from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.spec import BrokerSpec
from protocol.faults.model import CONTROLLER_NODE, broker_node

TOKEN_VARIABLE: Final = "JBODLAB_API_TOKEN"
"""Of the environment: what an HTTP API beyond loopback wants to hear."""
TIMEOUT_S: Final = 120
"""Of one answer: a broker that is started or stopped is waited for there."""
_TOKEN: Final = "token="
_EXIT_CODES: Final = {
    400: ExitCode.USAGE,
    401: ExitCode.USAGE,
    403: ExitCode.USAGE,
    503: ExitCode.NOT_RUNNING,
    504: ExitCode.TIMED_OUT,
}


class LabApi:
    """Asks one HTTP API; every call is a connection of its own.

    Args:
        url: where it is; behind a ``#token=`` may be the token, as in a link to the console.
        token: what it wants to hear, if the address does not say it.
        timeout_s: of one answer.

    Raises:
        LabError: USAGE, for what is no such address.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        self._parts = _parts(url)
        self.url = self._parts._replace(fragment="").geturl().rstrip("/")
        in_address = self._parts.fragment.removeprefix(_TOKEN)
        self._token = in_address or token
        self._timeout_s = timeout_s

    @property
    def link(self) -> str:
        """The address of its console, with the token."""
        return f"{self.url}/#{_TOKEN}{self._token}" if self._token else f"{self.url}/"

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        """Send a request; return the body of its answer.

        Raises:
            LabError: what it refuses, in its words; NOT_RUNNING when it does not answer.
        """
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        content = None if body is None else json.dumps(body)
        connection = self._connection()
        try:
            connection.request(method, f"{self._parts.path.rstrip('/')}{path}", content, headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            words = f"{self.url} does not answer ({error}): does `jbodlab serve` run there?"
            raise LabError(ExitCode.NOT_RUNNING, words) from error
        finally:
            connection.close()
        if response.status >= 400:
            code = _EXIT_CODES.get(response.status, ExitCode.FAILED)
            raise LabError(code, _refusal(answer, self.url))
        return answer

    def _connection(self) -> http.client.HTTPConnection:
        is_tls = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
        assert self._parts.hostname is not None, "it was checked"
        return kind(self._parts.hostname, self._parts.port, timeout=self._timeout_s)


class LabElsewhere(Layout):
    """The cluster of a lab elsewhere, as its HTTP API told it at the beginning.

    Raises:
        LabError: as ``LabApi.call``.
    """

    def __init__(self, api: LabApi) -> None:
        self.api = api
        answer = api.call("GET", "/places")
        try:
            places = msgspec.json.decode(answer, type=ClusterPlaces)
        except msgspec.DecodeError as error:
            words = f"{api.url} is no HTTP API of this release of jbodlab ({error})"
            raise LabError(ExitCode.FAILED, words) from error
        super().__init__(map(_broker, places.brokers), Path(places.config_path))
        self._states: dict[str, NodeState] = {
            broker_node(each.id): each.state for each in places.brokers
        }
        self._states[CONTROLLER_NODE] = places.controller

    def state(self, name: str) -> NodeState:
        """Return how the process of a node is."""
        return self._states[name]

    def nodes(self) -> list[NodeStatus]:
        """Return how all nodes are now."""
        return msgspec.json.decode(self.api.call("GET", "/nodes"), type=list[NodeStatus])

    def control(self, broker_id: int) -> ControlClient:
        """Return the control endpoint of a broker, which the HTTP API passes requests on to."""
        return _PassedOn(self.api, broker_id)

    def order(self, broker_id: int, verb: str) -> None:
        """Have a broker killed, paused, resumed, stopped, started or restarted; wait for it.

        Raises:
            LabError: as ``LabApi.call``.
        """
        body = {"wait": True} if verb in {"stop", "start", "restart"} else {}
        self.api.call("POST", f"/brokers/{broker_id}/{verb}", body)


class _PassedOn(ControlClient):
    """A control endpoint behind an HTTP API."""

    def __init__(self, api: LabApi, broker_id: int) -> None:
        super().__init__(broker_id, control_port=0)
        self._api = api

    def exchange(self, method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
        return self._api.call(method, f"/brokers/{self.broker_id}/control{path}", body)


def _parts(url: str) -> SplitResult:
    parts = urlsplit(url)
    try:
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        words = f"--api: {url!r} is no address of an HTTP API, as in http://localhost:8099"
        raise LabError(ExitCode.USAGE, words)
    return parts


def _broker(place: BrokerPlace) -> BrokerSpec:
    return broker_at(place.id, place.host, place.port, rack=place.rack, log_dirs=place.log_dirs)


def _refusal(answer: bytes, url: str) -> str:
    """Return what a refusal says."""
    try:
        told = json.loads(answer)
        words = [str(told["error"]), *(str(told[key]) for key in ("what_to_do",) if key in told)]
        return "; ".join(words)
    except (ValueError, KeyError, TypeError):
        return f"{url} answers {answer[:200].decode(errors='replace')!r}"
