"""What a reader of a page types, run as it stands there."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.deadlines import DEADLINE_S

TIMEOUT_S = 10 * DEADLINE_S
"""Of one command or program: some start a cluster or Spark."""


def typed(
    folder: Path, command: Sequence[str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; it has to succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, (command, done.stdout + done.stderr)
    return done
