"""``serve`` and ``console``: the HTTP API of the cluster, and the page that it serves."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Callable
from pathlib import Path

import click

from jbodlab.asking.lab_elsewhere import TOKEN_VARIABLE
from jbodlab.commands.output import Lab, lab_command
from jbodlab.processes.http_api_process import PORT, http_api_address


@click.command("serve", short_help="Serve the HTTP API of the cluster.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8099, show_default=True)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"What those who ask must say; needed beyond loopback, here or in {TOKEN_VARIABLE}.",
)
@lab_command
def serve_api(lab: Lab, host: str, port: int, token_file: Path | None) -> None:
    """Serve the HTTP API of the cluster until Ctrl-C; `/openapi.json` describes it.

    \b
    What runs, and a disk that breaks:
      curl http://127.0.0.1:8099/cluster
      curl --json '{"mode": "eio"}' http://127.0.0.1:8099/brokers/1/log-dirs/1/fail
      curl -N http://127.0.0.1:8099/events
    """  # noqa: D301 - click leaves the lines behind the backspace as they are

    def on_ready(address: str) -> None:
        words = f"{address}/openapi.json describes it, {address}/ is the console; Ctrl-C ends it"
        _tell(lab, address, words)

    _serve(lab, on_ready, (host, port, token_file))


@click.command(short_help="Open a page that shows the disks and breaks them.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Serve it at this port. Else at {PORT}, unless `jbodlab up` has left it running.",
)
@lab_command
def console(lab: Lab, port: int | None) -> None:
    """Open the page of the cluster in a browser.

    `jbodlab up` serves it. Where nobody does, this command does so until Ctrl-C.
    """
    if lab.api is not None:
        _tell(lab, f"{lab.api.url}/", _opened(lab.api.link))
        return
    address = http_api_address(lab.cluster) if port is None else None
    if address is not None:
        _tell(lab, f"{address}/", _opened(f"{address}/"))
        return

    def on_ready(served: str) -> None:
        _tell(lab, f"{served}/", f"{_opened(f'{served}/')}; Ctrl-C ends it")

    _serve(lab, on_ready, ("127.0.0.1", PORT if port is None else port, None))


def _opened(address: str) -> str:
    is_shown = webbrowser.open(address)
    return "it is open in your browser" if is_shown else "open it in a browser"


def _tell(lab: Lab, address: str, words: str) -> None:
    click.echo(json.dumps({"address": address}) if lab.is_json else f"{address}\nnext: {words}")


def _serve(lab: Lab, on_ready: Callable[[str], None], where: tuple[str, int, Path | None]) -> None:
    # No other command needs a web server.
    from jbodlab.http_api.server import place, serve  # noqa: PLC0415

    serve(lab.cluster.config_path, place(*where), on_ready)
