"""``log-dirs``: describe, fail, heal and move. Faults go to the broker's control endpoint."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, NamedTuple

import click
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from analytics.sizes import size_text
from jbodlab.asking.control import ControlClient
from jbodlab.asking.log_dir_signs import signs_of
from jbodlab.asking.moves import PATIENCE_MS as MOVE_PATIENCE_MS
from jbodlab.asking.moves import watch_move
from jbodlab.asking.returns import PATIENCE_MS, ReturnProgress, watch_return
from jbodlab.commands.completion import complete_brokers, complete_log_dirs, complete_topics
from jbodlab.commands.output import Lab, lab_command
from jbodlab.errors import ExitCode, LabError
from jbodlab.tables import log_dirs_table
from protocol.admin.log_dirs import LogDirView
from protocol.cluster_file.spec import BrokerSpec
from protocol.errors import ErrorCode
from protocol.faults.model import DiskMode
from protocol.ids import TopicPartition

MODES = tuple(mode.value for mode in DiskMode if mode.row.refusal is None)
"""What a whole log dir can be broken with; `jbodlab faults` breaks parts of it."""
_DELAYED: Final = " or ".join(mode.value for mode in DiskMode if mode.row.needs_delay)


_TOLD: Final = ("reason", "faults", "queue_depth", "standing_ms", "last_hop_ms")

patience_option = click.option(
    "--patience",
    "patience_s",
    type=click.IntRange(min=1),
    default=PATIENCE_MS // 1000,
    show_default=True,
    help="Seconds to wait while nothing gets better.",
)


@click.group("log-dirs", short_help="See, break, heal log dirs; move replicas.")
def log_dirs() -> None:
    """Look at log dirs, break them, heal them, move replicas between them."""


@log_dirs.command(short_help="Show log dirs: state, size, replicas.")
@click.option(
    "--broker", "broker_id", type=int, shell_complete=complete_brokers, help="Only this broker."
)
@lab_command
def describe(lab: Lab, broker_id: int | None) -> None:
    """Show every log dir with its state, size and replicas, as DescribeLogDirs tells them.

    Beside them what the broker knows of the disk: why it failed, faults in force, how long it has
    not answered, what its last work took. With --json as signs, and as reason, faults, standing_ms
    and last_hop_ms. Of a broker that does not answer the log dirs of the cluster file are named.
    Of a cluster elsewhere (`--bootstrap-server`) only what DescribeLogDirs tells.
    """
    if broker_id is not None:
        lab.require_broker(broker_id)
    views: list[LogDirView] = []
    told: dict[tuple[int, str], dict[str, Any]] = {}
    with lab.admin() as admin:
        for broker in lab.brokers:
            if broker_id not in (None, broker.id):
                continue
            away = lab.away(broker)
            views += admin.log_dirs(broker.id) if away is None else _unknown(broker)
            is_told = away is None and lab.has_control(broker)
            for path, one in (_told_log_dirs(lab.control(broker)) if is_told else {}).items():
                told[broker.id, path] = one
            if away is not None:
                why = away.partition(":")[0]
                told.update({(broker.id, one.path): {"signs": [why]} for one in broker.log_dirs})
                lab.warn(away)
    signs = {key: one["signs"] for key, one in told.items()}
    content = [
        {**_log_dir_content(view), **told.get((view.broker, view.path), {})} for view in views
    ]
    lab.emit(content, log_dirs_table(views, lab.short, signs))


@log_dirs.command(short_help="Break the log dir at PATH.")
@click.argument("path", shell_complete=complete_log_dirs)
@click.option("--mode", type=click.Choice(MODES), default="eio", show_default=True)
@click.option(
    "--delay-ms", type=click.IntRange(min=1), help=f"Of mode {_DELAYED}: added to each call."
)
@lab_command
def fail(lab: Lab, path: str, mode: str, delay_ms: int | None) -> None:
    """Break the log dir at PATH, as written in the cluster file, from now on."""
    broker, full_path = lab.disks().log_dir(path)
    if DiskMode(mode).row.needs_delay != (delay_ms is not None):
        raise click.UsageError(f"--delay-ms belongs to --mode {_DELAYED}, which needs it")
    options = {} if delay_ms is None else {"delay_ms": delay_ms}
    answer = lab.control(broker).fail(full_path, mode, **options)
    lab.emit(
        {"broker": broker.id, "log_dir": full_path, "mode": mode, "answer": answer},
        f"broker {broker.id}: {path} now fails with {mode}\n"
        f"next: `jbodlab log-dirs describe`, `jbodlab status`, `jbodlab log-dirs heal {path}`",
    )


@log_dirs.command(short_help="Take the fault off the log dir at PATH.")
@click.argument("path", shell_complete=complete_log_dirs)
@click.option(
    "--restart", "with_broker", is_flag=True, help="Restart the broker too, as Kafka needs it."
)
@lab_command
def heal(lab: Lab, path: str, with_broker: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Take the fault off the log dir at PATH; `jbodlab log-dirs restart` brings it back."""
    broker, full_path = lab.disks().log_dir(path)
    if with_broker:
        lab.require_controller()
    answer = lab.control(broker).heal(full_path)
    if with_broker:
        lab.restart_broker(broker.id)
    told = {name: answer[name] for name in ("cleared", "online")}
    words = "is healed; restarted" if with_broker else _healed_words(path, **told)
    lab.emit(
        {"broker": broker.id, "log_dir": full_path, "restarted": with_broker, **told},
        f"broker {broker.id}: {path} {words}",
    )


