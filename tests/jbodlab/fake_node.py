"""A node that answers from a table: for tests of clients. Real sockets, real codecs, no cluster."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from protocol.apis import APIS
from protocol.connection import ServerConnection
from protocol.wire.fast import codec

Answer = Callable[[Any], Any]


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        connection = ServerConnection()
        while data := self.request.recv(1 << 16):
            for received in connection.receive_data(data):
                api = APIS[received.api_key]
                request = codec(api.request, received.api_version).decode(received.body)
                answer = self.server.answers.get(type(request))  # type: ignore[attr-defined]
                if answer is None:
                    return
                body = codec(api.response, received.api_version).encode(answer(request))
                self.request.sendall(b"".join(connection.send_response(received, [body])))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    answers: dict[type, Answer]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lines: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self._lines.append(request)
        super().process_request(request, client_address)

    def hang_up(self) -> None:
        for line in self._lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


@contextmanager
def fake_node(answers: dict[type, Answer], port: int = 0) -> Generator[int]:
    """Serve ``answers`` by request type; what is not in them gets a closed line. Ends all lines."""
    with _Server(("127.0.0.1", port), _Handler) as server:
        server.answers = answers
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            server.hang_up()
