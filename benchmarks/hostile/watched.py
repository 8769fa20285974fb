"""Runs a broker or the controller so that each piece of its loop's work is timed.

``python -m benchmarks.hostile.watched FOLDER python -m broker --config ... --id 1``: the process
runs on asyncio's own loop, where every callback can be watched, and appends to the file
``FOLDER/broker-1.pieces`` one line of JSON per callback that took more than ``NOTED_MS`` of the
loop thread's processor time. That time does not depend on what else the machine does. A second
thread looks where a callback is that has taken ``LOOKED_AT_MS``, and the time that garbage
collection took of it is told. It changes nothing in what the callbacks do.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import sys
import threading
import time
from asyncio.events import Handle
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import uvloop

NOTED_MS: Final = 2.0
LOOKED_AT_MS: Final = 10.0
_FRAMES_MAX: Final = 5
_frames: Final = sys._current_frames  # pyright: ignore[reportPrivateUsage] - documented
_LOOK_EVERY_S: Final = 0.005


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


class Watch:
    """Times every callback of asyncio's loops in the thread that makes it, and tells ``note``."""

    def __init__(self, note: Callable[[Piece], None]) -> None:
        self._note = note
        self._thread_id = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._thread_id)
        self._began_s: float | None = None
        self._collecting_since_s = 0.0
        self._collected = ""
        self._seen = ""

    def begin(self) -> None:
        """Time callbacks from now on."""
        watched: Any = Handle  # its one method that all callbacks pass through is not public
        run: Callable[[Handle], None] = watched._run

        def timed(handle: Handle) -> None:
            self._timed(run, handle)

        watched._run = timed
        gc.callbacks.append(self._on_collection)
        threading.Thread(target=self._look, daemon=True).start()

    def _timed(self, run: Callable[[Handle], None], handle: Handle) -> None:
        self._seen = self._collected = ""
        self._began_s = began_s = time.thread_time()
        run(handle)
        taken_ms = 1000 * (time.thread_time() - began_s)
        self._began_s = None
        if taken_ms >= NOTED_MS:
            what = f"{_name(handle)}{self._collected} {self._seen}"
            self._note(Piece(round(taken_ms, 2), what))

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        """Note a collection: its generation, how long it took, how much garbage it found."""
        if phase == "start":
            self._collecting_since_s = time.thread_time()
            return
        taken_ms = 1000 * (time.thread_time() - self._collecting_since_s)
        if taken_ms >= 1:
            found = f"gc({info['generation']}) {taken_ms:.0f} ms, {info['collected']} freed"
            self._collected += f" {found}"

    def _look(self) -> None:
        """Look again and again where a long callback is."""
        while True:
            time.sleep(_LOOK_EVERY_S)
            began_s = self._began_s
            if began_s is None or self._seen:
                continue
            if time.clock_gettime(self._clock) - began_s >= LOOKED_AT_MS / 1000:
                self._seen = _place(_frames().get(self._thread_id))


def _place(frame: FrameType | None) -> str:
    """Return where a thread is, innermost first."""
    places: list[str] = []
    while frame is not None and len(places) < _FRAMES_MAX:
        code = frame.f_code
        places.append(f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return " < ".join(places)


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

    Watch(note).begin()
    uvloop.new_event_loop = asyncio.new_event_loop
    run: Callable[[Sequence[str]], int] = importlib.import_module(f"{module}.__main__").main
    return run(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
