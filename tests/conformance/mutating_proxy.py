"""A proxy before a broker that changes one answer of a connection's stream, as it is told."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from struct import pack, unpack

Change = Callable[[int, int, bytes], Sequence[bytes] | None]
"""From API key, version and an answer to the frames in its place; None: leave it as it is."""


def _nothing(_key: int, _version: int, _frame: bytes) -> None:
    """Leave every answer as it is."""


class MutatingProxy:
    """Listens for one broker; every answer is offered to ``change``."""

    def __init__(self, host: str, port: int) -> None:
        self.change: Change = _nothing
        self._to = (host, port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        asked: dict[int, tuple[int, int]] = {}
        with line, contextlib.suppress(OSError), socket.create_connection(self._to) as broker:
            ends = (line, broker, asked)
            threading.Thread(target=_pass_requests, args=ends, daemon=True).start()
            with broker.makefile("rb") as answers:
                while head := answers.read(4):
                    frame = answers.read(unpack(">i", head)[0])
                    for each in self._changed(asked, frame):
                        line.sendall(pack(">i", len(each)) + each)
            line.shutdown(socket.SHUT_RDWR)

    def _changed(self, asked: dict[int, tuple[int, int]], frame: bytes) -> Sequence[bytes]:
        key, version = asked.get(unpack(">i", frame[:4])[0], (-1, 0))
        changed = self.change(key, version, frame)
        return [frame] if changed is None else changed


def _pass_requests(
    line: socket.socket, broker: socket.socket, asked: dict[int, tuple[int, int]]
) -> None:
    """Pass bytes on as they are, and note which API and version each correlation id is of."""
    buffer = bytearray()
    with contextlib.suppress(OSError):
        while data := line.recv(1 << 16):
            buffer += data
            while len(buffer) >= 12 and 0 < unpack(">i", buffer[:4])[0] <= len(buffer) - 4:
                size, key, version, id_ = unpack(">ihhi", buffer[:12])
                asked[id_] = (key, version)
                del buffer[: 4 + size]
            broker.sendall(data)
        broker.shutdown(socket.SHUT_WR)


@contextmanager
def mutating_proxy(host: str, port: int) -> Generator[MutatingProxy]:
    """Run one for the length of a block."""
    proxy = MutatingProxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()
