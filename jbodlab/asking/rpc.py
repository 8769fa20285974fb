"""One blocking connection to a broker or the controller, for tools: ask, wait, get the answer.

Brokers use ``protocol.transport``; this one is for code that has no event loop.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Sequence
from typing import Any, Final

from protocol.apis import APIS
from protocol.connection import ClientConnection
from protocol.errors import Malformed, MalformedAnswer
from protocol.ids import TOOL_CLIENT_ID
from protocol.wire.fast import codec
from protocol.wire.table import META

TIMEOUT_MS: Final = 30_000


class BlockingClient:
    """Connects on first use; a connection that was lost meanwhile is made again."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_ms: int = TIMEOUT_MS,
        client_id: str = TOOL_CLIENT_ID,
    ) -> None:
        self.host = host
        self.port = port
        self._timeout_ms = timeout_ms
        self._client_id = client_id
        self._socket: socket.socket | None = None
        self._connection = ClientConnection(client_id)

    def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        """Send one request; return the decoded response.

        ``timeout_ms`` takes the place of the client's own for this request.

        Raises:
            OSError: the node cannot be reached, hung up, did not answer in time, or not so that
                it can be read (MalformedAnswer).
        """
        key = META[type(message)].api_key
        assert key is not None
        api = APIS[key]
        body = codec(api.request, version).encode_parts(message)
        self._drop_if_closed()
        try:
            frame = self._connection_parts(api.key, version, body)
            answer = self._exchange(frame, self._timeout_ms if timeout_ms is None else timeout_ms)
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

    def _connection_parts(self, key: int, version: int, body: Sequence[Any]) -> bytes:
        return b"".join(self._connection.send_request(key, version, body))

    def _drop_if_closed(self) -> None:
        """Forget a connection that the other end has closed, as by a restart."""
        if self._socket is not None and select.select([self._socket], [], [], 0)[0]:
            # Nothing was asked, so all there can be to read is the end.
            self.close()

    def _exchange(self, frame: bytes, timeout_ms: int) -> memoryview:
        timeout_s = timeout_ms / 1000
        if self._socket is None:
            self._socket = socket.create_connection((self.host, self.port), timeout=timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(timeout_s)
        self._socket.sendall(frame)
        while True:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError(f"{self.host}:{self.port} closed the connection")
            for response in self._connection.receive_data(data):
                return response.body
