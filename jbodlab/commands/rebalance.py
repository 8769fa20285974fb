"""``rebalance``: plan moves between log dirs and brokers, carry a plan out, take it back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from analytics.sizes import size_text
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.commands.log_dirs import move_bar
from jbodlab.commands.output import Lab, lab_command
from jbodlab.errors import ExitCode, LabError
from jbodlab.rebalance.core.plan import make_plan
from jbodlab.rebalance.core.plan_file import Wanted, as_it_is, from_json, to_json, wanted_by
from jbodlab.rebalance.core.plan_request import Goal, PlanRequest
from jbodlab.rebalance.core.situation import LogDirId, Situation
from jbodlab.rebalance.look import look_at_cluster, look_at_plan
from jbodlab.rebalance.rates import measured_rates, rates_of_dump
from jbodlab.rebalance.run import AT_ONCE, Run, RunOptions, RunProgress
from jbodlab.rebalance.tables import plan_content, plan_shown
from protocol.ids import TopicPartition

_BYTES_PER_SECOND = click.IntRange(min=1)
_MEASURE_S = 5.0


@click.group()
def rebalance() -> None:
    """Even out log dirs and brokers, or empty them.

    `plan` looks and writes a file, `run` carries it out, `undo` goes back. Plans are the JSON of
    kafka-reassign-partitions, so that Kafka's own tool can carry them out, too.
    """


@rebalance.command()
@click.option(
    "--goal",
    type=click.Choice([goal.value for goal in Goal]),
    default=Goal.BYTES.value,
    show_default=True,
    help="What is evened out: bytes on disk, how many replicas, or bytes written per second.",
)
@click.option(
    "--within-brokers/--between-brokers",
    default=True,
    show_default=True,
    help="Whether replicas stay with their broker or may go to others, too.",
)
@click.option("--drain", "paths", multiple=True, help="Empty this log dir instead. Repeatable.")
@click.option(
    "--drain-broker", "brokers", type=int, multiple=True, help="Empty this broker. Repeatable."
)
@click.option(
    "--rates",
    type=click.Choice(["auto", "dump", "live", "none"]),
    default="auto",
    show_default=True,
    help="Where write rates come from: the metric dump through Spark, two looks 5 s apart, or "
    "nowhere. auto: dump for the goal rate, else none.",
)
@click.option(
    "--reserve",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    help="Percent of each disk that stays free.",
)
@click.option(
    "--tolerance",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Percent over the mean at which a log dir is left alone.",
)
@click.option("--throttle", type=_BYTES_PER_SECOND, help="Bytes per second to reckon time with.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The plan's file.")
@lab_command
def plan(lab: Lab, **options: Any) -> None:
    """Show what moving would bring, and write it to --out.

    A plan never puts two replicas of a partition on one broker, spreads racks no less than they
    are, and uses no cordoned or offline log dir. With --drain only what has to go moves.
    """
    out: Path | None = options["out"]
    if out is not None and _rollback_of(out).exists():
        raise LabError(
            ExitCode.FAILED,
            f"{_rollback_of(out)} leads back from an earlier run of {out}: "
            "choose another --out, or remove it if nobody wants to go back",
        )
    with lab.admin() as admin:
        rates = _rates(lab, admin, options["rates"], options["goal"])
        situation = look_at_cluster(admin, rates)
    made = make_plan(situation, _request(lab, situation, options))
    throttle: int | None = options["throttle"]
    if out is not None and made.movements:
        _write(out, to_json(wanted_by(made)))
    shown = plan_shown(made, throttle, lab.short, lab.console.width)
    lab.emit(plan_content(made, throttle), shown)
    lab.errors.print(_next_words(out, is_empty=not made.movements), soft_wrap=True)


@rebalance.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--throttle", type=_BYTES_PER_SECOND, help="Bytes per second per broker and way.")
@click.option(
    "--at-once",
    type=click.IntRange(min=1),
    default=AT_ONCE,
    show_default=True,
    help="How many partitions are under way together.",
)
@lab_command
def run(lab: Lab, file: Path, throttle: int | None, at_once: int) -> None:
    """Carry out the plan in FILE.

    First it writes the way back beside FILE (plan.json: plan.rollback.json), for `undo`. Ctrl-C
    takes back what is under way and leaves what is complete; run it again to go on. Throttles are
    off at the end, however it ends.
    """
    wanted = _read(file, f"`jbodlab rebalance plan --out {file}`")
    with lab.admin() as admin:
        _write_rollback(admin, _rollback_of(file), wanted)
        _carry_out(lab, admin, wanted, RunOptions(throttle=throttle, at_once=at_once))
    lab.errors.print(f"to go back: `jbodlab rebalance undo {_rollback_of(file)}`", soft_wrap=True)


@rebalance.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--throttle", type=_BYTES_PER_SECOND, help="Bytes per second per broker and way.")
@click.option("--at-once", type=click.IntRange(min=1), default=AT_ONCE, show_default=True)
@lab_command
def undo(lab: Lab, file: Path, throttle: int | None, at_once: int) -> None:
    """Go back to the places in FILE, which `run` wrote before it began.

    It works after a run, and in the middle of one that was stopped. Partitions that were deleted
    since are passed.
    """
    wanted = _read(file, "`jbodlab rebalance run` writes it")
    with lab.admin() as admin:
        seen = look_at_plan(admin, wanted)
        gone = [str(each.tp) for each in wanted if each.tp not in seen.replicas]
        if gone:
            lab.errors.print(f"not there any more, passed: {', '.join(gone)}", soft_wrap=True)
        wanted = [each for each in wanted if each.tp in seen.replicas]
        _carry_out(lab, admin, wanted, RunOptions(throttle=throttle, at_once=at_once))


def _request(lab: Lab, situation: Situation, options: dict[str, Any]) -> PlanRequest:
    return PlanRequest(
        goal=Goal(options["goal"]),
        between_brokers=not options["within_brokers"],
        drained=frozenset(_log_dir(lab, situation, path) for path in options["paths"]),
        drained_brokers=frozenset(_broker(lab, each) for each in options["brokers"]),
        reserve=options["reserve"] / 100,
        tolerance=options["tolerance"] / 100,
    )


def _log_dir(lab: Lab, situation: Situation, path: str) -> LogDirId:
    full_path = str(lab.layout.config_path.parent / path)
    for each in situation.log_dirs:
        if each.id.path == full_path:
            return each.id
    known = ", ".join(lab.short(each.id.path) for each in situation.log_dirs)
    raise LabError(ExitCode.FAILED, f"no broker tells of a log dir {path}; there are {known}")


def _broker(lab: Lab, broker_id: int) -> int:
    known = [broker.id for broker in lab.brokers]
    if broker_id not in known:
        raise LabError(ExitCode.FAILED, f"there is no broker {broker_id}; there are {known}")
    return broker_id


def _rates(lab: Lab, admin: ClusterAdmin, source: str, goal: str) -> dict[TopicPartition, float]:
    if source == "none" or (source == "auto" and goal != Goal.RATE):
        return {}
    if source == "live":
        with lab.working(f"looking at sizes for {_MEASURE_S:.0f} s"):
            return measured_rates(admin, _MEASURE_S, time.sleep)
    with lab.working("Spark is at work"):
        return rates_of_dump(Path(lab.cluster.spec.metrics.dump_dir))


def _next_words(out: Path | None, *, is_empty: bool) -> str:
    if is_empty:
        return "nothing is to be moved" + (f": {out} is not written" if out else "")
    if out is None:
        return "write it with --out plan.json"
    return f"next: `jbodlab rebalance run {out}`"


def _read(file: Path, origin: str) -> list[Wanted]:
    """Read a plan; ``origin`` says where it would come from."""
    try:
        return from_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(ExitCode.FAILED, f"there is no {file}: {origin}") from None
    except ValueError as error:
        raise LabError(ExitCode.FAILED, f"{file} is no plan: {error}") from error


def _rollback_of(file: Path) -> Path:
    return file.with_suffix(".rollback.json")


def _write_rollback(admin: ClusterAdmin, file: Path, wanted: list[Wanted]) -> None:
    """Write the way back, unless a run that is gone on with wrote it."""
    if file.exists():
        if [each.tp for each in _read(file, "")] != [each.tp for each in wanted]:
            raise LabError(ExitCode.FAILED, f"{file} belongs to another plan: move it away")
        return
    try:
        way_back = as_it_is(look_at_cluster(admin), wanted)
    except ValueError as error:
        raise LabError(ExitCode.FAILED, f"{error}: make a new plan") from error
    _write(file, to_json(way_back))


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = file.with_name(file.name + ".tmp")
    with beside.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(file)


def _carry_out(lab: Lab, admin: ClusterAdmin, wanted: list[Wanted], options: RunOptions) -> None:
    began = time.monotonic()
    progress: RunProgress | None = None
    with _stopping() as stop, move_bar(lab) as bar:
        task = bar.add_task("rebalance", total=None)
        for progress in Run(admin, wanted, options, stop.wait).progress():
            done_count = progress.replica_count - progress.left_count
            bar.update(
                task,
                description=f"{done_count}/{progress.replica_count} replicas in place",
                completed=progress.copied_bytes,
                total=progress.total_bytes,
            )
    assert progress is not None
    seconds = time.monotonic() - began
    lab.emit(
        {**asdict(progress), "seconds": round(seconds, 3)},
        f"{len(wanted)} partitions are in place: {progress.replica_count} replicas and "
        f"{size_text(progress.total_bytes)} moved in {seconds:.1f} s",
    )


@contextmanager
def _stopping() -> Generator[threading.Event]:
    """Give an event that ctrl-C and SIGTERM set, so that no answer is torn in the middle."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: object) -> None:
        stop.set()

    before = {each: signal.signal(each, on_signal) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
