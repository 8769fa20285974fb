"""How an operation waits that a fault holds back: of a thread here, in virtual time elsewhere."""

from __future__ import annotations

import threading
from typing import Protocol


class FaultGate(Protocol):
    """Where the operations wait that one rule holds back."""

    def wait(self, timeout_ms: int | None) -> None:
        """Return when the gate is opened, or after ``timeout_ms``."""
        ...

    def open(self) -> None:
        """Let all that wait go on, and all that come."""
        ...


class ThreadGate:
    """Blocks the thread that waits; opened from another one. Implements ``FaultGate``."""

    __slots__ = ("_opened",)

    def __init__(self) -> None:
        self._opened = threading.Event()

    def wait(self, timeout_ms: int | None) -> None:
        self._opened.wait(None if timeout_ms is None else timeout_ms / 1000)

    def open(self) -> None:
        self._opened.set()
