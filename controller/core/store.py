"""The doors to where decisions are kept. No code: a journal is behind them, or ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from controller.core.decision import Decision, Durable
from controller.core.events import Event
from controller.core.state import ClusterState


@dataclass(slots=True)
class Loaded:
    """What a store holds at the start of a controller."""

    state: ClusterState
    torn_bytes: int = 0
    """Cut off at the end of a journal."""

    @property
    def durable(self) -> Durable:
        """What was loaded, as the proof that it is kept."""
        return Durable(self.state.journal_number)


class Store(Protocol):
    """Keeps decisions, in order."""

    async def load(self) -> Loaded:
        """Return the state that all kept decisions led to; called once, first."""
        ...

    async def append(self, decisions: Sequence[Decision]) -> Durable:
        """Keep decisions; return what lets their effects be done."""
        ...

    @property
    def should_compact(self) -> bool:
        """Whether ``compact`` is worth while."""
        ...

    async def compact(self, state: ClusterState) -> Durable:
        """Keep ``state``, which all kept decisions led to, in less space."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


News: TypeAlias = Callable[[Callable[[Event], None]], Coroutine[Any, Any, None]]
"""Tells the events of a store that others write to, until it is cancelled."""


async def no_news(_post: Callable[[Event], None]) -> None:
    """Tell nothing: nobody else writes to a journal."""
