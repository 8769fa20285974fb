"""``demo``: tells the story of ``jbodlab.demo`` in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from jbodlab.commands.output import Lab, lab_command


@click.command(short_help="Break a disk under load and watch.")
@click.option("--svg", type=click.Path(path_type=Path), help="Also write the terminal's picture.")
@lab_command
def demo(lab: Lab, svg: Path | None) -> None:
    """Break a disk under load, watch the cluster survive it, and leave nothing running."""
    # The clients it needs take a moment to load; no other command should wait for them.
    from jbodlab.demo.narrator import WIDTH, Narrator  # noqa: PLC0415
    from jbodlab.demo.run import run_demo  # noqa: PLC0415

    narrator = Narrator(
        Console(width=WIDTH, record=svg is not None, stderr=lab.is_json, highlight=False)
    )
    run_demo(lab.cluster.spec, narrator)
    if svg is not None:
        narrator.save_svg(svg)
    if lab.is_json:
        click.echo(json.dumps(narrator.measured, indent=2))
