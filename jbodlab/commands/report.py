"""``report``: aggregates the brokers' metric dumps with Spark. The job itself is ``analytics``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from analytics.report import print_report
from jbodlab.commands.output import Lab, lab_command
from jbodlab.spark_job import read_report, run_report


@click.command(short_help="Aggregate metric dumps with Spark.")
@click.option("--dump", type=click.Path(path_type=Path), help="The dump; else the cluster's own.")
@click.option("--out", type=click.Path(path_type=Path), help="Where the tables go.")
@lab_command
def report(lab: Lab, dump: Path | None, out: Path | None) -> None:
    """Aggregate the brokers' metric dumps: a table per log dir and every failover."""
    dump_dir = dump or Path(lab.cluster.spec.metrics.dump_dir)
    out_dir = out or lab.cluster.run_dir.parent.parent / "report"
    with lab.working("Spark is at work"):
        text = run_report(dump_dir, out_dir)
    if lab.is_json:
        click.echo(json.dumps({"tables": str(out_dir), "report": json.loads(text)}, indent=2))
    else:
        print_report(read_report(text, lab.config_path.absolute().parent), lab.console)
