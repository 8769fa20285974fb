"""What a seed costs: ``python -m benchmarks.seeds --seeds 550101..550145 --seconds 5``.

Each seed runs once in this process, which does nothing else. It prints the processor time of a seed
(median, mean, slowest), the steps, and one hash of all traces: it stays while only the cost of a
world changes, and not what happens in it.
"""

from __future__ import annotations

import hashlib
import logging
import time
from statistics import mean, median
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from jbodlab.commands.simulate import SeedRange
from simulation.simulated_run import SimulatedRun, simulate_seed

_WARM_UP_SEED: Final = 1
_WIDTH: Final = 110


@click.command()
@click.option("--seeds", type=SeedRange(), default="1..50", show_default=True)
@click.option("--seconds", default=5, show_default=True, help="How long a drawn story lasts.")
def main(*, seeds: range, seconds: int) -> None:
    """Measure and print."""
    logging.disable(logging.CRITICAL)
    simulate_seed(_WARM_UP_SEED, seconds)  # Codecs are compiled, modules are loaded.
    taken = {seed: _measured(seed, seconds) for seed in seeds}
    costs_s = [cpu_s for cpu_s, _ in taken.values()]
    slowest = max(taken, key=lambda seed: taken[seed][0])
    traces = hashlib.sha256("".join(run.trace_hash for _, run in taken.values()).encode())
    failed = [str(seed) for seed, (_, run) in taken.items() if not run.verdict.is_ok]
    table = Table("seeds", "median", "mean", "slowest", "steps", "traces", "violated")
    table.add_row(
        f"{len(taken)}",
        f"{median(costs_s):.2f} s",
        f"{mean(costs_s):.2f} s",
        f"{taken[slowest][0]:.2f} s ({slowest})",
        f"{sum(run.steps for _, run in taken.values()):,}",
        traces.hexdigest()[:16],
        ", ".join(failed) or "none",
    )
    Console(width=_WIDTH).print(table)


def _measured(seed: int, seconds: int) -> tuple[float, SimulatedRun]:
    """Return the processor time of a seed and its run."""
    began_s = time.process_time()
    run = simulate_seed(seed, seconds)
    return time.process_time() - began_s, run


if __name__ == "__main__":
    main()
