"""When garbage is collected while a world runs: at steps that the loop chooses, never by itself.

Finalizers run code, and asyncio's own ones are loud: when they run must not follow from how much
memory a process happened to use before.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def garbage_of_one_world() -> Generator[None]:
    """Collect nothing by itself meanwhile, and at the end all that came meanwhile and is left.

    What was there before is not looked at. Let go of the world inside.
    """
    was_enabled = gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
        if was_enabled:
            gc.enable()
