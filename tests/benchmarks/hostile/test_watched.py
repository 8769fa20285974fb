from __future__ import annotations

import asyncio
import gc
import json
import time
from asyncio.events import Handle
from pathlib import Path
from typing import Any

from benchmarks.hostile.watched import LOOKED_AT_MS, NOTED_MS, Piece, Watch, pieces_in


def test_a_callback_that_keeps_the_loop_is_noted_and_a_short_one_is_not() -> None:
    noted: list[Piece] = []
    watched: Any = Handle
    kept, hooks = watched._run, list(gc.callbacks)

    def work() -> None:
        end_s = time.thread_time() + 20 * LOOKED_AT_MS / 1000
        while time.thread_time() < end_s:
            pass

    async def work_once() -> None:
        work()

    Watch(noted.append).begin()
    try:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(work_once())
    finally:
        watched._run = kept
        gc.callbacks[:] = hooks
    assert len(noted) == 1
    assert noted[0].processor_ms >= 2 * NOTED_MS
    assert " work < " in noted[0].what


def test_pieces_are_read_from_where_the_last_look_ended(tmp_path: Path) -> None:
    file = tmp_path / "broker-1.pieces"
    assert pieces_in(file) == ([], 0)
    file.write_text(json.dumps(Piece(3.0, "a")) + "\n" + '[4.0, "cut')
    pieces, end = pieces_in(file)
    assert pieces == [Piece(3.0, "a")]
    with file.open("a") as stream:
        stream.write(' off"]\n')
    assert pieces_in(file, end)[0] == [Piece(4.0, "cut off")]
