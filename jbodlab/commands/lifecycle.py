"""``up``, ``down``, ``status`` and ``brokers``: the processes of the cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import click
import msgspec
from rich.live import Live
from rich.table import Table

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.lab_values import NodeStatus
from jbodlab.asking.log_dir_signs import cause_of
from jbodlab.commands.beside import (
    add_neighbours,
    create_missing_topics,
    fetch_jars,
    neighbours_content,
    neighbours_words,
)
from jbodlab.commands.completion import complete_brokers
from jbodlab.commands.output import Lab, lab_command, partition_content
from jbodlab.commands.secure import client_files_of, secure_cluster_file, secured_words
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster, Condition
from jbodlab.processes.http_api_process import (
    PORT,
    http_api_address,
    http_api_port,
    start_http_api,
)
from jbodlab.processes.loading import loading_words
from jbodlab.processes.node_status import node_status
from protocol.admin.cluster import ClusterView
from protocol.cluster_file.spec import MIB
from protocol.faults.model import broker_id_of, broker_node

WATCH_EVERY_S: Final = 1


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
@click.option(
    "--beside",
    type=click.Choice(["kafka"]),
    help="Apache Kafka's brokers in the same cluster, under its controller: adds `beside` to the "
    "cluster file, fetches the jars once.",
)
@click.option(
    "--secure",
    "is_secure",
    is_flag=True,
    help="SASL_SSL and ACLs: adds `secure: true` to the cluster file, makes files for clients.",
)
@lab_command
def up(
    lab: Lab,
    *,
    accept_new_journal: bool,
    http_port: int | None,
    no_http_api: bool,
    beside: str | None,
    is_secure: bool,
) -> None:
    """Start what does not run yet, and stay in the background.

    The HTTP API and the page of `jbodlab console` are served beside the cluster, for this machine
    only; `status` says where, `down` ends them.
    """
    if is_secure:
        secure_cluster_file(lab.cluster)
        lab = lab.again()
    if beside is not None:
        add_neighbours(lab.config_path)
    cluster = lab.cluster
    if cluster.spec.beside is not None:
        fetch_jars(lab)
    port = None if no_http_api else http_api_port(cluster, http_port)
    cluster.controller_options = ["--accept-new-journal"] if accept_new_journal else []
    began = time.monotonic()
    what = "the controller" if cluster.spec.zookeeper is None else "ZooKeeper"
    with lab.working(f"starting {what} and the brokers") as shown:
        topics = Condition(_has_topics(cluster), "the topics of the cluster file are there")
        started = cluster.start(show=shown.update, then=topics)
    seconds = time.monotonic() - began
    http_api = None if port is None else start_http_api(cluster, port)
    offline = _offline_log_dirs(cluster)
    clients = client_files_of(cluster.spec)
    lab.emit(
        {
            "started": started,
            "offline_log_dirs": offline,
            "topics": [topic.name for topic in cluster.spec.topics],
            "seconds": round(seconds, 3),
            "bootstrap_servers": cluster.bootstrap_servers,
            "http_api": http_api,
            "beside": neighbours_content(cluster.spec),
            "client_files": None if clients is None else str(clients),
        },
        (
            f"{_started_words(started)} in {seconds:.1f} s\n"
            f"bootstrap servers: {','.join(cluster.bootstrap_servers)}\n"
            + neighbours_words(cluster.spec)
            + (f"HTTP API and console: {http_api}\n" if http_api else "")
            + ("" if clients is None else secured_words(cluster.spec, clients))
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
            content, table = _status(lab.again())
            if lab.is_json:
                click.echo(json.dumps(content))
            else:
                live.update(table, refresh=True)
            time.sleep(WATCH_EVERY_S)


def _status(lab: Lab) -> tuple[dict[str, Any], Table]:
    """Return what is to be told of a cluster, and how it is shown."""
    if lab.bootstrap is not None:
        return _status_elsewhere(lab)
    if lab.elsewhere is not None:
        nodes, http_api = lab.elsewhere.nodes(), lab.elsewhere.api.url
    else:
        nodes = [node_status(lab.cluster, name) for name in lab.cluster.names]
        http_api = http_api_address(lab.cluster)
    view = _view_or_none(lab)
    content = {
        "processes": msgspec.to_builtins(nodes),
        "brokers": [] if view is None else list(view.broker_ids),
        "partitions": [] if view is None else [partition_content(each) for each in view.partitions],
        "http_api": http_api,
    }
    table = _status_table(nodes, view, lab.short)
    if http_api is not None:
        table.caption = f"HTTP API and console: {http_api}"
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
    if lab.state(broker_id) != "down":
        raise LabError(
            ExitCode.FAILED,
            f"broker {broker_id} runs already: `jbodlab brokers restart {broker_id}` stops it "
            "first, `resume` lets one that stands still go on",
        )
    lab.require_controller()
    with lab.working(f"starting broker {broker_id}") as shown:
        if lab.elsewhere is not None:
            lab.elsewhere.order(broker_id, "start")
        else:
            lab.cluster.start_broker(broker_id, show=shown.update)
    lab.emit({"started": broker_id}, f"broker {broker_id} is registered")


@brokers.command("stop")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def stop_broker(lab: Lab, broker_id: int) -> None:
    """Stop one broker cleanly: it hands over its leaderships first."""
    lab.state(broker_id)
    with lab.working(f"stopping broker {broker_id}"):
        if lab.elsewhere is not None:
            lab.elsewhere.order(broker_id, "stop")
        else:
            lab.cluster.stop([broker_node(broker_id)])
    lab.emit({"stopped": broker_id}, f"broker {broker_id} has stopped")


@brokers.command("restart", short_help="Stop one broker cleanly and start it again.")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def restart_broker(lab: Lab, broker_id: int) -> None:
    """Stop one broker cleanly and start it; a healed log dir is used again after that."""
    lab.state(broker_id)
    lab.require_controller()
    lab.restart_broker(broker_id)
    lab.emit({"restarted": broker_id}, f"broker {broker_id} is registered again")


@brokers.command("kill")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def kill_broker(lab: Lab, broker_id: int) -> None:
    """End one broker at once (SIGKILL), as a power loss would."""
    _order_running(lab, broker_id, "kill", Cluster.kill)
    lab.emit({"killed": broker_id}, f"broker {broker_id} is gone")


@brokers.command("pause", short_help="Let one broker stand still (SIGSTOP).")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def pause_broker(lab: Lab, broker_id: int) -> None:
    """Let one broker stand still (SIGSTOP): its connections stay, and nothing is answered."""
    _order_running(lab, broker_id, "pause", Cluster.pause)
    lab.emit(
        {"paused": broker_id},
        f"broker {broker_id} stands still; `jbodlab brokers resume {broker_id}` lets it go on",
    )


@brokers.command("resume")
@click.argument("broker_id", type=int, shell_complete=complete_brokers)
@lab_command
def resume_broker(lab: Lab, broker_id: int) -> None:
    """Let a broker that stands still go on (SIGCONT)."""
    _order_running(lab, broker_id, "resume", Cluster.resume)
    lab.emit({"resumed": broker_id}, f"broker {broker_id} goes on")


def _order_running(
    lab: Lab, broker_id: int, verb: str, own: Callable[[Cluster, str], None]
) -> None:
    """Have something done to a broker that runs: here by ``own``, elsewhere by its HTTP API."""
    if lab.state(broker_id) == "down":
        raise LabError(
            ExitCode.NOT_RUNNING,
            f"broker {broker_id} does not run: see `jbodlab status`, `jbodlab brokers start "
            f"{broker_id}`",
        )
    if lab.elsewhere is not None:
        lab.elsewhere.order(broker_id, verb)
    else:
        own(lab.cluster, broker_node(broker_id))


def _has_topics(cluster: Cluster) -> Callable[[ClusterAdmin], bool]:
    """Return the condition that the controller has created the topics of the cluster file.

    Apache Kafka's does not know the file: it is asked to.
    """
    wanted = {topic.name for topic in cluster.spec.topics}

    def has_topics(admin: ClusterAdmin) -> bool:
        there = {each.topic for each in admin.any_view().partitions}
        if cluster.spec.zookeeper is not None:
            create_missing_topics(admin, cluster.spec.topics, there)
        return wanted <= there

    return has_topics


def _started_words(started: list[str]) -> str:
    return f"started {', '.join(started)}" if started else "everything was running already, checked"


def _offline_log_dirs(cluster: Cluster) -> list[dict[str, Any]]:
    """Return broker, path and cause of every log dir that does not serve."""
    return [
        {"broker": broker.id, "path": one["path"], "reason": cause_of(one["reason"])}
        for broker in cluster.spec.brokers
        for one in ControlClient(broker.id, broker.control_port).log_dirs()
        if not one["online"]
    ]


def _view_or_none(lab: Lab) -> ClusterView | None:
    with suppress(OSError, LabError), lab.admin(timeout_ms=3000) as admin:
        return admin.any_view()
    return None


def _status_table(
    nodes: list[NodeStatus], view: ClusterView | None, path_text: Callable[[str], str]
) -> Table:
    table = Table("process", "state", "address", "pid", "MiB", "leads", "replicas")
    for node in nodes:
        broker_id = broker_id_of(node.name)
        kind = f" ({node.kind})" if node.kind else ""
        table.add_row(
            f"{node.name}{kind}",
            _state_words(node, path_text),
            node.address,
            str(node.pid or ""),
            f"{node.rss_bytes / MIB:.0f}" if node.pid else "",
            *_partition_counts(view, -1 if broker_id is None else broker_id),
        )
    return table


def _state_words(node: NodeStatus, path_text: Callable[[str], str]) -> str:
    if not node.running:
        ended_by = f", ended by {node.ended_by}" if node.ended_by else ""
        return f"[red]not running{ended_by}[/] {path_text(node.log_file)}"
    if node.paused:
        return "[yellow]paused[/]"
    if node.waits_for_controller:
        return "[yellow]waits for the controller[/], and its clients with it"
    loading = loading_words(node.loading)
    if loading:
        return f"[yellow]loading[/] {loading}"
    wrong = list(node.troubles)
    if node.offline_log_dirs:
        wrong.append(f"offline: {', '.join(map(path_text, node.offline_log_dirs))}")
    return f"[yellow]running[/], [red]{'; '.join(wrong)}[/]" if wrong else "[green]running[/]"


def _partition_counts(view: ClusterView | None, broker_id: int) -> tuple[str, str]:
    if view is None or broker_id < 0:
        return "", ""
    leads_count = sum(each.leader == broker_id for each in view.partitions)
    replica_count = sum(broker_id in each.replicas for each in view.partitions)
    offline_count = sum(broker_id in each.offline_replicas for each in view.partitions)
    offline = f", [red]{offline_count} offline[/]" if offline_count else ""
    return str(leads_count), f"{replica_count}{offline}"
