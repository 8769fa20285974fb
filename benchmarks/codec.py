"""Measures the message codec beside kafka-python 3, kio and stock construct, in one process.

It prints microseconds of CPU time and, for the peers, how many times longer they take, then which
bars are met. Rounds of all of them take turns and the best round counts, so that a busy machine
slows them alike.
Run: ``python -m benchmarks.codec [--seconds 0.2]`` (per row and peer).
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.codec_peers import (
    CONSTRUCT,
    KAFKA_PYTHON,
    OURS,
    PEERS,
    Run,
    decoders,
    encoders,
    parts_encoders,
)
from benchmarks.codec_rows import ROWS, Row

ROUND_SECONDS = 0.02
BARS = {KAFKA_PYTHON: 3, CONSTRUCT: 15}
"""How many times as fast as each peer the codec must be, in the geometric mean."""
LARGE_RATIO_MAX = 2
"""How many times as long as 16 KiB of records 1 MiB may take, where records are not copied."""

Seconds = dict[str, dict[str, float]]
"""By row, then by implementation."""


def measure(make: Callable[[Row], dict[str, Run]], seconds: float) -> Seconds:
    """Return how long each row takes each implementation."""
    return {f"{row.name} v{row.version}": best_seconds(make(row), seconds) for row in ROWS}


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


def ratios(taken: Seconds, peer: str) -> dict[str, float]:
    """Return how many times as long as ours ``peer`` takes, by row, where it has the message."""
    return {row: best[peer] / best[OURS] for row, best in taken.items() if peer in best}


def large_ratio(taken: Seconds, name: str) -> float:
    """Return how many times as long 1 MiB of records takes as 16 KiB."""
    large, small = (
        next(best[OURS] for row, best in taken.items() if row.startswith(f"{name} {size} "))
        for size in ("1 MiB", "16 KiB")
    )
    return large / small


def print_table(title: str, taken: Seconds) -> None:
    """Print all rows and the geometric means."""
    print(f"\n{title:28}{OURS:>12}" + "".join(f"{peer:>16}" for peer in PEERS))
    by_peer = {peer: ratios(taken, peer) for peer in PEERS}
    for row, best in taken.items():
        cells = "".join(_cell(by_peer[peer].get(row)) for peer in PEERS)
        print(f"{row:28}{best[OURS] * 1e6:9.1f} us{cells}")
    means = "".join(_cell(statistics.geometric_mean(by_peer[peer].values())) for peer in PEERS)
    print(f"{'geometric mean':40}{means}")


def _cell(ratio: float | None) -> str:
    return f"{'-':>16}" if ratio is None else f"{ratio:14.1f} x"


def print_bars(title: str, taken: Seconds, *, copies: bool) -> None:
    """Print which bars one direction meets; what copies records has none for their size."""
    for peer, bar in BARS.items():
        mean = statistics.geometric_mean(ratios(taken, peer).values())
        _print_bar(f"{title}: {bar} x as fast as {peer}", f"{mean:.1f} x", met=mean >= bar)
    row, slowest = min(ratios(taken, KAFKA_PYTHON).items(), key=lambda item: item[1])
    never = f"{title}: no row slower than {KAFKA_PYTHON}"
    _print_bar(never, f"{slowest:.1f} x, {row}", met=slowest >= 1)
    for name in () if copies else ("Produce", "Fetch"):
        ratio = large_ratio(taken, name)
        text = f"{title}: {name} of 1 MiB within {LARGE_RATIO_MAX} x of 16 KiB"
        _print_bar(text, f"{ratio:.1f} x", met=ratio <= LARGE_RATIO_MAX)


def _print_bar(text: str, found: str, *, met: bool) -> None:
    print(f"{'met   ' if met else 'MISSED'}  {text} ({found})")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and the bars."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=0.2, help="per row and implementation")
    seconds: float = parser.parse_args(arguments).seconds
    tables = {
        "decode": measure(decoders, seconds),
        "encode to parts": measure(parts_encoders, seconds),
        "encode to one buffer": measure(encoders, seconds),
    }
    for title, taken in tables.items():
        print_table(title, taken)
    print("\nkio decodes with native code. One buffer holds a copy of the records, parts do not.\n")
    for title, taken in tables.items():
        print_bars(title, taken, copies=title == "encode to one buffer")


if __name__ == "__main__":
    main()
