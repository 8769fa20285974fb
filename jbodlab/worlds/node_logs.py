"""Where the nodes of a simulated world log: into a file with virtual times, or nowhere.

Never to stderr, where it would stand without times between the lines of a story. Real processes
log into files of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from simulation.world.world_log import world_log


@contextmanager
def node_logs(path: Path | None) -> Generator[None]:
    """Write what nodes log meanwhile to ``path``; None: drop it, and do not even make most of it.

    Errors are made all the same: those with a traceback are defects, which others look for.
    """
    if path is None:
        with world_log(_drop, logging.ERROR):
            yield
        return
    with path.open("w", encoding="utf-8") as file, world_log(lambda line: print(line, file=file)):
        yield


def _drop(_: str) -> None:
    return None
