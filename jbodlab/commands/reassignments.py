"""``reassignments``: what is under way, how far it is, and how to take it back."""

from __future__ import annotations

from dataclasses import asdict

import click

from jbodlab.asking.reassignments import measure
from jbodlab.commands.output import Lab, lab_command
from jbodlab.tables import reassignments_table

_RATE_MS = 1000


@click.group(short_help="Watch and cancel reassignments.")
def reassignments() -> None:
    """Watch and cancel reassignments of partitions to other brokers."""


@reassignments.command("list")
@click.option(
    "--interval-ms",
    type=click.IntRange(min=0),
    default=_RATE_MS,
    show_default=True,
    help="How long the rate is measured; 0 leaves rate and time left out.",
)
@lab_command
def list_reassignments(lab: Lab, interval_ms: int) -> None:
    """Show bytes, rate and time left of everything under way."""
    with lab.admin() as admin:
        progress = measure(admin, interval_ms)
    rows = [{**asdict(each), "seconds_left": each.seconds_left} for each in progress]
    lab.emit(rows, reassignments_table(progress) if rows else "no reassignment is under way")


@reassignments.command()
@click.argument("topic")
@click.argument("partition", type=click.IntRange(min=0))
@lab_command
def cancel(lab: Lab, topic: str, partition: int) -> None:
    """Take the reassignment of TOPIC's PARTITION back."""
    with lab.admin() as admin:
        admin.reassign({(topic, partition): None})
    lab.emit(
        {"cancelled": {"topic": topic, "partition": partition}},
        f"the reassignment of {topic}-{partition} is taken back",
    )
