"""``report``: aggregates the brokers' metric dumps with Spark. The job itself is ``analytics``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import click

from jbodlab.commands.output import Lab, lab_command
from jbodlab.errors import ExitCode, LabError
from jbodlab.java import require_java


@click.command()
@click.option("--dump", type=click.Path(path_type=Path), help="The dump; else the cluster's own.")
@click.option("--out", type=click.Path(path_type=Path), help="Where the tables go.")
@lab_command
def report(lab: Lab, dump: Path | None, out: Path | None) -> None:
    """Aggregate the brokers' metric dumps: a table per log dir and every failover."""
    dump_dir = dump or Path(lab.cluster.spec.metrics.dump_dir)
    out_dir = out or lab.cluster.run_dir.parent.parent / "report"
    with lab.working("Spark is at work"):
        text = run_report(dump_dir, out_dir)
    lab.emit({"tables": str(out_dir), "report": text}, text)


def run_report(dump_dir: Path, out_dir: Path) -> str:
    """Run the Spark job in a process of its own; return its report.

    Raises:
        LabError: MISSING_JAVA, MISSING_PACKAGE, or FAILED with the job's last words.
    """
    require_java()
    if importlib.util.find_spec("pyspark") is None:
        raise LabError(
            ExitCode.MISSING_PACKAGE,
            "the report runs on Spark: install it with `pip install 'jbodlab[analytics]'`",
        )
    if not dump_dir.is_dir():
        raise LabError(
            ExitCode.FAILED, f"there is no dump in {dump_dir}: start the cluster with `jbodlab up`"
        )
    command = [sys.executable, "-m", "analytics", str(dump_dir), "--out", str(out_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise LabError(ExitCode.FAILED, f"the Spark job failed: {' '.join(last)}")
    return done.stdout
