"""What every command shares: its options, and how it speaks. Holds no command."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

import click
from rich.console import Console, RenderableType

from jbodlab.cluster import Cluster
from jbodlab.errors import ExitCode, LabError

P = ParamSpec("P")
PIPE_WIDTH: Final = 200


class Lab:
    """The cluster a command is about, and where it writes: results to stdout, else to stderr."""

    def __init__(self, config_path: Path, *, is_json: bool) -> None:
        self.config_path = config_path
        self.is_json = is_json
        # Into a pipe or a file a table takes the width it needs.
        self.console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
        self.errors = Console(stderr=True, highlight=False)

    @functools.cached_property
    def cluster(self) -> Cluster:
        """The cluster of ``--config``.

        Raises:
            LabError: BAD_CONFIG.
        """
        return Cluster(self.config_path)

    def require_running(self) -> Cluster:
        """Return the cluster, when any broker of it runs.

        Raises:
            LabError: NOT_RUNNING.
        """
        cluster = self.cluster
        if not any(cluster.is_running(name) for name in cluster.names[1:]):
            raise LabError(
                ExitCode.NOT_RUNNING,
                f"no broker of {self.config_path} runs: start the cluster with `jbodlab up`",
            )
        return cluster

    def emit(self, content: Any, shown: RenderableType) -> None:
        """Write the result: ``content`` with ``--json``, else ``shown``."""
        if self.is_json:
            click.echo(json.dumps(content, indent=2))
        else:
            self.console.print(shown)

    def working(self, what: str) -> Any:
        """Return a context manager that shows on stderr that something takes a moment."""
        return self.errors.status(what)


def lab_command(function: Callable[Concatenate[Lab, P], None]) -> Callable[P, None]:
    """Give a command ``--config`` and ``--json``, and its Lab as the first argument."""

    @click.option(
        "--config",
        "config_path",
        type=click.Path(path_type=Path, dir_okay=False),
        default="cluster.yaml",
        show_default=True,
        help="The cluster file.",
    )
    @click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
    @functools.wraps(function)
    def command(config_path: Path, is_json: bool, *args: P.args, **kwargs: P.kwargs) -> None:  # noqa: FBT001 - click passes it by name
        function(Lab(config_path, is_json=is_json), *args, **kwargs)

    # click calls it by keyword with the two options added; P cannot say that.
    return command  # pyright: ignore[reportReturnType]
