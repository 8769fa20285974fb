"""A session by itself, and what it told others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random

from broker.engine.types import FailedLogDir
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.identity import Identity
from broker.lifecycle.session import ControllerSession, SessionPorts
from protocol.messages.journal import JournalReport
from protocol.metrics.rows import FailoverEventRow
from protocol.security.listeners import plain_listener

D1, D2 = bytes([1] * 16), bytes([2] * 16)
NEVER_MS = 3_600_000
"""An interval after which no test ever heartbeats by itself."""


class FakeClock:
    def now_ms(self) -> int:
        return 123


class Lab:
    """A session and what it emitted."""

    def __init__(
        self, link: ControllerLink, interval_ms: int, failure_timeout_ms: int = NEVER_MS
    ) -> None:
        self.rows: list[FailoverEventRow] = []
        self.online = [D1, D2]
        self.heard: list[str] = []
        self.gave_up = asyncio.Event()
        self.session = ControllerSession(
            link,
            SessionPorts(
                clock=FakeClock(),
                random=Random(1),
                emit=self.rows.append,
                online_directory_ids=lambda: self.online,
                cordoned_directory_ids=lambda: [D2],
                registered=self.on_registered,
                unfenced=self.on_unfenced,
                unreported=self.gave_up.set,
                journal_report=lambda _with_replicas: JournalReport(),
            ),
            broker_id=1,
            heartbeat_interval_ms=interval_ms,
            failure_timeout_ms=failure_timeout_ms,
        )

    async def on_registered(self) -> None:
        self.heard.append("registered")

    def on_unfenced(self) -> None:
        self.heard.append("unfenced")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[ControllerSession]:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self.session.run(identity()))
            yield self.session
            task.cancel()


def identity() -> Identity:
    return Identity(
        broker_id=1,
        cluster_id="cluster",
        incarnation_id=bytes([9] * 16),
        listeners=(plain_listener("127.0.0.1", 9_092, "127.0.0.1", 9_092),),
        port=9_092,
        rack=None,
    )


def failed(directory_id: bytes) -> FailedLogDir:
    return FailedLogDir(
        path="/d",
        directory_id=directory_id,
        operation="append",
        cause="eio",
        offline_replica_count=3,
    )
