"""One log dir of a running broker: see it, break it, heal it, replace it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jbodlab.api.connections import Connections
from jbodlab.asking.returns import PATIENCE_MS, watch_return
from jbodlab.errors import ExitCode, LabError
from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.cluster_file.spec import BrokerSpec
from protocol.faults.model import DiskMode

MODES: Final = tuple(mode.value for mode in DiskMode if mode.row.refusal is None)
"""What a whole log dir can be broken with."""


class LogDir:
    """A log dir by its number at its broker, 1 for the first one; every call asks the broker.

    All methods raise LabError when the broker does not answer or refuses.
    """

    def __init__(self, connections: Connections, broker: BrokerSpec, number: int) -> None:
        self._connections = connections
        self._broker = broker
        self.broker_id = broker.id
        self.number = number
        self.path = broker.log_dirs[number - 1].path
        self._control = connections.control(broker)

    def __repr__(self) -> str:
        return f"LogDir(broker {self.broker_id}, {self.number}: {self.path})"

    @property
    def is_online(self) -> bool:
        """Whether the broker serves from it."""
        return self.describe().is_online

    @property
    def replicas(self) -> tuple[ReplicaView, ...]:
        """The replicas in it, those that are being moved here included."""
        return self.describe().replicas

    def describe(self) -> LogDirView:
        """Return what DescribeLogDirs tells of it."""
        with self._connections.admin() as admin:
            views = admin.log_dirs(self.broker_id)
        return next(view for view in views if view.path == self.path)

    def fail(self, mode: str = "eio", *, delay_ms: int | None = None) -> None:
        """Break it from now on: one of ``MODES``; "slow" needs ``delay_ms``.

        The broker notices with its next write; ``wait_until_offline`` waits for that.
        """
        if mode not in MODES:
            known = ", ".join(MODES)
            raise LabError(ExitCode.USAGE, f"a log dir cannot fail with {mode!r}, only: {known}")
        if DiskMode(mode).row.needs_delay != (delay_ms is not None):
            raise LabError(ExitCode.USAGE, f"delay_ms belongs to mode slow, this is {mode}")
        options = {} if delay_ms is None else {"delay_ms": delay_ms}
        self._say(f"fails with {mode}")
        self._control.fail(self.path, mode, **options)

    def heal(self) -> None:
        """Take its faults off. If it is offline, ``restart`` brings it back."""
        self._say("is healed")
        self._control.heal(self.path)

    def restart(self, *, patience_ms: int = PATIENCE_MS) -> None:
        """Bring it back with its data; returns when its replicas are in the Isr again.

        ``patience_ms`` is how long nothing may get better.
        """
        self._say("is restarted")
        self._control.restart(self.path)
        self._await_return(patience_ms)

    def replace(
        self, *, accept_loss: bool = False, force: bool = False, patience_ms: int = PATIENCE_MS
    ) -> None:
        """Put an empty disk in its place; returns when its replicas are copied from the others.

        Args:
            accept_loss: let replicas begin empty that no other broker has in full.
            force: take out one that works, too.
            patience_ms: how long nothing may get better.
        """
        self._say("is replaced by an empty disk")
        self._control.replace(self.path, accept_loss=accept_loss, force=force)
        self._await_return(patience_ms, accepts_loss=accept_loss)

    def signs(self) -> dict[str, Any]:
        """Return what the broker knows of it: reason, fault and its hits, queue depth, last hop."""
        return next(one for one in self._control.log_dirs() if one["path"] == self.path)

    def wait_until_offline(self, *, deadline_ms: int | None = None) -> None:
        """Wait until its broker has noticed that it failed."""
        self._wait(lambda: not self.is_online, "is offline", deadline_ms)

    def wait_until_online(self, *, deadline_ms: int | None = None) -> None:
        """Wait until its broker serves from it."""
        self._wait(lambda: self.is_online, "is online", deadline_ms)

    def _wait(self, holds: Callable[[], bool], words: str, deadline_ms: int | None) -> None:
        self._connections.wait_until(holds, f"{self.path} {words}", deadline_ms)

    def _await_return(self, patience_ms: int, *, accepts_loss: bool = False) -> None:
        with self._connections.admin() as admin:
            for _ in watch_return(
                admin,
                self._control,
                self.path,
                accepts_loss=accepts_loss,
                patience_ms=patience_ms,
            ):
                pass

    def _say(self, words: str) -> None:
        self._connections.story.add(f"{self._connections.short(self.path)} {words}")
