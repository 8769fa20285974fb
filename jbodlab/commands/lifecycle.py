"""``up``, ``down``, ``status`` and ``brokers``: the processes of the cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Final

import click
from rich.live import Live
from rich.table import Table

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.log_dir_signs import cause_of
from jbodlab.commands.completion import complete_brokers
from jbodlab.commands.output import Lab, lab_command, partition_content
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import CONTROLLER, Cluster, Condition
from jbodlab.processes.http_api_process import (
    PORT,
    http_api_address,
    http_api_port,
    start_http_api,
)
from jbodlab.processes.loading import Remaining, loading_words
from jbodlab.processes.nodes import listens, status_troubles
from jbodlab.processes.process import fatal_signal
from protocol.admin.cluster import ClusterView
from protocol.cluster_file.spec import MIB
from protocol.faults.model import broker_node

STATUS_TIMEOUT_S = 3
WATCH_EVERY_S: Final = 1
_NOTHING_TOLD: Final[dict[str, Any]] = {
    "loading": {},
    "offline_log_dirs": [],
    "waits_for_controller": False,
    "troubles": [],
}


@click.command(short_help="Start what does not run, in the background.")
@click.option(
    "--accept-new-journal",
    is_flag=True,
    help="Begin a new controller journal beside brokers with data of another one: its topics "
    "are lost, the data stays on disk.",
)
@click.option(
    "--http-port",
    type=click.IntRange(1, 65535),
    help=f"Where the HTTP API listens, on loopback; else {PORT}, or any if that is taken.",
)
@click.option("--no-http-api", is_flag=True, help="Leave the HTTP API and the console out.")
@lab_command
def up(lab: Lab, *, accept_new_journal: bool, http_port: int | None, no_http_api: bool) -> None:
    """Start what does not run yet, and stay in the background.

    The HTTP API and the page of `jbodlab console` are served beside the cluster, for this machine
    only; `status` says where, `down` ends them.
    """
    cluster = lab.cluster
    if cluster.spec.zookeeper is not None:
        text = "the cluster file names a ZooKeeper, so this cluster has no controller of jbodlab"
        raise LabError(ExitCode.BAD_CONFIG, f"{text}: start each broker by itself, see the guide")
    port = None if no_http_api else http_api_port(cluster, http_port)
    cluster.controller_options = ["--accept-new-journal"] if accept_new_journal else []
    began = time.monotonic()
    with lab.working("starting the controller and the brokers") as shown:
        topics = Condition(_has_topics(cluster), "the topics of the cluster file are there")
        started = cluster.start(show=shown.update, then=topics)
    seconds = time.monotonic() - began
    http_api = None if port is None else start_http_api(cluster, port)
    offline = _offline_log_dirs(cluster)
    lab.emit(
        {
            "started": started,
            "offline_log_dirs": offline,
            "topics": [topic.name for topic in cluster.spec.topics],
            "seconds": round(seconds, 3),
            "bootstrap_servers": cluster.bootstrap_servers,
            "http_api": http_api,
        },
        (
            f"{_started_words(started)} in {seconds:.1f} s\n"
            f"bootstrap servers: {','.join(cluster.bootstrap_servers)}\n"
            + (f"HTTP API and console: {http_api}\n" if http_api else "")
            + f"logs: {cluster.run_dir}\n"
            "next: `jbodlab status`, `jbodlab log-dirs describe`, `jbodlab down`"
        ),
    )
    for each in offline:
        path = cluster.short(each["path"])
        lab.warn(
            f"broker {each['broker']} serves without {path}, which is offline: {each['reason']}; "
            f"repair it, then `jbodlab log-dirs restart {path}`"
        )


@click.command()
@lab_command
def down(lab: Lab) -> None:
    """Stop everything cleanly; data stays on disk."""
    cluster = lab.cluster
    running = [name for name in cluster.names if cluster.is_running(name)]
    with lab.working("handing over leaderships and stopping"):
        cluster.stop()
    words = f"stopped {', '.join(running)}" if running else "nothing was running"
    lab.emit({"stopped": running}, words)


@click.command()
@click.option("--watch", is_flag=True, help="Again every second, until Ctrl-C.")
@lab_command
def status(lab: Lab, *, watch: bool) -> None:
    """Show processes, brokers and partitions."""
    if not watch:
        content, table = _status(lab)
        lab.emit(content, table)
        is_there = content["brokers"] or any(row["running"] for row in content["processes"])
        if not is_there:
            raise LabError(ExitCode.NOT_RUNNING, "nothing runs: start it with `jbodlab up`")
        return
    with Live(console=lab.console, auto_refresh=False) as live:
        while True:
            # A Lab of its own each time: processes come and go.
            content, table = _status(
                Lab(lab.config_path, is_json=lab.is_json, bootstrap=lab.bootstrap)
            )
            if lab.is_json:
                click.echo(json.dumps(content))
            else:
                live.update(table, refresh=True)
            time.sleep(WATCH_EVERY_S)


def _status(lab: Lab) -> tuple[dict[str, Any], Table]:
    """Return what is to be told of a cluster, and how it is shown."""
    if lab.bootstrap is not None:
        return _status_elsewhere(lab)
    cluster = lab.cluster
    processes = [_process_row(cluster, name) for name in cluster.names]
    view = _view_or_none(lab)
    content = {
        "processes": processes,
        "brokers": [] if view is None else list(view.broker_ids),
        "partitions": [] if view is None else [partition_content(each) for each in view.partitions],
        "http_api": http_api_address(cluster),
    }
    table = _status_table(processes, view, cluster.short)
    if content["http_api"]:
        table.caption = f"HTTP API and console: {content['http_api']}"
    return content, table


def _status_elsewhere(lab: Lab) -> tuple[dict[str, Any], Table]:
    """Tell of a cluster whose processes are not known what its metadata tells."""
    with lab.admin() as admin:
        view = admin.any_view()
    table = Table("broker", "address", "leads", "replicas")
    for broker in lab.brokers:
        address = f"{broker.advertised_host}:{broker.advertised_port}"
        table.add_row(str(broker.id), address, *_partition_counts(view, broker.id))
    content = {
        "processes": [],
        "brokers": list(view.broker_ids),
        "partitions": [partition_content(each) for each in view.partitions],
        "http_api": None,
    }
    return content, table


@click.group(short_help="Start, stop, pause or kill one broker.")
def brokers() -> None:
    """Start, stop, restart, pause, resume or kill one broker."""


@brokers.command("start")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def start_broker(lab: Lab, broker_id: int) -> None:
    """Start one broker that does not run."""
    cluster = _with_broker(lab, broker_id)
    if cluster.is_running(broker_node(broker_id)):
        raise LabError(
            ExitCode.FAILED,
            f"broker {broker_id} runs already: `jbodlab brokers restart {broker_id}` stops it "
            "first, `resume` lets one that stands still go on",
        )
    lab.require_controller()
    with lab.working(f"starting broker {broker_id}") as shown:
        cluster.start_broker(broker_id, show=shown.update)
    lab.emit({"started": broker_id}, f"broker {broker_id} is registered")


@brokers.command("stop")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def stop_broker(lab: Lab, broker_id: int) -> None:
    """Stop one broker cleanly: it hands over its leaderships first."""
    cluster = _with_broker(lab, broker_id)
    with lab.working(f"stopping broker {broker_id}"):
        cluster.stop([broker_node(broker_id)])
    lab.emit({"stopped": broker_id}, f"broker {broker_id} has stopped")


@brokers.command("restart", short_help="Stop one broker cleanly and start it again.")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def restart_broker(lab: Lab, broker_id: int) -> None:
    """Stop one broker cleanly and start it; a healed log dir is used again after that."""
    cluster = _with_broker(lab, broker_id)
    lab.require_controller()
    with lab.working(f"restarting broker {broker_id}"):
        cluster.restart_broker(broker_id)
    lab.emit({"restarted": broker_id}, f"broker {broker_id} is registered again")


@brokers.command("kill")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def kill_broker(lab: Lab, broker_id: int) -> None:
    """End one broker at once (SIGKILL), as a power loss would."""
    cluster = _with_running_broker(lab, broker_id)
    cluster.kill(broker_node(broker_id))
    lab.emit({"killed": broker_id}, f"broker {broker_id} is gone")


@brokers.command("pause", short_help="Let one broker stand still (SIGSTOP).")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def pause_broker(lab: Lab, broker_id: int) -> None:
    """Let one broker stand still (SIGSTOP): its connections stay, and nothing is answered."""
    cluster = _with_running_broker(lab, broker_id)
    cluster.pause(broker_node(broker_id))
    lab.emit(
        {"paused": broker_id},
        f"broker {broker_id} stands still; `jbodlab brokers resume {broker_id}` lets it go on",
    )


@brokers.command("resume")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def resume_broker(lab: Lab, broker_id: int) -> None:
    """Let a broker that stands still go on (SIGCONT)."""
    cluster = _with_running_broker(lab, broker_id)
    cluster.resume(broker_node(broker_id))
    lab.emit({"resumed": broker_id}, f"broker {broker_id} goes on")


def _with_running_broker(lab: Lab, broker_id: int) -> Cluster:
    cluster = _with_broker(lab, broker_id)
    if not cluster.is_running(broker_node(broker_id)):
        raise LabError(
            ExitCode.NOT_RUNNING,
            f"broker {broker_id} does not run: see `jbodlab status`, `jbodlab brokers start "
            f"{broker_id}`",
        )
    return cluster


def _with_broker(lab: Lab, broker_id: int) -> Cluster:
    lab.cluster.broker(broker_id)
    return lab.cluster


def _has_topics(cluster: Cluster) -> Callable[[ClusterAdmin], bool]:
    """Return the condition that the controller has created the topics of the cluster file."""
    wanted = [topic.name for topic in cluster.spec.topics]

    def has_topics(admin: ClusterAdmin) -> bool:
        named = {each.topic for each in admin.any_view().partitions}
        return named.issuperset(wanted)

    return has_topics


def _started_words(started: list[str]) -> str:
    if not started:
        return "everything was running already, checked"
    return f"started {', '.join(started)}"


def _process_row(cluster: Cluster, name: str) -> dict[str, Any]:
    own = cluster.is_running(name)
    running = own or listens(cluster.spec, name)
    process = cluster.processes.get(name) if own else None
    paused = running and process is not None and process.is_paused
    log_file = cluster.log_file(name)
    return {
        "name": name,
        "running": running,
        "paused": paused,
        "pid": process.pid if running and process is not None else None,
        "rss_bytes": process.rss_bytes() if running and process is not None else 0,
        "address": _address(cluster, name),
        "log_file": str(log_file),
        "ended_by": None if running else fatal_signal(log_file),
        **(_told(cluster, name) if running and not paused else _NOTHING_TOLD),
    }


def _told(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return what a broker has still to load, its offline log dirs, and what is wrong with it."""
    if name == CONTROLLER:
        return _NOTHING_TOLD
    broker = cluster.spec.broker(int(name.removeprefix("broker-")))
    client = ControlClient(broker.id, broker.control_port, timeout_s=STATUS_TIMEOUT_S)
    try:
        told = client.status()
    except LabError:
        return {**_NOTHING_TOLD, "troubles": ["does not answer"]}
    loading: Remaining = told["loading"]
    offline: list[str] = told["offline_log_dirs"]
    return {
        "loading": loading,
        "offline_log_dirs": offline,
        "waits_for_controller": told["state"] == "running" and not told["is_open_to_clients"],
        "troubles": [] if loading_words(loading) else status_troubles(told),
    }


