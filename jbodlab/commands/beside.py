"""``up --beside kafka``: brokers of Apache Kafka in the cluster file, and their jars."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

import click
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.commands.output import Lab
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.free_ports import LOOPBACK, free_port, is_free
from jbodlab.processes.kafka_jars import (
    JARS_BYTES,
    VERSION,
    ZOOKEEPER_VERSION,
    cache_folder,
    has_jars,
    kafka_jars,
)
from jbodlab.processes.neighbours import HEAPS, ZOOKEEPER
from protocol.cluster_file.spec import (
    ClusterSpec,
    SpecError,
    TopicSpec,
    load_cluster_spec,
    parse_cluster_spec,
)
from protocol.errors import ErrorCode, KafkaError

_COUNT: Final = 2
_ZOOKEEPER_PORT: Final = 2181
_SESSION_TIMEOUT_MS: Final = 6000


def add_neighbours(path: Path) -> None:
    """Add two brokers of Apache Kafka and their ZooKeeper to a cluster file that has none.

    Raises:
        LabError: BAD_CONFIG: it holds mistakes, or what does not go with them.
    """
    try:
        spec = load_cluster_spec(path)
        if spec.beside is not None:
            return
        if spec.zookeeper is not None:
            raise LabError(
                ExitCode.BAD_CONFIG,
                f"{path} joins a cluster that is there, by zookeeper.connect: leave --beside out, "
                "or take `zookeeper` out of the file",
            )
        text = path.read_text(encoding="utf-8")
        text = f"{text}{'' if text.endswith(chr(10)) else chr(10)}{_lines(spec)}"
        parse_cluster_spec(text, base_dir=path.parent, source=str(path))
    except SpecError as error:
        raise LabError(ExitCode.BAD_CONFIG, str(error)) from error
    path.write_text(text, encoding="utf-8")


def fetch_jars(lab: Lab) -> None:
    """Fetch Apache Kafka's jars where they are not yet, and show how far that is on stderr.

    Raises:
        LabError: MISSING_JAVA, MISSING_PACKAGE.
    """
    folder = cache_folder()
    if has_jars(folder):
        kafka_jars(folder)
        return
    lab.warn(
        f"fetching Apache Kafka {VERSION} with ZooKeeper {ZOOKEEPER_VERSION} from Maven Central, "
        f"once: {JARS_BYTES / 1e6:.0f} MB of jars into {folder}"
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=lab.errors) as bar:
        task = bar.add_task(f"Apache Kafka {VERSION}", total=None)
        kafka_jars(folder, show=lambda done, total: bar.update(task, completed=done, total=total))


def neighbours_content(spec: ClusterSpec) -> dict[str, Any] | None:
    """Return for a JSON document what is started beside jbodlab's brokers."""
    if spec.beside is None or spec.zookeeper is None:
        return None
    return {
        "kafka": spec.beside.kafka,
        "brokers": [each.id for each in spec.beside.brokers],
        "zookeeper": ZOOKEEPER_VERSION,
        "zookeeper_connect": spec.zookeeper.connect,
        "jars": str(cache_folder()),
    }


def neighbours_words(spec: ClusterSpec) -> str:
    """Return a line about them, or nothing."""
    if spec.beside is None or spec.zookeeper is None:
        return ""
    ids = ", ".join(str(each.id) for each in spec.beside.brokers)
    heaps = f"{HEAPS['broker']} each, ZooKeeper {HEAPS[ZOOKEEPER]}"
    return (
        f"Apache Kafka {spec.beside.kafka}: broker {ids} ({heaps}), under its own controller; "
        f"ZooKeeper {ZOOKEEPER_VERSION} at {spec.zookeeper.connect}\n"
    )


def create_missing_topics(
    admin: ClusterAdmin, topics: Iterable[TopicSpec], there: Collection[str]
) -> None:
    """Have the controller create those that are not there; whoever was quicker is right."""
    for topic in topics:
        if topic.name not in there:
            try:
                admin.create_topic(topic)
            except KafkaError as error:
                if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise click.ClickException(f"topic {topic.name}: {error}") from error


def _lines(spec: ClusterSpec) -> str:
    """Return what is added to the file: ids and ports after those that are taken."""
    taken = {spec.controller.port}
    for each in spec.brokers:
        taken |= {each.port, each.control_port}
    port = _ZOOKEEPER_PORT
    if port in taken or not is_free(LOOPBACK, port):
        port = free_port()
    lines = [
        "",
        f"# Added by `jbodlab up --beside kafka`: Apache Kafka {VERSION} in the same cluster.",
        "zookeeper:",
        f'  connect: "{LOOPBACK}:{port}"',
        f"  session_timeout_ms: {_SESSION_TIMEOUT_MS}",
        "beside:",
        f'  kafka: "{VERSION}"',
        "  brokers:",
    ]
    has_racks = any(each.rack is not None for each in spec.brokers)
    broker_id = max(each.id for each in spec.brokers)
    broker_port = max(each.port for each in spec.brokers)
    for _ in range(_COUNT):
        broker_id += 1
        broker_port = next(each for each in range(broker_port + 1, 65536) if each not in taken)
        dirs = ", ".join(f"{{path: data/b{broker_id}/d{number}}}" for number in (1, 2))
        rack = f", rack: kafka-{broker_id}" if has_racks else ""
        lines.append(f"    - {{id: {broker_id}, port: {broker_port}{rack}, log_dirs: [{dirs}]}}")
    return "\n".join(lines) + "\n"
