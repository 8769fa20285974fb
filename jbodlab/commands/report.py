"""``report``: aggregates the brokers' metric rows with Spark. The job itself is ``analytics``."""

from __future__ import annotations

import json
from pathlib import Path

import click

import analytics
from analytics.report import print_findings, print_report
from jbodlab.commands.output import Lab, lab_command
from jbodlab.spark_job import follow_dump, read_report, run_report


@click.command(short_help="Aggregate metric rows with Spark.")
@click.option("--dump", type=click.Path(path_type=Path), help="The dump; else the cluster's own.")
@click.option("--from", "topic", metavar="kafka://HOST:PORT", help="The metrics topic, instead.")
@click.option("--out", type=click.Path(path_type=Path), help="Where tables and pictures go.")
@click.option("--plan", help="Score a plan of kafka-reassign-partitions (JSON) before and after.")
@click.option("--tables", "form", flag_value="tables", help="Print every table, not ten lines.")
@click.option("--live", "form", flag_value="live", help="Follow the running cluster, to Ctrl-C.")
@lab_command
def report(
    lab: Lab,
    dump: Path | None,
    topic: str | None,
    out: Path | None,
    plan: str | None,
    form: str | None,
) -> None:
    """Aggregate the brokers' metric rows: the lines that matter, tables, and a page of pictures.

    The page is one HTML file that opens without a network.
    """
    if topic is not None and (dump is not None or form == "live"):
        raise click.UsageError(
            "--from reads a topic as it is now: give it without --dump and --live, or follow it "
            f"with python -m {analytics.__name__}.follow"
        )
    dump_dir = dump or Path(lab.cluster.spec.metrics.dump_dir)
    out_dir = out or lab.cluster.run_dir.parent.parent / "report"
    if form == "live":
        follow_dump(dump_dir, out_dir)
        return
    with lab.working("Spark is at work"):
        text = run_report(topic or dump_dir, out_dir, *(() if plan is None else ("--plan", plan)))
    found = read_report(text, lab.config_path.absolute().parent)
    if lab.is_json:
        click.echo(json.dumps({"tables": str(out_dir), "report": json.loads(text)}, indent=2))
    elif form == "tables":
        print_report(found, lab.console)
    else:
        print_findings(found, lab.console)
