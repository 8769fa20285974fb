"""``demo``: tells the story of ``jbodlab.demo`` in the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from jbodlab.commands.output import Lab, lab_command


@click.command()
@click.option("--svg", type=click.Path(path_type=Path), help="Also write the terminal's picture.")
@lab_command
def demo(lab: Lab, svg: Path | None) -> None:
    """Break a disk under load, watch the cluster survive it, and leave nothing running."""
    # The clients it needs take a moment to load; no other command should wait for them.
    from jbodlab.demo.story import tell  # noqa: PLC0415

    tell(lab, svg)
