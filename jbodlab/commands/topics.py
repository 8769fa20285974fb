"""``topics``: list, create, fill, describe and delete."""

from __future__ import annotations

from random import Random

import click

from jbodlab.asking.admin import default_replication_factor
from jbodlab.commands.completion import complete_topics
from jbodlab.commands.log_dirs import move_bar
from jbodlab.commands.output import Lab, lab_command, partition_content
from jbodlab.errors import ExitCode, LabError
from jbodlab.fill import fill as write_records
from jbodlab.tables import partitions_table
from protocol.cluster_file.spec import TopicSpec


@click.group()
def topics() -> None:
    """List, create, fill, describe and delete topics."""


@topics.command("list")
@lab_command
def list_topics(lab: Lab) -> None:
    """Name all topics."""
    with lab.admin() as admin:
        names = sorted({each.topic for each in admin.any_view().partitions})
    lab.emit(names, "\n".join(names) or "there are no topics: `jbodlab topics create NAME`")


@topics.command()
@click.argument("name")
@click.option("--partitions", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--replication-factor",
    "wanted_replicas",
    type=click.IntRange(min=1),
    show_default="as many as there are brokers, at most 3",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Kafka's topic keys.")
@lab_command
def create(
    lab: Lab, name: str, partitions: int, wanted_replicas: int | None, settings: tuple[str, ...]
) -> None:
    """Create the topic NAME."""
    pairs = [setting.partition("=") for setting in settings]
    if any(not separator for _, separator, _ in pairs):
        raise click.UsageError("--set takes KEY=VALUE, as in --set min.insync.replicas=2")
    brokers_count = len(lab.brokers)
    replication_factor = wanted_replicas or default_replication_factor(brokers_count)
    topic = TopicSpec(
        name=name,
        partitions=partitions,
        replication_factor=replication_factor,
        configs={key: value for key, _, value in pairs},
    )
    with lab.admin() as admin:
        admin.create_topic(topic)
    lab.emit(
        {"created": name, "partitions": partitions, "replication_factor": replication_factor},
        f"created {name}: {partitions} partition(s), {replication_factor} replica(s) each",
    )


@topics.command(short_help="Write records into a topic.")
@click.argument("name", shell_complete=complete_topics)
@click.option("--mib", type=click.IntRange(min=1), default=30, show_default=True, help="How much.")
@click.option(
    "--record-bytes",
    type=click.IntRange(1, 512 * 1024),
    default=1024,
    show_default=True,
    help="The size of each value.",
)
@lab_command
def fill(lab: Lab, name: str, mib: int, record_bytes: int) -> None:
    """Write records into the topic NAME, evenly over its partitions, with acks=all.

    So that log dirs have something in them: what moves, is rebuilt or evened out. Values are drawn
    by chance, so that nothing makes them smaller.
    """
    written_bytes = 0
    with lab.admin() as admin, move_bar(lab) as bar:
        task = bar.add_task(name, total=mib << 20)
        for written_bytes in write_records(
            admin, name, size_bytes=mib << 20, record_bytes=record_bytes, chance=Random(1)
        ):
            bar.update(task, completed=min(written_bytes, mib << 20))
    lab.emit(
        {"topic": name, "bytes": written_bytes, "records": written_bytes // record_bytes},
        f"wrote {written_bytes // record_bytes} records of {record_bytes} bytes into {name}",
    )


@topics.command(short_help="Show leaders, replicas and Isr of a topic.")
@click.argument("name", shell_complete=complete_topics)
@lab_command
def describe(lab: Lab, name: str) -> None:
    """Show leaders, replicas, Isr and offline replicas of the topic NAME."""
    with lab.admin() as admin:
        views = [each for each in admin.any_view([name]).partitions if each.topic == name]
    if not views:
        raise LabError(ExitCode.FAILED, f"there is no topic {name}: see `jbodlab topics list`")
    lab.emit([partition_content(view) for view in views], partitions_table(views))


@topics.command()
@click.argument("name", shell_complete=complete_topics)
@lab_command
def delete(lab: Lab, name: str) -> None:
    """Delete the topic NAME and its records."""
    with lab.admin() as admin:
        admin.delete_topic(name)
    lab.emit({"deleted": name}, f"deleted {name}")
