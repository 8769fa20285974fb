"""Runs one of the tools against a cluster, in this process."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from click.testing import Result

from tests.jbodlab.command_line import jbodlab
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster


def run(cluster: FakeCluster, line: str, *more: str) -> Result:
    tool, *words = shlex.split(line)
    return jbodlab(tool, "--bootstrap-server", cluster.bootstrap, *words, *more)


def document(result: Result) -> Any:
    """Return what a command with ``--json`` wrote."""
    return json.loads(result.stdout)


def plan_file(folder: Path, *partitions: dict[str, Any]) -> str:
    file = folder / "plan.json"
    file.write_text(json.dumps({"version": 1, "partitions": list(partitions)}))
    return str(file)


def part(topic: str, partition: int, replicas: list[int], *log_dirs: str) -> dict[str, Any]:
    fields = {"topic": topic, "partition": partition, "replicas": replicas}
    return {**fields, "log_dirs": list(log_dirs)} if log_dirs else fields
