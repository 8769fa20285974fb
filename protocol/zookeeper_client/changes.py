"""The loop of all that looks at ZooKeeper when there may be news."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod

logger = logging.getLogger(__name__)


class Changes(ABC):
    """``run`` it once; ``look`` whenever there may be news."""

    def __init__(self, what: str) -> None:
        """``what`` changes, for the log."""
        self._what = what
        self._news = asyncio.Event()

    def look(self) -> None:
        """Look in the background: something changed, or the watch is gone."""
        self._news.set()

    async def run(self) -> None:
        """Tell of changes until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self.tell()
            except ConnectionError as error:
                logger.info("changes of %s are looked for later: %s", self._what, error)

    @abstractmethod
    async def tell(self) -> None:
        """Tell what is new; of the first call that is nothing.

        Raises:
            ConnectionError: ZooKeeper does not answer.
        """
