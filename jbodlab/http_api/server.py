"""Serves the HTTP API of one cluster until it is told to end. Blocking."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import uvicorn

from jbodlab.asking.lab_elsewhere import TOKEN_VARIABLE
from jbodlab.errors import ExitCode, LabError
from jbodlab.http_api.app import build_app
from jbodlab.http_api.feed import Feed
from jbodlab.http_api.orders import Orders
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import holder_of, is_free

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
CONNECTIONS_MAX: Final = 100
TOKEN_CHARACTERS_MIN: Final = 16
_END_WITHIN_S: Final = 5


class Place(NamedTuple):
    """Where to serve, and to whom."""

    host: str
    port: int
    token: str | None = None
    """What all who ask must say; None: nothing, on loopback only."""


def place(host: str, port: int, token_file: Path | None) -> Place:
    """Return where to serve, checked.

    Raises:
        LabError: USAGE without a token beyond loopback, BAD_CONFIG for a token that will not do.
    """
    is_loopback = host in LOOPBACK
    if token_file is not None:
        token = _token(token_file)
    else:
        token = None if is_loopback else os.environ.get(TOKEN_VARIABLE)
    if not token and not is_loopback:
        raise LabError(
            ExitCode.USAGE,
            f"whoever reaches {host} could break this cluster: give --token-file FILE with "
            f"{TOKEN_CHARACTERS_MIN} characters or more, as `openssl rand -hex 16` writes, or "
            f"them in {TOKEN_VARIABLE}, or --host 127.0.0.1",
        )
    return Place(host, port, None if token is None else _long_enough(token, token_file))


def serve(config_path: Path, where: Place, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        config_path: the cluster file.
        where: to listen.
        on_ready: called with the address once requests are answered.

    Raises:
        LabError: BAD_CONFIG, PORT_IN_USE.
    """
    Cluster(config_path)
    if where.port and not is_free(where.host, where.port):
        raise LabError(
            ExitCode.PORT_IN_USE,
            f"port {where.port} is in use by {holder_of(where.port)}: stop that, or give --port",
        )
    orders = Orders(config_path)
    feed = Feed(
        lambda: asyncio.to_thread(orders.look),
        lambda: asyncio.to_thread(orders.failover_steps),
        orders.short,
    )
    config = uvicorn.Config(
        build_app(orders, feed, token=where.token),
        host=where.host,
        port=where.port,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=_END_WITHIN_S,
    )
    _Server(config, feed, on_ready).run()


class _Server(uvicorn.Server):
    """Tells when it answers, and lets listeners to events go when it is to end."""

    def __init__(self, config: uvicorn.Config, feed: Feed, on_ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._feed = feed
        self._on_ready = on_ready

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup()
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
            self._on_ready(f"http://{host}:{port}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._feed.is_closed = True
        super().handle_exit(sig, frame)


def _token(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(
            ExitCode.BAD_CONFIG, f"--token-file {file} cannot be read: {error}"
        ) from error


def _long_enough(token: str, file: Path | None) -> str:
    if len(token) < TOKEN_CHARACTERS_MIN:
        raise LabError(
            ExitCode.BAD_CONFIG,
            f"the token in {file or TOKEN_VARIABLE} has {len(token)} characters, at least "
            f"{TOKEN_CHARACTERS_MIN} are needed: `openssl rand -hex 16` writes one",
        )
    return token
