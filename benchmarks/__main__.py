"""All benchmarks with one command: ``python -m benchmarks [--peer kafka] [--suite NAME]``.

Each suite runs in a process of its own, so that none warms another's caches.
"""

from __future__ import annotations

import subprocess
import sys

import click

_SUITES = (
    "cluster",
    "coordinators",
    "codec",
    "authorizer",
    "rpc",
    "log_dir",
    "log_open",
    "partitions",
    "throttles",
    "quotas",
    "security",
    "isolation",
    "moves_under_load",
    "hostile",
    "simulation",
    "analytics",
    "analytics_cluster",
    "analytics_driver",
    "analytics_stream",
)
_WITH_PEER = ("cluster", "coordinators", "moves_under_load", "quotas", "security")


@click.command()
@click.option("--peer", type=click.Choice(["kafka"]), help="Measure Apache Kafka 3.9.2 too.")
@click.option("--suite", type=click.Choice(_SUITES), multiple=True, help="Run these only.")
def main(*, peer: str | None, suite: tuple[str, ...]) -> None:
    """Run the benchmarks and print one table each, with ratios where there is a peer."""
    codes = [_run(name, peer) for name in suite or _SUITES]
    sys.exit(max(codes))


def _run(name: str, peer: str | None) -> int:
    peers = ["--peer", peer] if peer and name in _WITH_PEER else []
    command = [sys.executable, "-m", f"benchmarks.{name}", *peers]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    main()