@log_dirs.command(short_help="Bring a repaired log dir back with its data.")
@click.argument("path", shell_complete=complete_log_dirs)
@patience_option
@lab_command
def restart(lab: Lab, path: str, patience_s: int) -> None:
    """Bring the repaired log dir at PATH back with its data, its broker up all the time."""
    broker, full_path = lab.disks().log_dir(path)
    client = lab.control(broker)
    client.restart(full_path)
    _await_return(lab, client, _Awaited(full_path, "is back", patience_s))


@log_dirs.command(short_help="Put an empty disk in the place of a log dir.")
@click.argument("path", shell_complete=complete_log_dirs)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Let replicas begin empty that no other broker has in full: their records are gone.",
)
@click.option(
    "--throttle",
    type=click.IntRange(min=1),
    help="Bytes per second that all its replicas together are copied with; ends by itself.",
)
@click.option("--force", is_flag=True, help="Take a log dir out that works, too.")
@patience_option
@lab_command
def replace(lab: Lab, path: str, *, patience_s: int, throttle: int | None, **request: bool) -> None:
    """Put an empty disk in the place of the log dir at PATH and rebuild its replicas.

    The replicas are copied from the other brokers, with this broker up all the time. What lies at
    PATH is not deleted: it is renamed to PATH.replaced-..., unless PATH is an empty disk already.
    A mount point cannot be renamed: what lies there goes into PATH/__replaced-0....-stray and takes
    its space until you delete it; mount the new disk first, and there is nothing to keep. One that
    no other broker has in sync stays offline, unless its loss is accepted.
    """
    broker, full_path = lab.disks().log_dir(path)
    client = lab.control(broker)
    client.replace(full_path, throttle_bytes_per_second=throttle, **request)
    _await_return(lab, client, _Awaited(full_path, "is replaced", patience_s))


@log_dirs.command("restart-partition", short_help="Bring one offline replica back.")
@click.argument("topic", shell_complete=complete_topics)
@click.argument("partition", type=click.IntRange(min=0))
@click.option(
    "--broker",
    "broker_id",
    type=int,
    shell_complete=complete_brokers,
    required=True,
    help="Whose replica.",
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Let it begin empty when its disk was replaced and no other broker has it in full.",
)
@patience_option
@lab_command
def restart_partition(
    lab: Lab, topic: str, partition: int, *, broker_id: int, accept_loss: bool, patience_s: int
) -> None:
    """Bring one offline replica back, leaving the others of its log dir offline."""
    client = lab.control(lab.layout.broker(broker_id))
    path = client.restart_partition(topic, partition, accept_loss=accept_loss)
    tp = TopicPartition(topic, partition)
    _await_return(
        lab, client, _Awaited(path, f"has {tp} online again", patience_s, tp, accept_loss)
    )


@log_dirs.command(short_help="Move one replica to another log dir.")
@click.argument("topic", shell_complete=complete_topics)
@click.argument("partition", type=click.IntRange(min=0))
@click.option(
    "--broker",
    "broker_id",
    type=int,
    shell_complete=complete_brokers,
    required=True,
    help="Whose replica.",
)
@click.option(
    "--to",
    "target",
    required=True,
    shell_complete=complete_log_dirs,
    help="The log dir it goes to.",
)
@click.option(
    "--patience",
    "patience_s",
    type=click.IntRange(min=1),
    default=MOVE_PATIENCE_MS // 1000,
    show_default=True,
    help="Seconds to wait while nothing is copied.",
)
@lab_command
def move(
    lab: Lab, topic: str, partition: int, *, broker_id: int, target: str, patience_s: int
) -> None:
    """Move one replica to another log dir of its broker, and wait until it is there.

    Ctrl-C ends the waiting, not the move: an order to where the replica is takes it back.
    """
    lab.require_broker(broker_id)
    full_path = target if lab.bootstrap is not None else _own_log_dir(lab, broker_id, target)
    moved_bytes = 0
    with lab.paths_shortened(), lab.admin() as admin:
        admin.move_replicas(broker_id, full_path, {topic: [partition]})
        with move_bar(lab) as bar:
            task = bar.add_task(f"{topic}-{partition} to {target}", total=None)
            patience_ms = patience_s * 1000
            for progress in watch_move(
                admin, broker_id, topic, partition, full_path, patience_ms=patience_ms
            ):
                moved_bytes = progress.total_bytes
                bar.update(task, completed=progress.copied_bytes, total=progress.total_bytes)
    lab.emit(
        {"topic": topic, "partition": partition, "log_dir": full_path, "bytes": moved_bytes},
        f"{topic}-{partition} of broker {broker_id} is in {target} ({moved_bytes} bytes)",
    )


