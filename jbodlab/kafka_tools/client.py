"""One cluster, found by its bootstrap servers: which broker to ask, and in which version.

Works with any Apache Kafka from 2.4 on: versions are agreed on with each broker. It retries what
had the wrong controller or lost its connection, and nothing else. It knows no API's meaning.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Generator, Mapping
from typing import Any, Final, TypeVar

from jbodlab.asking.rpc import BlockingClient
from jbodlab.kafka_tools.core.failures import CONFIG, TIMEOUT, ToolFailure
from jbodlab.kafka_tools.core.properties import ClientSettings
from protocol.admin.cluster import BrokerView, cluster_view, metadata_request
from protocol.apis import APIS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.security.client import OPEN, ClientSecurity
from protocol.security.sasl_client import LoginRefusedError
from protocol.wire.table import META

_RETRY_S: Final = 0.1
_ANSWER_MARGIN_MS: Final = 5000
"""How much longer than the request's own timeout an answer is waited for."""

Pause = Callable[[float], None]
_Answer = TypeVar("_Answer")


class ClusterClient:
    """Connections to one cluster; close it, or use it as a context manager."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        security: ClientSecurity = OPEN,
        pause: Pause = time.sleep,
    ) -> None:
        """Note where to look; connects to nobody yet.

        Args:
            settings: where the cluster is, and how long to wait.
            security: what its listeners ask for.
            pause: waits that many seconds before a retry.

        Raises:
            ToolFailure: the bootstrap servers are no list of ``host:port``.
        """
        self.settings = settings
        self._security = security
        self._pause = pause
        self._clients: dict[tuple[str, int], BlockingClient] = {}
        self._versions: dict[tuple[str, int], dict[int, tuple[int, int]]] = {}
        self._bootstrap = [_address(word) for word in settings.bootstrap.split(",") if word.strip()]
        self._nodes: Mapping[int, BrokerView] = {}
        self._controller_id = -1

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()

    def nodes(self) -> Mapping[int, BrokerView]:
        """Return the live brokers by id, as they were when first asked for.

        Raises:
            ToolFailure: nobody answers.
        """
        if not self._nodes:
            self._look_around()
        return self._nodes

    def can(self, key: int) -> bool:
        """Whether the brokers offer an API.

        Raises:
            ToolFailure: nobody answers.
        """
        node = next(iter(self.nodes().values()))
        with _unreachable(f"{node.host}:{node.port}"):
            return key in self._offered((node.host, node.port))

    def newest(self, broker_id: int, key: int) -> int:
        """Return the newest version of an API that a broker offers; -1: none.

        Raises:
            ToolFailure: it is not in the cluster, or does not answer.
        """
        node = self._node(broker_id)
        with _unreachable(f"broker {broker_id}"):
            _, high = self._offered((node.host, node.port)).get(key, (0, -1))
        return high

    def ask(self, message: Any, *, version_max: int | None = None) -> Any:
        """Ask any broker that answers.

        Args:
            message: the request.
            version_max: the newest version that can carry it; None: any that both sides know.

        Raises:
            ToolFailure: none does.
            KafkaError: UNSUPPORTED_VERSION, or SASL_AUTHENTICATION_FAILED.
        """
        known = [(node.host, node.port) for node in self._nodes.values()]
        errors: list[str] = []
        for address in dict.fromkeys([*known, *self._bootstrap]):
            try:
                return self._request(address, message, version_max)
            except OSError as error:
                errors.append(f"{address[0]}:{address[1]}: {error}")
        raise _timeout(f"no broker answers ({'; '.join(errors)})")

    def ask_broker(self, broker_id: int, message: Any, *, version_max: int | None = None) -> Any:
        """Ask one broker.

        Args:
            broker_id: of the broker.
            message: the request.
            version_max: the newest version that can carry it; None: any that both sides know.

        Raises:
            ToolFailure: it is not in the cluster, or does not answer.
            KafkaError: UNSUPPORTED_VERSION.
        """
        node = self._node(broker_id)
        with _unreachable(f"broker {broker_id}"):
            return self._request((node.host, node.port), message, version_max)

    def ask_controller(self, message: Any, *, version_max: int | None = None) -> Any:
        """Ask the controller, and look for it anew for as long as it moves.

        Args:
            message: the request.
            version_max: the newest version that can carry it; None: any that both sides know.

        Raises:
            ToolFailure: it was not found before the timeout.
            KafkaError: UNSUPPORTED_VERSION.
        """
        deadline = time.monotonic() + self.settings.api_timeout_ms / 1000
        self.nodes()
        while True:
            reason = f"the controller is broker {self._controller_id}, which is not there"
            node = self._nodes.get(self._controller_id)
            if node is not None:
                try:
                    answer = self._request((node.host, node.port), message, version_max)
                except OSError as error:
                    reason = f"broker {node.id}: {error}"
                else:
                    if not _is_elsewhere(answer):
                        return answer
                    reason = f"broker {node.id} is not the controller"
            if time.monotonic() > deadline:
                raise _timeout(f"the controller does not answer ({reason})")
            self._pause(_RETRY_S)
            self._look_around()

    def insist(self, attempt: Callable[[], _Answer], passing: Collection[ErrorCode]) -> _Answer:
        """Repeat an attempt for as long as it meets errors that pass, and return its answer.

        Raises:
            ToolFailure: they did not pass before the timeout.
            KafkaError: another one.
        """
        deadline = time.monotonic() + self.settings.api_timeout_ms / 1000
        while True:
            try:
                return attempt()
            except KafkaError as error:
                if error.code not in passing:
                    raise
                if time.monotonic() > deadline:
                    raise _timeout(f"the cluster still answers {error}") from error
            self._pause(_RETRY_S)
            self._look_around()

    def _node(self, broker_id: int) -> BrokerView:
        node = self.nodes().get(broker_id)
        if node is None:
            raise _timeout(f"broker {broker_id} is not in the cluster")
        return node

    def _look_around(self) -> None:
        view = cluster_view(self.ask(metadata_request([])))
        self._controller_id = view.controller_id
        self._nodes = view.brokers

    def _request(
        self, address: tuple[str, int], message: Any, version_max: int | None = None
    ) -> Any:
        try:
            return self._agreed_request(address, message, version_max)
        except LoginRefusedError as error:
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)) from error

    def _agreed_request(
        self, address: tuple[str, int], message: Any, version_max: int | None
    ) -> Any:
        key = META[type(message)].api_key
        assert key is not None
        ours = APIS[key].versions
        low, high = self._offered(address).get(key, (0, -1))
        version = min(high, ours.high if version_max is None else version_max)
        if version < max(low, ours.low):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"The broker does not support {APIS[key].name}",
            )
        return self._client(address).request(message, version)

    def _offered(self, address: tuple[str, int]) -> dict[int, tuple[int, int]]:
        """Return the versions by API key; asks once per address."""
        if address not in self._versions:
            request = ApiVersionsRequest(client_software_name="", client_software_version="")
            answer = self._client(address).request(request, 0)
            self._versions[address] = {
                api.api_key: (api.min_version, api.max_version) for api in answer.api_keys
            }
        return self._versions[address]

    def _client(self, address: tuple[str, int]) -> BlockingClient:
        if address not in self._clients:
            host, port = address
            self._clients[address] = BlockingClient(
                host,
                port,
                timeout_ms=self.settings.request_timeout_ms + _ANSWER_MARGIN_MS,
                client_id=self.settings.client_id,
                security=self._security,
            )
        return self._clients[address]


def _address(word: str) -> tuple[str, int]:
    host, separator, port = word.strip().rpartition(":")
    if not (separator and port.isascii() and port.isdigit()):
        raise ToolFailure(CONFIG, f"Invalid url in bootstrap.servers: {word.strip()}")
    return host.strip("[]"), int(port)


@contextlib.contextmanager
def _unreachable(who: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise _timeout(f"{who} does not answer ({error})") from error


def _timeout(message: str) -> ToolFailure:
    return ToolFailure(TIMEOUT, message)


def _is_elsewhere(answer: Any) -> bool:
    """Whether an answer, or any part of it, says that the controller is another broker."""
    parts = [answer]
    for name in ("topics", "responses", "results"):
        parts += getattr(answer, name, ())
    return any(getattr(part, "error_code", 0) == ErrorCode.NOT_CONTROLLER for part in parts)
