"""What handlers ask of the controller: requests passed on, producer ids, topics made on the way.

Doors without code; ``broker.lifecycle`` has what is behind them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class ControllerPort(Protocol):
    """How handlers reach the controller on behalf of a client."""

    async def forward(self, request: Any, version: int, *, timeout_ms: int) -> Any:
        """Pass ``request`` on at the same version and return the controller's answer.

        Raises KafkaError, REQUEST_TIMED_OUT, when the controller did not answer in time.
        """
        ...


class ProducerIdSource(Protocol):
    """Where producer ids come from."""

    async def next_producer_id(self) -> int:
        """Return an id that no producer of the cluster has had.

        Raises KafkaError, COORDINATOR_LOAD_IN_PROGRESS, when no block of ids could be had.
        """
        ...


class TopicCreator(Protocol):
    """Creates topics that clients merely mention."""

    def create(self, names: Iterable[str]) -> None:
        """Ask the controller in the background."""
        ...
