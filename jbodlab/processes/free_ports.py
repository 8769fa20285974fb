"""Ports: find free ones, and say who holds one that is not. Opens no connection."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import socket
from collections.abc import Iterator
from typing import Final

import psutil

LOOPBACK: Final = "127.0.0.1"


_PORTS: Final = range(10_000, 32_768)
"""Below those that systems give to outgoing connections: Linux from 32768 on, others higher."""
_PORTS_OF_A_BLOCK: Final = 512


def free_ports(count: int) -> list[int]:
    """Return ``count`` different ports that nobody listens on just now.

    Nor will anybody else get one before it is listened on, or while a stopped node leaves it free:
    no connection, for none is given such a port, and no other process that calls this.
    """
    assert count < _PORTS_OF_A_BLOCK, f"{count} ports of a block of {_PORTS_OF_A_BLOCK}"
    free = (port for port in _own_ports() if is_free(LOOPBACK, port))
    return list(itertools.islice(free, count))


def free_port() -> int:
    """Return one such port."""
    (port,) = free_ports(1)
    return port


@functools.cache
def _own_ports() -> Iterator[int]:
    """Give the ports of a block in turn; to keep others away, its first port stays bound."""
    blocks = _PORTS[::_PORTS_OF_A_BLOCK][:-1]
    for number in range(len(blocks)):
        first = blocks[(os.getpid() + number) % len(blocks)]
        guard = socket.socket()
        try:
            guard.bind((LOOPBACK, first))
        except OSError:
            guard.close()
            continue
        atexit.register(guard.close)
        return itertools.cycle(range(first + 1, first + _PORTS_OF_A_BLOCK))
    return itertools.cycle(_PORTS)


def is_free(host: str, port: int) -> bool:
    """Tell whether ``port`` can be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def holder_of(port: int) -> str:
    """Return who listens on ``port``, as far as the operating system tells."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.Error:
        return "another process"
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and port in connection.laddr:
            return _name_of(connection.pid)
    return "another process"


def _name_of(pid: int | None) -> str:
    if pid is None:
        return "another process"
    try:
        return f"{psutil.Process(pid).name()} (pid {pid})"
    except psutil.Error:
        return f"pid {pid}"
