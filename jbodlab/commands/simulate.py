"""``simulate``: a cluster, its clients and its faults from a seed or a file, on virtual time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from jbodlab.errors import ExitCode

if TYPE_CHECKING:
    from jbodlab.worlds.seed_runs import Request
    from simulation.simulated_run import SimulatedRun
    from simulation.tally import Tally


class SeedRange(click.ParamType[range]):
    """``A..B``, both included."""

    name = "A..B"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        """Return the range that a text means."""
        if isinstance(value, range):
            return value
        first, dots, last = str(value).partition("..")
        if not (dots and first.isdecimal() and last.isdecimal()) or int(first) > int(last):
            self.fail(f"{value!r} is no range of seeds such as 1..1000", param, ctx)
        return range(int(first), int(last) + 1)


_NOT_ON_SPARK = {
    "keep_going": "--keep-going",
    "rules": "--rules",
    "plan_file": "--plan",
    "history_file": "--history",
    "dump_dir": "--dump",
    "log_file": "--keep-log",
    "reduce_dir": "--reduce",
}
_FILE = click.Path(path_type=Path, dir_okay=False)
_TOLD_MAX = 10
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(short_help="Run a cluster and faults in one process.")
@click.option("--seed", type=click.IntRange(min=0), help="Draw everything from this number.")
@click.option("--scenario", metavar="NAME|FILE", help="Run a written plan in the world of --seed.")
@click.option("--seeds", type=SeedRange(), help="Run many seeds, to the first violation.")
@click.option(
    "--experiment", metavar="NAME|FILE", help="Run the plan of an experiment's cell; see docs."
)
@click.option("--spark", metavar="MASTER", help="With --seeds: as Spark tasks, all; needs --out.")
@click.option("--out", type=_FOLDER, help="With --spark: where the Parquet tables go.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--keep-going", is_flag=True, help="With --seeds: run all, and tell of each that fails."
)
@click.option("--seconds", type=click.IntRange(min=1), help="How long a drawn story lasts.")
@click.option("--rules", is_flag=True, help="With --seeds: report what they reached, rule by rule.")
@click.option("--plan", "plan_file", type=_FILE, help="Write the resolved plan here.")
@click.option(
    "--history", "history_file", type=_FILE, help="Write what clients saw: .edn, or JSON lines."
)
@click.option("--dump", "dump_dir", type=_FOLDER, help="Write metric rows here, for Spark.")
@click.option(
    "--record", "record_file", type=_FILE, help="Write what the console plays of it here, as JSON."
)
@click.option("--keep-log", "log_file", type=_FILE, help="Write what the nodes log here.")
@click.option(
    "--reduce", "reduce_dir", type=_FOLDER, help="Reduce what fails; a scenario and a test go here."
)
@click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def simulate(context: click.Context, *, is_json: bool, **options: Any) -> None:
    """Run a cluster and its faults in one process, exactly repeatable from its seed.

    Tells the story and what the checkers found. The exit code is 12 when they found anything.
    """
    out, master = options.pop("out"), options.pop("spark")
    _check_spark_usage(options, master, out)
    _check_usage(options)
    # The brokers that a simulated world runs take a moment to load; no other command waits for it.
    from jbodlab.worlds.seed_runs import Request  # noqa: PLC0415

    request = Request(**options)
    if master is not None:
        if not _show_on_spark(request, master, str(out), is_json=is_json):
            context.exit(ExitCode.VIOLATION)
        return
    show = _show_many if request.seeds is not None else _show_one
    if not show(request, is_json=is_json):
        context.exit(ExitCode.VIOLATION)


# Any: what click read.
def _check_usage(options: Mapping[str, Any]) -> None:
    if options["seeds"] is not None and (options["seed"], options["scenario"]) != (None, None):
        raise click.UsageError("--seeds goes with neither --seed nor --scenario")
    if options["seeds"] is not None and options["record_file"] is not None:
        raise click.UsageError("--record goes with --seed or --scenario, which are one run")
    if options["rules"] and options["seeds"] is None:
        raise click.UsageError("--rules goes with --seeds A..B")
    if options["keep_going"] and options["seeds"] is None:
        raise click.UsageError("--keep-going goes with --seeds A..B")
    if options["keep_going"] and options["reduce_dir"] is not None:
        raise click.UsageError("--reduce goes with one failure: leave out --keep-going")
    if (options["seeds"], options["seed"], options["scenario"]) == (None, None, None):
        raise click.UsageError("give --seed N, --seeds A..B or --scenario FILE")


# Any: what click read.
def _check_spark_usage(options: Mapping[str, Any], master: str | None, out: Path | None) -> None:
    if (out is None) != (master is None) or (master is not None and options["seeds"] is None):
        raise click.UsageError("--spark MASTER, --seeds A..B and --out FOLDER go together")
    ignored = [option for name, option in _NOT_ON_SPARK.items() if options[name]]
    if options["jobs"] != 1:
        ignored.append("--jobs")
    if master is not None and ignored:
        raise click.UsageError(
            f"Spark's tasks know nothing of {', '.join(ignored)}: leave --spark out, or run one "
            "seed of its tables again with --seed N"
        )
    if options["experiment"] is not None and (options["scenario"] or options["seconds"]):
        raise click.UsageError("--experiment goes with neither --scenario nor --seconds")
    if options["experiment"] is not None and options["seeds"] is not None and master is None:
        raise click.UsageError("many seeds of an experiment need --spark, such as local[*]")


def _show_one(request: Request, *, is_json: bool) -> bool:
    """Run one plan and tell of it; return whether nothing was found."""
    from jbodlab.commands.run_summary import run_content, run_summary  # noqa: PLC0415
    from jbodlab.worlds.seed_runs import commit, run_one  # noqa: PLC0415
    from simulation.simulated_run import replay_header  # noqa: PLC0415

    plan = request.plan()
    run = run_one(request, plan, lambda line: click.echo(str(line), err=is_json))
    header = replay_header(commit())
    if is_json:
        click.echo(json.dumps({**run_content(run), "replay": header}, indent=2))
    else:
        click.echo(run_summary(run, header))
    if run.verdict.is_ok:
        return True
    _tell_failure(request, run)
    return False


def _show_many(request: Request, *, is_json: bool) -> bool:
    """Run many seeds and tell what they came to; return whether nothing was found.

    Also where Ctrl-C ends it early: a long sweep is not lost by that.
    """
    from jbodlab.commands.run_summary import is_worth_a_line  # noqa: PLC0415
    from jbodlab.worlds.seed_runs import new_tally, run_many  # noqa: PLC0415

    assert request.seeds is not None
    tally, progress, total = new_tally(request), _progress(), len(request.seeds)
    task = progress.add_task("seeds", total=total)

    def on_run(run: SimulatedRun) -> None:
        progress.advance(task)
        if not progress.console.is_terminal and is_worth_a_line(tally.seeds, total):
            click.echo(f"jbodlab: {tally.seeds} of {total} seeds ran", err=True)
        if request.keep_going and not run.verdict.is_ok:
            _tell_failure(request, run)

    try:
        with progress:
            failed = run_many(request, request.seeds, tally, on_run)
    except KeyboardInterrupt:
        _tell_tally(tally, progress, is_json=is_json)
        raise
    _tell_tally(tally, progress, is_json=is_json)
    if failed and not request.keep_going:
        _tell_failure(request, failed[0])
    return not failed


def _tell_tally(tally: Tally, progress: Progress, *, is_json: bool) -> None:
    from jbodlab.commands.run_summary import tally_summary  # noqa: PLC0415

    elapsed_s = progress.tasks[0].elapsed or 0.0
    if is_json:
        click.echo(json.dumps({**tally.content(), "wall_s": elapsed_s}, indent=2))
    else:
        click.echo(tally_summary(tally, elapsed_s))


def _show_on_spark(request: Request, master: str, out: str, *, is_json: bool) -> bool:
    """Run all seeds as Spark tasks and tell what they came to; return whether nothing was found."""
    from jbodlab.commands.seed_tables import show_seed_tables  # noqa: PLC0415
    from jbodlab.worlds.spark_seeds import run_on_spark  # noqa: PLC0415

    assert request.seeds is not None
    with Console(stderr=True).status(f"{len(request.seeds)} seeds on {master}"):
        found = run_on_spark(request.task, request.seeds, master, out)
    distributions, outliers = found["distributions"], found["outliers"]
    if is_json:
        click.echo(json.dumps({"tables": out, **found}, indent=2))
    else:
        is_experiment = request.experiment is not None
        console = Console() if Console().is_terminal else Console(width=160)
        show_seed_tables(distributions, outliers, console, is_experiment=is_experiment)
        console.print(f"tables: {out}")
    return all(row["is_ok"] for row in outliers)


def _tell_failure(request: Request, run: SimulatedRun) -> None:
    from jbodlab.worlds.seed_runs import reduce_run  # noqa: PLC0415

    violations = run.verdict.violations
    click.echo(f"jbodlab: seed {run.seed}: {len(violations)} violation(s)", err=True)
    for violation in violations[:_TOLD_MAX]:
        click.echo(f"  {violation}", err=True)
    if len(violations) > _TOLD_MAX:
        click.echo(f"  and {len(violations) - _TOLD_MAX} more: --json tells all", err=True)
    click.echo(f"again: {request.replay(run.seed)}", err=True)
    if request.reduce_dir is None:
        return
    plan = request.task.plan(run.seed) if request.scenario is None else request.plan()
    attempts = 0
    with Console(stderr=True).status("reducing") as status:

        def count(_: Any) -> None:
            nonlocal attempts
            attempts += 1
            status.update(f"reducing: run {attempts}")

        files = reduce_run(plan, run, request.reduce_dir, count)
    click.echo(f"reduced in {attempts} runs: {', '.join(map(str, files))}", err=True)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
