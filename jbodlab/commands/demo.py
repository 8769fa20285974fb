"""``demo``: tells the story of ``jbodlab.demo`` in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from jbodlab.commands.beside import fetch_jars
from jbodlab.commands.output import Lab, lab_command


@click.command(short_help="Break a disk under load and watch.")
@click.option("--svg", type=click.Path(path_type=Path), help="Also write the terminal's picture.")
@click.option(
    "--beside",
    type=click.Choice(["kafka"]),
    help="One broker of jbodlab among Apache Kafka's, whose controller elects.",
)
@lab_command
def demo(lab: Lab, svg: Path | None, beside: str | None) -> None:
    """Break a disk under load, watch the cluster survive it, and leave nothing running."""
    # The clients it needs take a moment to load; no other command should wait for them.
    from jbodlab.demo.mixed import run_mixed_demo  # noqa: PLC0415
    from jbodlab.demo.narrator import WIDTH, Narrator  # noqa: PLC0415
    from jbodlab.demo.run import run_demo  # noqa: PLC0415

    narrator = Narrator(
        Console(width=WIDTH, record=svg is not None, stderr=lab.is_json, highlight=False)
    )
    if beside is None:
        run_demo(lab.cluster.spec, narrator)
    else:
        fetch_jars(lab)
        run_mixed_demo(lab.cluster.spec, narrator)
    if svg is not None:
        narrator.save_svg(svg)
    if lab.is_json:
        click.echo(json.dumps(narrator.measured, indent=2))
