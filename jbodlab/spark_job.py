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


def run_report(dump_dir: Path, out_dir: Path) -> str:
    """Write tables below ``out_dir``; return the report as JSON text.

    Raises:
        LabError: MISSING_JAVA, MISSING_PACKAGE, or FAILED with the job's last words.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise LabError(
            ExitCode.MISSING_PACKAGE,
            "the report runs on Spark: install it with `pip install 'jbodlab[analytics]'`",
        )
    if not dump_dir.is_dir():
        raise LabError(
            ExitCode.FAILED, f"there is no dump in {dump_dir}: start the cluster with `jbodlab up`"
        )
    options = ["--dump", str(dump_dir), "--out", str(out_dir), "--json"]
    command = [sys.executable, "-m", analytics.__name__, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    words = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    reason = " ".join(words).removeprefix("analytics: ")
    if done.returncode == _JAVA_MISSING:
        raise LabError(ExitCode.MISSING_JAVA, reason)
    raise LabError(ExitCode.FAILED, f"the Spark job failed: {reason}")


def read_report(text: str, folder: Path) -> Report:
    """Return what ``run_report`` returned as values, with paths from ``folder`` on."""
    return Report(**json.loads(text.replace(f"{folder}/", "")))