def _offline_log_dirs(cluster: Cluster) -> list[dict[str, Any]]:
    """Return broker, path and cause of every log dir that does not serve."""
    return [
        {"broker": broker.id, "path": one["path"], "reason": cause_of(one["reason"])}
        for broker in cluster.spec.brokers
        for one in ControlClient(broker.id, broker.control_port).log_dirs()
        if not one["online"]
    ]


def _address(cluster: Cluster, name: str) -> str:
    if name == CONTROLLER:
        controller = cluster.spec.controller
        return f"{controller.advertised_host}:{controller.port}"
    broker = cluster.spec.broker(int(name.removeprefix("broker-")))
    return f"{broker.advertised_host}:{broker.advertised_port}"


def _view_or_none(lab: Lab) -> ClusterView | None:
    try:
        with lab.admin(timeout_ms=3000) as admin:
            return admin.any_view()
    except (OSError, LabError):
        return None


def _status_table(
    processes: list[dict[str, Any]], view: ClusterView | None, path_text: Callable[[str], str]
) -> Table:
    table = Table("process", "state", "address", "pid", "MiB", "leads", "replicas")
    for row in processes:
        broker_id = -1 if row["name"] == CONTROLLER else int(row["name"].removeprefix("broker-"))
        table.add_row(
            row["name"],
            _state_words(row, path_text),
            row["address"],
            str(row["pid"] or ""),
            f"{row['rss_bytes'] / MIB:.0f}" if row["running"] else "",
            *_partition_counts(view, broker_id),
        )
    return table


