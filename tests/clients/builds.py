"""Makes client programs ready to run: fetches what they stand on, the first time, and compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
SAID_LAST: Final = 300
"""Characters shown of what a tool said that failed."""


class NotRunError(RuntimeError):
    """A program cannot run on this machine; the message says what is missing."""


def tool(name: str) -> str:
    """Return the path of a program of this machine.

    Raises:
        NotRunError: it is not installed.
    """
    found = shutil.which(name)
    if found is None:
        raise NotRunError(f"no {name}")
    return found


def build(*command: str, folder: Path) -> None:
    """Run a tool that fetches or compiles.

    Raises:
        NotRunError: it failed; what it said last is in the message.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-SAID_LAST:]
        raise NotRunError(f"{Path(command[0]).name} {command[1]} failed: {said}")


def go_program(name: str, build_dir: Path) -> list[str]:
    """Compile ``go/NAME``; go.sum says which modules it may fetch."""
    compiled = build_dir / name
    build(tool("go"), "build", "-o", str(compiled), f"./{name}", folder=FOLDER / "go")
    return [str(compiled)]
