"""What a world of virtual time has not: threads, subprocesses, signals, name servers.

Each is refused by a sentence, as one that went through would make two runs differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class NotSimulatedError(RuntimeError):
    """Code asked for something that the world has not."""


class Refusals:
    """The methods of an event loop that are refused."""

    def refuse(self, what: str, by: Any) -> NoReturn:
        """Refuse.

        Raises:
            NotSimulatedError: always.
        """
        raise NotSimulatedError(f"{what} is not simulated: {by!r}")

    async def subprocess_exec(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse."""
        self.refuse("a subprocess", args)

    async def subprocess_shell(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse."""
        self.refuse("a subprocess", args)

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:
        """Refuse."""
        self.refuse("a signal", sig)

    async def getaddrinfo(self, host: Any, port: Any, **kwargs: Any) -> Any:
        """Refuse."""
        self.refuse("a name server", (host, port))

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> Any:
        """Refuse."""
        self.refuse("a name server", sockaddr)
