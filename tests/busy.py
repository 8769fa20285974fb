"""``python -m tests.busy [--loops N] [ARGUMENTS]``: runs pytest beside N loops that never rest.

What passes on an idle machine passes here, later. ARGUMENTS are pytest's: else the whole suite.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from tests.lanes import LANES

LOOPS: Final = 6
WHOLE_SUITE: Final = ("-n", str(len(LANES)))
_LOOP: Final = "import os\nwhile os.getppid() == {parent}: pass"
"""It ends with whoever started it, also when that is killed."""


@contextmanager
def busy_machine(loops: int) -> Generator[list[subprocess.Popen[bytes]]]:
    """Keep that many processes computing for the length of a block."""
    command = [sys.executable, "-S", "-c", _LOOP.format(parent=os.getpid())]
    running = [subprocess.Popen(command) for _ in range(loops)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> int:
    """Run pytest; the exit code is its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.busy", description=__doc__)
    parser.add_argument("--loops", type=int, default=LOOPS, help=f"{LOOPS} unless told")
    options, arguments = parser.parse_known_args()
    with busy_machine(options.loops):
        command = [sys.executable, "-m", "pytest", *(arguments or WHOLE_SUITE)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
