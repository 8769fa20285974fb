"""What the cluster benchmark runs against: jbodlab itself, or Apache Kafka on the same machine.

A target starts and stops processes and knows where they keep things; it measures nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console


class Target(Protocol):
    """A cluster of three brokers with three log dirs each."""

    name: str

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, as clients take them."""
        ...

    def launch(self) -> None:
        """Start every process; does not wait until they serve."""
        ...

    def wait_until_up(self) -> None:
        """Wait until every broker serves."""
        ...

    def stop(self) -> None:
        """End every process and wait for it."""
        ...

    def log_dirs(self, broker_id: int) -> list[Path]:
        """Return the broker's log dirs in the order of its config."""
        ...

    def resident_bytes(self) -> dict[str, int]:
        """Return the resident set of each process, by role."""
        ...

    def processor_s(self) -> float:
        """Return the processor time of all processes since they began."""
        ...

    def failure_noticed_ms(self, broker_id: int, log_dir: Path) -> int | None:
        """Return when (ms since the epoch) the broker noticed that ``log_dir`` is broken."""
        ...


@contextmanager
def new_target(maker: Callable[[Path], Target], part: str, console: Console) -> Generator[Target]:
    """Give a target in a folder of its own; ``console`` shows which part it is for."""
    with tempfile.TemporaryDirectory(prefix="jbodlab-bench-") as root:
        target = maker(Path(root))
        try:
            with console.status(f"{target.name}: {part}"):
                yield target
        finally:
            target.stop()
