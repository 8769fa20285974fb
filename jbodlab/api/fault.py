"""A fault by rule that was put in force, until it is taken off."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from jbodlab.api.connections import Connections
from protocol.cluster_file.spec import BrokerSpec


class Fault:
    """One rule at the broker that carries it out; as a context manager it ends with its block."""

    def __init__(self, connections: Connections, broker: BrokerSpec, fault_id: str) -> None:
        self._connections = connections
        self._control = connections.control(broker)
        self.broker_id = broker.id
        self.id = fault_id

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.clear()

    @property
    def matches(self) -> int:
        """How many operations or messages it could have met."""
        return int(self._told()["matches"])

    @property
    def hits(self) -> int:
        """How many it has changed; one that never hit anything tested nothing."""
        return int(self._told()["hits"])

    @property
    def held(self) -> list[dict[str, Any]]:
        """The requests that one of mode hold holds now, the first one first."""
        return list(self._told().get("held", ()))

    def wait_until_holds(self, count: int = 1, *, deadline_ms: int | None = None) -> None:
        """Wait until one of mode hold holds so many requests."""
        what = f"fault {self.id} holds {count} requests"
        self._connections.wait_until(lambda: len(self.held) >= count, what, deadline_ms)

    def release(self, count: int | None = None) -> int:
        """Let requests go on that one of mode hold holds, all or the first; return how many.

        What comes later is held again, until the fault is taken off.
        """
        self._connections.story.add(f"fault {self.id} releases {count or 'all'}")
        return self._control.release(self.id, count)

    @property
    def passed(self) -> list[dict[str, Any]]:
        """What one of mode observe saw: the newest 1,000 requests of clients with their answers."""
        return self._control.passed()[self.id]

    def clear(self) -> None:
        """Take it off; what hangs in it goes on. One that was taken off stays so."""
        known = [one["id"] for one in self._control.faults() if one["is_in_force"]]
        if self.id in known:
            self._connections.story.add(f"fault {self.id} is taken off")
            self._control.clear_faults([self.id])

    def _told(self) -> dict[str, Any]:
        return next(one for one in self._control.faults() if one["id"] == self.id)
