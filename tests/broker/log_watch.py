"""Waits for a line in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager

from tests.deadlines import DEADLINE_S


class LogWatch(logging.Handler):
    """Wakes a test when a line with a text comes."""

    def __init__(self, text: str) -> None:
        super().__init__(logging.DEBUG)
        self._text = text
        self._seen = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self._seen.set()

    async def wait(self) -> None:
        """Return once the line came."""
        async with asyncio.timeout(DEADLINE_S):
            await self._seen.wait()


@contextmanager
def watching_for(text: str) -> Generator[LogWatch]:
    """Watch the whole log of the process."""
    watch = LogWatch(text)
    logging.getLogger().addHandler(watch)
    try:
        yield watch
    finally:
        logging.getLogger().removeHandler(watch)
