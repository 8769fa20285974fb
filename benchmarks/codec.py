"""Measures the message codec beside kafka-python 3 and stock construct, in one process.

It prints microseconds of CPU time and, for the peers, how many times longer they take. Rounds of
all three take turns and the best round counts, so that a busy machine slows them alike.
Run: ``python -m benchmarks.codec [--seconds 0.2]`` (per row and peer).
"""
# construct and kafka-python have no type annotations.
# pyright: basic

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from benchmarks.codec_rows import ROWS, Row, plain, stock
from protocol.wire.fast import codec
from protocol.wire.table import construct_for

OURS, KAFKA_PYTHON, CONSTRUCT = "jbodlab", "kafka-python", "construct"
ROUND_SECONDS = 0.02
BARS = {KAFKA_PYTHON: 3, CONSTRUCT: 15}
"""How many times as fast as each peer the codec must be, in the geometric mean."""

Run = Callable[[], Any]


def decoders(row: Row) -> dict[str, Run]:
    """Return what decodes the row's bytes, by implementation."""
    message = row.make()
    cls = type(message)
    ours = codec(cls, row.version)
    data = bytes(ours.encode(message))
    reference = stock(construct_for(cls, row.version))
    found: dict[str, Run] = {
        OURS: lambda: ours.decode(data),
        CONSTRUCT: lambda: reference.parse(data),
    }
    if row.peer is not None:
        peer = peer_class(row, cls)
        found[KAFKA_PYTHON] = lambda: peer.decode(data, version=row.version)
    return found


def encoders(row: Row) -> dict[str, Run]:
    """Return what encodes the row's message, by implementation; all give the same bytes."""
    message = row.make()
    cls = type(message)
    ours = codec(cls, row.version)
    layout = construct_for(cls, row.version)
    reference, content = stock(layout), plain(message, layout)
    found: dict[str, Run] = {
        OURS: lambda: ours.encode(message),
        CONSTRUCT: lambda: reference.build(content),
    }
    if row.peer is not None:
        theirs = peer_class(row, cls).decode(bytes(ours.encode(message)), version=row.version)
        theirs._header = None  # noqa: SLF001 - decode leaves it unset, encode asks for it
        found[KAFKA_PYTHON] = lambda: theirs.encode(version=row.version)
    outputs = {name: bytes(run()) for name, run in found.items()}
    assert len({*outputs.values()}) == 1, {name: out[:60] for name, out in outputs.items()}
    return found


def peer_class(row: Row, cls: type[Any]) -> Any:
    """Return kafka-python's class of the same message."""
    return getattr(import_module(f"kafka.protocol.{row.peer}"), cls.__name__)


def best_seconds(runs: dict[str, Run], seconds: float) -> dict[str, float]:
    """Return the seconds that each run takes once: the best of rounds that take turns."""
    counts = {name: calls_per_round(run) for name, run in runs.items()}
    best = dict.fromkeys(runs, float("inf"))
    end = time.perf_counter() + seconds * len(runs)
    while time.perf_counter() < end:
        for name, run in runs.items():
            best[name] = min(best[name], timed(run, counts[name]) / counts[name])
    return best


def calls_per_round(run: Run) -> int:
    """Return how many calls make up a round."""
    run()
    count = 1
    while (elapsed := timed(run, count)) < ROUND_SECONDS / 4:
        count *= 4
    return max(1, round(count * ROUND_SECONDS / elapsed))


def timed(run: Run, count: int) -> float:
    """Return the seconds of CPU time that ``count`` calls take."""
    gc.collect()
    start = time.thread_time()
    for _ in range(count):
        run()
    return time.thread_time() - start


def print_table(title: str, make: Callable[[Row], dict[str, Run]], seconds: float) -> None:
    """Measure all rows and print them with the geometric means."""
    print(f"\n{title:28}{OURS:>12}{KAFKA_PYTHON:>16}{CONSTRUCT:>14}")
    ratios: dict[str, list[float]] = {KAFKA_PYTHON: [], CONSTRUCT: []}
    taken: dict[str, float] = {}
    for row in ROWS:
        best = best_seconds(make(row), seconds)
        taken[row.name] = best[OURS]
        cells = ""
        for peer, width in ((KAFKA_PYTHON, 16), (CONSTRUCT, 14)):
            if peer in best:
                ratios[peer].append(best[peer] / best[OURS])
            cells += f"{ratios[peer][-1]:{width - 2}.1f} x" if peer in best else f"{'-':>{width}}"
        print(f"{row.name + f' v{row.version}':28}{best[OURS] * 1e6:9.1f} us{cells}")
    means = {peer: statistics.geometric_mean(values) for peer, values in ratios.items()}
    print(f"{'geometric mean':28}{'':12}{means[KAFKA_PYTHON]:14.1f} x{means[CONSTRUCT]:12.1f} x")
    print(f"{'must reach':28}{'':12}{BARS[KAFKA_PYTHON]:14.1f} x{BARS[CONSTRUCT]:12.1f} x")
    for name in ("Produce", "Fetch"):
        print(
            f"{name}: 1 MiB takes {taken[f'{name} 1 MiB'] / taken[f'{name} 16 KiB']:.1f} x 16 KiB"
        )


def parts_encoders(row: Row) -> dict[str, Run]:
    """Return the encoders, ours as a server uses it: large records are not copied."""
    message = row.make()
    ours = codec(type(message), row.version)
    return encoders(row) | {OURS: lambda: ours.encode_parts(message)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=0.2, help="per row and implementation")
    seconds: float = parser.parse_args(arguments).seconds
    print_table("decode", decoders, seconds)
    print_table("encode (to parts)", parts_encoders, seconds)
    print_table("encode (to one buffer)", encoders, seconds)


if __name__ == "__main__":
    main()