def _own_log_dir(lab: Lab, broker_id: int, path: str) -> str:
    """Return the full path of a log dir of this broker."""
    broker, full_path = lab.disks().log_dir(path)
    if broker.id != broker_id:
        raise LabError(ExitCode.FAILED, f"{path} belongs to broker {broker.id}, not {broker_id}")
    return full_path


def _told_log_dirs(client: ControlClient) -> dict[str, dict[str, Any]]:
    """Return by path what the control endpoint knows that Kafka's protocol does not tell."""
    return {
        one["path"]: {**{name: one[name] for name in _TOLD}, "signs": signs_of(one)}
        for one in client.log_dirs()
    }


def _unknown(broker: BrokerSpec) -> list[LogDirView]:
    """Return the log dirs of a broker that does not answer."""
    return [
        LogDirView(
            broker=broker.id,
            path=one.path,
            error_code=ErrorCode.BROKER_NOT_AVAILABLE,
            total_bytes=-1,
            usable_bytes=-1,
            replicas=(),
        )
        for one in broker.log_dirs
    ]


def _healed_words(path: str, *, cleared: int, online: bool) -> str:
    """Say what healing came to, and what is next where something is."""
    if online:
        return "is healed and online: it goes on" if cleared else "had no fault, and is online"
    healed = "is healed" if cleared else "had no fault of jbodlab's"
    return f"{healed} and offline; next: `jbodlab log-dirs restart {path}`"


class _Awaited(NamedTuple):
    """What a command waits for."""

    path: str
    words: str
    """Said of the log dir when it is so."""
    patience_s: int
    only: TopicPartition | None = None
    accepts_loss: bool = False


def _await_return(lab: Lab, client: ControlClient, awaited: _Awaited) -> None:
    """Show a log dir come back until its replicas are in sync."""
    progress: ReturnProgress | None = None
    path, words = awaited.path, awaited.words
    name = lab.short(path)
    with lab.admin() as admin, move_bar(lab) as bar:
        task = bar.add_task(name, total=None)
        for progress in watch_return(
            admin,
            client,
            path,
            only=awaited.only,
            accepts_loss=awaited.accepts_loss,
            patience_ms=awaited.patience_s * 1000,
        ):
            bar.update(
                task,
                description=f"{name}: {_how_far(progress)}",
                completed=progress.copied_bytes,
                total=progress.total_bytes,
            )
    assert progress is not None
    lab.emit(
        {"broker": client.broker_id, "log_dir": path, **asdict(progress)},
        f"broker {client.broker_id}: {name} {words}: {progress.found_count} replicas found, "
        f"{progress.lost_count} made anew, {progress.copied_bytes} bytes",
    )


def _how_far(progress: ReturnProgress) -> str:
    words = [progress.state]
    if progress.unread_logs_count:
        words.append(f"{progress.unread_logs_count} logs to look through")
    if progress.replica_count:
        words.append(f"{progress.in_sync_count}/{progress.replica_count} replicas in sync")
    if progress.awaited_count:
        words.append(f"{progress.awaited_count} not begun")
    if progress.throttle_bytes_per_second is not None:
        words.append(f"at most {progress.throttle_bytes_per_second:,} B/s")
    return ", ".join(words)


class _Rate(ProgressColumn):
    """Bytes per second in the units of everything else here; nothing where there is no rate."""

    def render(self, task: Task) -> Text:
        """Return the rate of all bytes at the end, of the last seconds before."""
        speed = task.finished_speed or task.speed
        return Text("" if not speed else f"{size_text(speed)}/s")


def move_bar(lab: Lab) -> Progress:
    """Return a progress bar for bytes, on stderr."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True, table_column=Column(no_wrap=True)),
        _Rate(table_column=Column(no_wrap=True)),
        TimeRemainingColumn(),
        console=lab.errors,
    )


def _log_dir_content(view: LogDirView) -> dict[str, Any]:
    content = asdict(view)
    content["error"] = ErrorCode(view.error_code).name
    content["replicas"] = list(content["replicas"])
    return content
