"""``demo``: tells the story of ``jbodlab.demo`` in the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from jbodlab.commands.output import Lab, lab_command
from jbodlab.demo.story import tell


@click.command()
@click.option("--svg", type=click.Path(path_type=Path), help="Also write the terminal's picture.")
@lab_command
def demo(lab: Lab, svg: Path | None) -> None:
    """Break a disk under load, watch the cluster survive it, and leave nothing running."""
    tell(lab, svg)
