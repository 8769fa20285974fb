"""``init``: a cluster file to begin with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from jbodlab.asking.admin import default_replication_factor
from jbodlab.errors import ExitCode, LabError

_TOP: Final = """\
# One controller and {brokers} broker(s) with {log_dirs} log dir(s) each; `jbodlab up` starts them.
# A mistake in here is reported with its place. Paths begin at the folder of this file.
cluster_id: jbod-lab

controller:
  port: {controller_port}
  data_dir: data/controller
  heartbeat_interval_ms: 500 # of the brokers
  session_timeout_ms: 3000 # a broker that is silent for so long is fenced

brokers:
"""
_BROKER: Final = """\
  - id: {id}
    port: {port} # its control endpoint has this one and 1000
    rack: rack-{id}
    log_dirs:
"""
_LOG_DIR: Final = "      - {{ path: data/b{id}/d{number}{capacity} }}\n"
_REST: Final = """\

# Kafka's own names, for all brokers; a broker or a topic may say otherwise under its own `configs`.
configs:
  default.replication.factor: {factor}
  min.insync.replicas: {min_isr}

# Made by `jbodlab up` where they are not there yet; `jbodlab topics create` makes others later.
# topics:
#   - {{ name: orders, partitions: 6, replication_factor: {factor} }}

# In force from the start; `jbodlab faults add` puts others in force later (docs/faults.md).
# faults:
#   - {{ at_ms: 60000, broker: 1, mode: eio, log_dir: data/b1/d1 }}

# One file of JSON lines per broker; `jbodlab report` makes tables of them.
metrics:
  dump_dir: data/metrics
  interval_ms: 1000
"""


@click.command(short_help="Write a cluster file to begin with.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default="cluster.yaml")
@click.option("--brokers", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--log-dirs", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option(
    "--port",
    type=click.IntRange(1025, 60_000),
    default=9092,
    show_default=True,
    help="Of the first broker; the others follow, the controller has the one two below.",
)
@click.option("--capacity-mib", type=click.IntRange(min=1), help="Of each log dir.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
def init(  # noqa: PLR0913 - click passes each option by name
    *,
    file: Path,
    brokers: int,
    log_dirs: int,
    port: int,
    capacity_mib: int | None,
    force: bool,
    is_json: bool,
) -> None:
    """Write a commented cluster FILE, cluster.yaml unless told otherwise."""
    if file.exists() and not force:
        raise LabError(
            ExitCode.FAILED, f"{file} is there already: --force writes over it, or name another"
        )
    if not file.parent.is_dir():
        raise LabError(ExitCode.FAILED, f"there is no folder {file.parent} to write {file} into")
    factor = default_replication_factor(brokers)
    capacity = "" if capacity_mib is None else f", capacity_mib: {capacity_mib}"
    text = _TOP.format(brokers=brokers, log_dirs=log_dirs, controller_port=port - 2)
    for broker_id in range(1, brokers + 1):
        text += _BROKER.format(id=broker_id, port=port + broker_id - 1)
        for number in range(1, log_dirs + 1):
            text += _LOG_DIR.format(id=broker_id, number=number, capacity=capacity)
    text += _REST.format(factor=factor, min_isr=max(1, factor - 1))
    file.write_text(text, encoding="utf-8")
    if is_json:
        click.echo(json.dumps({"file": str(file), "brokers": brokers, "log_dirs": log_dirs}))
        return
    config = "" if file == Path("cluster.yaml") else f" --config {file}"
    click.echo(f"wrote {file}: {brokers} broker(s) with {log_dirs} log dir(s) each")
    click.echo(f"next: `jbodlab up{config}`, `jbodlab topics create orders --partitions 6{config}`")