def _state_words(row: dict[str, Any], path_text: Callable[[str], str]) -> str:
    if not row["running"]:
        ended_by = f", ended by {row['ended_by']}" if row["ended_by"] else ""
        return f"[red]not running{ended_by}[/] {path_text(row['log_file'])}"
    if row["paused"]:
        return "[yellow]paused[/]"
    if row["waits_for_controller"]:
        return "[yellow]waits for the controller[/], and its clients with it"
    loading = loading_words(row["loading"])
    if loading:
        return f"[yellow]loading[/] {loading}"
    wrong = list(row["troubles"])
    if row["offline_log_dirs"]:
        wrong.append(f"offline: {', '.join(map(path_text, row['offline_log_dirs']))}")
    return f"[yellow]running[/], [red]{'; '.join(wrong)}[/]" if wrong else "[green]running[/]"


def _partition_counts(view: ClusterView | None, broker_id: int) -> tuple[str, str]:
    if view is None or broker_id < 0:
        return "", ""
    leads_count = sum(each.leader == broker_id for each in view.partitions)
    replica_count = sum(broker_id in each.replicas for each in view.partitions)
    offline_count = sum(broker_id in each.offline_replicas for each in view.partitions)
    offline = f", [red]{offline_count} offline[/]" if offline_count else ""
    return str(leads_count), f"{replica_count}{offline}"
