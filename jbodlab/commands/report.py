"""``report``: aggregates the brokers' metric rows with Spark. The job itself is ``analytics``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import click

import analytics
from analytics.report import print_findings, print_report
from jbodlab.asking.client_settings import read_command_config
from jbodlab.commands.output import Lab, lab_command
from jbodlab.spark_job import follow_dump, read_report, run_report


@click.command(short_help="Aggregate metric rows with Spark.")
@click.option("--dump", type=click.Path(path_type=Path), help="The dump; else the cluster's own.")
@click.option("--from", "topic", metavar="kafka://HOST:PORT", help="The metrics topic, instead.")
@click.option("--out", type=click.Path(path_type=Path), help="Where tables and pictures go.")
@click.option("--plan", help="Score a plan of kafka-reassign-partitions (JSON) before and after.")
@click.option("--run", metavar="RUN", help="The run that is shown; else the latest one.")
@click.option("--against", metavar="RUN", help="Compare with this run; else with the one before.")
@click.option("--new", "is_only_new", is_flag=True, help="Parse only files new since last time.")
@click.option("--tables", "form", flag_value="tables", help="Print every table: 40 lines of each.")
@click.option("--live", "form", flag_value="live", help="Follow the running cluster, to Ctrl-C.")
@lab_command
def report(lab: Lab, **options: Any) -> None:
    """Aggregate the brokers' metric rows: the lines that matter, tables, and a page of pictures.

    The page is one HTML file that opens without a network. --command-config goes with --from.
    """
    asked = ReportOptions(**options)
    asked.check()
    if asked.topic is not None and not lab.is_own:
        words = "--from names the brokers: give it without --bootstrap-server and --api"
        raise click.UsageError(words)
    source = asked.topic or asked.dump or Path(lab.cluster.spec.metrics.dump_dir)
    out_dir = asked.out or lab.config_path.absolute().parent / "data/report"
    if isinstance(source, Path) and asked.form == "live":
        follow_dump(source, out_dir)
        return
    told = asked.job_options()
    if asked.topic is not None and lab.command_config is not None:
        read_command_config(lab.command_config)  # What is wrong with it is told before Spark runs.
        told += ["--command-config", str(lab.command_config.absolute())]
    with lab.working("Spark is at work"):
        text = run_report(source, out_dir, *told)
    found = read_report(text, lab.config_path.absolute().parent)
    if lab.is_json:
        click.echo(json.dumps({"tables": str(out_dir), "report": json.loads(text)}, indent=2))
    elif asked.form == "tables":
        print_report(found, lab.console)
    else:
        print_findings(found, lab.console)


class ReportOptions(NamedTuple):
    """What the options say."""

    dump: Path | None
    topic: str | None
    out: Path | None
    plan: str | None
    run: str | None
    against: str | None
    form: str | None
    is_only_new: bool

    def check(self) -> None:
        """Refuse what does not go together.

        Raises:
            click.UsageError: with what to do instead.
        """
        if self.topic is not None and (self.dump is not None or self.form == "live"):
            raise click.UsageError(
                "--from reads a topic as it is now: give it without --dump and --live, or follow "
                f"it with python -m {analytics.__name__}.follow"
            )
        if self.is_only_new and (self.topic is not None or self.form == "live"):
            raise click.UsageError("--new reads a dump folder: give it without --from and --live")
        if self.plan is not None and self.form == "live":
            raise click.UsageError("a plan is scored by a whole report: give --plan without --live")
        if (self.run or self.against) and self.form == "live":
            raise click.UsageError("the latest run is followed: leave --run, --against out")

    def job_options(self) -> list[str]:
        """Return what the Spark job is told beside places."""
        named = {"--plan": self.plan, "--run": self.run, "--against": self.against}
        told = [word for name, value in named.items() if value for word in (name, value)]
        return [*told, *(["--new"] if self.is_only_new else [])]
