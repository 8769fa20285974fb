"""One blocking connection to a broker or the controller, for tools: ask, wait, get the answer.

Brokers use ``protocol.transport``; this one is for code that has no event loop.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Generator, Sequence
from typing import Any, Final

from protocol.apis import APIS
from protocol.connection import ClientConnection
from protocol.errors import Malformed, MalformedAnswer
from protocol.ids import TOOL_CLIENT_ID
from protocol.security.client import OPEN, ClientSecurity
from protocol.security.sasl_client import Asked, exchange
from protocol.wire.fast import codec
from protocol.wire.table import META

TIMEOUT_MS: Final = 30_000
NEVER: Final = math.inf


class BlockingClient:
    """Connects on first use; a connection that was lost meanwhile is made again."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_ms: int = TIMEOUT_MS,
        client_id: str = TOOL_CLIENT_ID,
        security: ClientSecurity = OPEN,
    ) -> None:
        self.host = host
        self.port = port
        self._timeout_ms = timeout_ms
        self._client_id = client_id
        self._security = security
        self._session_ends = NEVER
        """In seconds of the monotonic clock: a login may hold for a time only."""
        self._socket: socket.socket | None = None
        self._connection = ClientConnection(client_id)

    def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        """Send one request; return the decoded response.

        ``timeout_ms`` takes the place of the client's own for this request.

        Raises:
            OSError: the node cannot be reached, hung up, did not answer in time, or not so that
                it can be read (MalformedAnswer), or refuses the login (LoginRefusedError).
        """
        key = META[type(message)].api_key
        assert key is not None
        api = APIS[key]
        body = codec(api.request, version).encode_parts(message)
        self._drop_if_closed()
        timeout_s = (self._timeout_ms if timeout_ms is None else timeout_ms) / 1000
        try:
            if self._socket is None:
                self._connect(timeout_s)
            answer = self._exchange(api.key, version, body, timeout_s)
        except OSError:
            self.close()
            raise
        except Malformed as error:
            self.close()
            raise MalformedAnswer(f"{self.host}:{self.port} sent no answer: {error}") from error
        try:
            return codec(api.response, version).decode(answer)
        except Malformed as error:
            self.close()
            where = f"{self.host}:{self.port}"
            raise MalformedAnswer(f"{where} sent no answer to {api.name}: {error}") from error

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._connection = ClientConnection(self._client_id)

    def _drop_if_closed(self) -> None:
        """Forget a connection that the other end has closed, as by a restart."""
        if self._socket is None:
            return
        if time.monotonic() > self._session_ends or _is_over(self._socket):
            self.close()

    def _connect(self, timeout_s: float) -> None:
        """Connect, shake hands and log in."""
        made = socket.create_connection((self.host, self.port), timeout=timeout_s)
        self._socket = made
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls, login = self._security
        if tls is not None:
            self._socket = tls.wrap_socket(made, server_hostname=self.host)
        self._session_ends = NEVER
        if login is not None:
            lifetime_ms = self._log_in(exchange(login), timeout_s)
            if lifetime_ms:
                self._session_ends = time.monotonic() + lifetime_ms / 1000

    def _log_in(self, going: Generator[Asked, Any, int], timeout_s: float) -> int:
        try:
            key, version, request = next(going)
            while True:
                body = codec(APIS[key].request, version).encode_parts(request)
                answer = self._exchange(key, version, body, timeout_s)
                key, version, request = going.send(
                    codec(APIS[key].response, version).decode(answer)
                )
        except StopIteration as end:
            return end.value

    def _exchange(
        self, key: int, version: int, body: Sequence[Any], timeout_s: float
    ) -> memoryview:
        assert self._socket is not None
        self._socket.settimeout(timeout_s)
        self._socket.sendall(b"".join(self._connection.send_request(key, version, body)))
        while True:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError(f"{self.host}:{self.port} closed the connection")
            for response in self._connection.receive_data(data):
                return response.body


def _is_over(connection: socket.socket) -> bool:
    """Tell whether the other end has hung up: nothing was asked, so it can say nothing else."""
    connection.settimeout(0)
    try:
        connection.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True
    return True
