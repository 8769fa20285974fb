"""Runs a broker or the controller so that each piece of its loop's work is timed.

``python -m benchmarks.hostile.watched FOLDER python -m broker --config ... --id 1``: the process
runs on asyncio's own loop, where every callback can be watched, and appends to the file
``FOLDER/broker-1.pieces`` one line of JSON per callback that took more than ``NOTED_MS`` of the
loop thread's processor time. That time does not depend on what else the machine does. It changes
nothing in what the callbacks do.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from asyncio.events import Handle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import uvloop

NOTED_MS: Final = 2.0


class Piece(NamedTuple):
    """One callback of the loop."""

    processor_ms: float
    what: str


def pieces_in(file: Path, position: int = 0) -> tuple[list[Piece], int]:
    """Return the pieces noted behind ``position`` of ``file``, and where the file ends now."""
    if not file.exists():
        return [], 0
    with file.open("rb") as stream:
        stream.seek(position)
        data = stream.read()
    whole = data[: data.rfind(b"\n") + 1]
    return [Piece(*json.loads(line)) for line in whole.splitlines()], position + len(whole)


def watch(note: Callable[[Piece], None]) -> None:
    """Have ``note`` told of every long callback of asyncio's loops in this process."""
    watched: Any = Handle  # its one method that all callbacks pass through is not public
    run: Callable[[Handle], None] = watched._run

    def timed(self: Handle) -> None:
        began_s = time.thread_time()
        run(self)
        taken_ms = 1000 * (time.thread_time() - began_s)
        if taken_ms >= NOTED_MS:
            note(Piece(round(taken_ms, 2), _name(self)))

    watched._run = timed


def _name(handle: Any) -> str:
    callback = handle._callback
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return owner.get_name()
    return getattr(callback, "__qualname__", type(callback).__name__)


def main(arguments: Sequence[str]) -> int:
    """Run the module that ``arguments`` name behind the file and the interpreter."""
    folder, _interpreter, _option, module, *rest = arguments
    name = f"{module}-{rest[rest.index('--id') + 1]}" if "--id" in rest else module
    file = Path(folder) / f"{name}.pieces"
    out = file.open("a", buffering=1)

    def note(piece: Piece) -> None:
        out.write(json.dumps(piece) + "\n")

    watch(note)
    uvloop.new_event_loop = asyncio.new_event_loop
    run: Callable[[Sequence[str]], int] = importlib.import_module(f"{module}.__main__").main
    return run(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
