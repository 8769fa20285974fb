"""Blocks of the guide as a reader types them, where the cluster file is."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from jbodlab.processes.free_ports import free_ports
from tests.integration.typed import typed

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def blocks(page: str, language: str = "sh") -> list[str]:
    """Return the blocks of a page in a language."""
    text = (GUIDE / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def environment(**more: str) -> dict[str, str]:
    """Return that of a shell in which `jbodlab` is installed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "COLUMNS": "200"} | more


def type_in(folder: Path, block: str, **more: str) -> str:
    """Run a block in a folder, with ``more`` in its environment; return all that it says."""
    command = ["bash", "-euo", "pipefail", "-c", block]
    done = typed(folder, command, environment(**more))
    return done.stdout + done.stderr


def instead(text: str, *exchanged: tuple[str, str]) -> str:
    """Put other words in the place of some that a test cannot keep; each has to be there."""
    for old, new in exchanged:
        assert old in text, (old, text)
        text = text.replace(old, new)
    return text


def on_free_ports(text: str) -> str:
    """Return a file of `jbodlab init` with other ports: its own may be taken here."""
    ports = iter(free_ports(7))
    text = re.sub(r"(?m)^( +port:) \d+", lambda found: f"{found[1]} {next(ports)}", text)
    return re.sub(
        r"(?m)^    port:.*", lambda found: f"{found[0]}\n    control_port: {next(ports)}", text
    )
