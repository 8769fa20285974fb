"""Errors that are nobody's fault but the code's: raised where nothing should raise.

Brokers and controller log such an error with its traceback and go on; here each is a violation.
"""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, cast

import aiokafka
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaError as AiokafkaError

import broker
import controller
import protocol
import simulation
from broker.app import StartupError
from protocol.faults.model import CONTROLLER_NODE
from simulation.core.checkers.evidence import Violation
from simulation.loop_time import loop_now_us
from simulation.world.cluster import SimCluster
from simulation.world.process import CURRENT

_DISK_ERRORS: Final = (errno.EIO, errno.ENOSPC, errno.EROFS)
NAME: Final = "defects"
_ROOMS: Final = (broker, controller, protocol, simulation)
LOGGERS: Final = tuple(room.__name__ for room in _ROOMS)
"""asyncio's own is not among them: what it logs is what nobody caught."""
_LIBRARY: Final = str(Path(aiokafka.__path__[0]))


class Defects(logging.Handler):
    """Gathers them while it is entered."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[Violation] = []

    def __enter__(self) -> Defects:
        for name in LOGGERS:
            logging.getLogger(name).addHandler(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Take an error that was logged with its traceback."""
        if record.exc_info and record.exc_info[1] is not None:
            process = CURRENT.get()
            node = "world" if process is None else process.name
            self._add(f"{node} logs {record.getMessage()}: {_words(record.exc_info[1])}")

    def look_into(self, cluster: SimCluster) -> None:
        """Take what processes ended with, and what no code caught. Call it on the loop."""
        for name, node in cluster.nodes.items():
            for error in node.crashes:
                if not (isinstance(error, StartupError) or _is_end_of_journal(name, error)):
                    self._add(f"{name} ended with {_words(error)}")
        for at_us, context in cluster.loop.unhandled:
            if _is_dropped_by_library(context):
                continue
            error = context.get("exception")
            what = str(context.get("message")) if error is None else _words(error)
            self.found.append(Violation(NAME, at_us, f"nobody caught {what}"))

    def _add(self, text: str) -> None:
        self.found.append(Violation(NAME, loop_now_us(), text))


# Any: what asyncio hands to exception handlers.
def _is_dropped_by_library(context: Mapping[str, Any]) -> bool:
    """Tell whether a future or a task of aiokafka's ended with an error that it did not look at.

    A sender that ends fails what waits for it, whether or not anybody does; a commit that is
    given up goes on in a task of its own; a connection that is forgotten closes when it is
    collected; a producer whose stop never ends is given up, and its sender with it. None of that
    concerns the cluster.
    """
    if isinstance(context.get("conn"), AIOKafkaConnection):
        return True
    future = context.get("future", context.get("task"))
    if isinstance(future, asyncio.Task):
        code = getattr(cast("asyncio.Task[Any]", future).get_coro(), "cr_code", None)
        return code is not None and code.co_filename.startswith(_LIBRARY)
    return future is not None and isinstance(context.get("exception"), AiokafkaError)


def _is_end_of_journal(node: str, error: BaseException) -> bool:
    """Tell whether a controller ended because the disk of its journal failed, as it is to."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions  # of any kind
        return all(_is_end_of_journal(node, each) for each in inner)
    return node == CONTROLLER_NODE and isinstance(error, OSError) and error.errno in _DISK_ERRORS


def _words(error: BaseException) -> str:
    """Say what was raised and where, those inside of groups too."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions  # of any kind
        return "; ".join(map(_words, inner))
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return repr(error)
    code = traceback.tb_frame.f_code
    return f"{error!r} in {code.co_qualname}, line {traceback.tb_lineno}"
