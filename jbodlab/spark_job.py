"""Runs the Spark job of ``analytics`` in a process of its own. The job itself is there."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import analytics
from analytics.report import Report
from jbodlab.errors import ExitCode, LabError

# The job's own exit codes, analytics/__main__.py: loading that module would load Spark here.
_JAVA_MISSING: Final = 3
_CONNECTOR_MISSING: Final = 7
_WRONGLY_ASKED: Final = (8, 9)
"""For a plan that is none, for a run that is not there."""


def run_report(source: Path | str, out_dir: Path, *options: str) -> str:
    """Write tables below ``out_dir``; return the report as JSON text.

    ``source`` is a dump folder, or the ``kafka://`` address of a metrics topic; ``options`` are
    further ones of ``python -m analytics``.

    Raises:
        LabError: MISSING_JAVA, MISSING_PACKAGE, or FAILED with the job's last words.
    """
    command = [*_command(source, out_dir), *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    raise _error(done.returncode, done.stderr.strip() or done.stdout.strip())


def follow_dump(dump_dir: Path, out_dir: Path) -> None:
    """Show what a dump that is being written comes to, on this terminal, until Ctrl-C.

    Raises:
        LabError: as ``run_report``.
    """
    command = [*_command(dump_dir, out_dir), "--live"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.communicate()[1]
        except KeyboardInterrupt:  # It went to both, and both end.
            process.wait()
            return
    if process.returncode != 0:
        raise _error(process.returncode, said.strip())


def _command(source: Path | str, out_dir: Path) -> list[str]:
    if importlib.util.find_spec("pyspark") is None:
        raise LabError(
            ExitCode.MISSING_PACKAGE,
            "the report runs on Spark: install it with `pip install 'jbodlab[analytics]'`, "
            "or beside a command of pipx with `pipx inject jbodlab 'pyspark>=4'`",
        )
    if isinstance(source, Path) and not source.is_dir():
        raise LabError(
            ExitCode.FAILED, f"there is no dump in {source}: start the cluster with `jbodlab up`"
        )
    option = "--dump" if isinstance(source, Path) else "--from"
    options = [option, str(source), "--out", str(out_dir)]
    return [sys.executable, "-m", analytics.__name__, *options]


def _error(returncode: int, said: str) -> LabError:
    reason = " ".join(said.splitlines()[-1:]).removeprefix("analytics: ")
    if returncode == _JAVA_MISSING:
        return LabError(ExitCode.MISSING_JAVA, reason)
    if returncode == _CONNECTOR_MISSING:
        return LabError(ExitCode.MISSING_PACKAGE, reason)
    if returncode in _WRONGLY_ASKED:
        return LabError(ExitCode.FAILED, reason)
    return LabError(ExitCode.FAILED, f"the Spark job failed: {reason}")


def read_report(text: str, folder: Path) -> Report:
    """Return what ``run_report`` returned as values, with paths from ``folder`` on."""
    return Report(**json.loads(text.replace(f"{folder}/", "")))
