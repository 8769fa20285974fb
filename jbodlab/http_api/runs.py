"""Simulated runs for the console: each in a process of its own, one at a time.

A run is known by its plan and its seed, so that an address says it whole and nothing is kept.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from jbodlab.errors import ExitCode, LabError

DRAWN: Final = "drawn"
"""In place of a scenario's name: the plan that the seed draws."""
TIMEOUT_MS: Final = 120_000
SEED_MAX: Final = (1 << 63) - 1
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)
_COMMAND: Final = __name__.partition(".")[0]


def run_command(plan: str, seed: str, record_file: Path) -> list[str]:
    """Return the command line that records a run.

    Raises:
        LabError: USAGE, for what names no run. A file is no plan here: whoever asks may be told
            of no other file than the scenarios that come with jbodlab.
    """
    if _NAME.fullmatch(plan) is None:
        words = f"{plan!r} is no scenario's name, nor {DRAWN}: see `jbodlab scenario list`"
        raise LabError(ExitCode.USAGE, words)
    if not (seed.isascii() and seed.isdecimal()) or int(seed) > SEED_MAX:
        raise LabError(ExitCode.USAGE, f"seed {seed!r} is no whole number up to {SEED_MAX}")
    chosen = [] if plan == DRAWN else ["--scenario", plan]
    record = ["--seed", str(int(seed)), "--record", str(record_file)]
    return [sys.executable, "-m", _COMMAND, "simulate", *chosen, *record]


class Runs:
    """Runs what is asked for."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()

    async def recorded(self, plan: str, seed: str) -> bytes:
        """Return the JSON that the page plays; also of a run in which something was found.

        Raises:
            LabError: USAGE, as ``run_command``; FAILED when it cannot be run; TIMED_OUT.
        """
        async with self._one_at_a_time:
            with tempfile.TemporaryDirectory(prefix="jbodlab-run-") as folder:
                return await _recorded(plan, seed, Path(folder))


async def _recorded(plan: str, seed: str, folder: Path) -> bytes:
    file = folder / "run.json"
    process = await asyncio.create_subprocess_exec(
        *run_command(plan, seed, file),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TIMEOUT_MS / 1000):
            _, told = await process.communicate()
    except TimeoutError as error:
        words = f"{plan} with seed {seed} took longer than {TIMEOUT_MS} ms"
        raise LabError(ExitCode.TIMED_OUT, words) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not file.exists():
        raise LabError(ExitCode.FAILED, told.decode(errors="replace").strip() or "it did not run")
    return file.read_bytes()
