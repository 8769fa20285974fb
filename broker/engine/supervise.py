"""Keeps a background loop alive: a defect in one loop is logged and must not end the broker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, cast

logger = logging.getLogger(__name__)

RESTART_S: Final = 1.0


async def supervised(
    name: str,
    run: Callable[[], Awaitable[None]],
    *,
    ending: type[Exception] | None = None,
) -> None:
    """Run a loop that ends only by cancellation; begin it anew a second after an exception.

    Those of class ``ending``, also in a group, are meant to end the process: they go through.
    """
    while True:
        try:
            await run()
        except Exception as error:
            if _is_meant(error, ending):
                raise
            logger.exception("%s failed; it begins again in %.0f s", name, RESTART_S)
        await asyncio.sleep(RESTART_S)


def _is_meant(error: Exception, ending: type[Exception] | None) -> bool:
    if ending is None:
        return False
    if isinstance(error, ExceptionGroup):
        # A cast, as the type of what a group holds is lost when it is caught.
        return cast("ExceptionGroup[Exception]", error).subgroup(ending) is not None
    return isinstance(error, ending)
