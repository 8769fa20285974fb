"""How caches of configurations stay fresh: they ask the controller when told to, and again.

What it asks, and what it makes of the answer, is for those that derive from it.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import Final

DESCRIBE_CONFIGS_VERSION: Final = 4
REFRESH_TIMEOUT_MS: Final = 2_000
"""How long a registration or a word of the controller waits for each answer."""
RETRY_MS: Final = 500
"""After which a controller that was away is asked again."""
logger = logging.getLogger(__name__)


class FetchedConfigs(ABC):
    """A cache. ``run`` it once; ``refresh`` it when told that the configs changed."""

    def __init__(self, what: str) -> None:
        """``what`` it keeps, for the log."""
        self._what = what
        self._wake = asyncio.Event()

    def changed(self) -> None:
        """Ask the controller in the background."""
        self._wake.set()

    async def refresh(self) -> None:
        """Ask the controller now; when it does not answer in time, leave it to ``run``."""
        try:
            await self._fetch()
        except (ConnectionError, TimeoutError) as exc:
            logger.warning("%s not known yet: %s", self._what, exc)
            self.changed()

    async def run(self) -> None:
        """Ask when told, until cancelled; a controller that is away is asked again."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._fetch()
            except (ConnectionError, TimeoutError):
                await asyncio.sleep(RETRY_MS / 1000)
                self.changed()

    @abstractmethod
    async def _fetch(self) -> None:
        """Ask and take what comes; raises ConnectionError or TimeoutError when nothing does."""
