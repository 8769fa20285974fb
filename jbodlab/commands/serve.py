"""``serve``: the HTTP API of the cluster, for every other language."""

from __future__ import annotations

import json
from pathlib import Path

import click

from jbodlab.commands.output import Lab, lab_command


@click.command(short_help="Serve the HTTP API of the cluster.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8099, show_default=True)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What those who ask must say; needed beyond loopback.",
)
@lab_command
def serve(lab: Lab, host: str, port: int, token_file: Path | None) -> None:
    """Serve the HTTP API of the cluster until Ctrl-C; `/openapi.json` describes it.

    \b
    What runs, and a disk that breaks:
      curl http://127.0.0.1:8099/cluster
      curl --json '{"mode": "eio"}' http://127.0.0.1:8099/brokers/1/log-dirs/1/fail
      curl -N http://127.0.0.1:8099/events
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    # No other command needs a web server.
    from jbodlab.http_api.server import place, serve  # noqa: PLC0415

    def on_ready(address: str) -> None:
        words = f"{address}/openapi.json describes it; Ctrl-C ends it"
        click.echo(json.dumps({"address": address}) if lab.is_json else f"{address}\nnext: {words}")

    serve(lab.config_path, place(host, port, token_file), on_ready)
