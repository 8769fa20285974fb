"""``python -m tests.clients.secured``: each client writes a record by the file that it is given.

A line says how it went. The exit code is 12 when one that runs here could not write, 9 when one
cannot run here.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click

from jbodlab.api.cluster import Cluster
from jbodlab.errors import ExitCode
from tests.clients.builds import JVM_FLAGS, NotRunError, build, java_program, node_program, tool
from tests.integration.labs import FAST, PATIENT_MS

FOLDER: Final = Path(__file__).parent
BUILD_DIR: Final = FOLDER.parents[2] / "build" / "clients"
DEADLINE_S: Final = 300
NOT_RUN: Final = 9
WRITTEN: Final = "orders-0"
"""What each program prints last."""

Prepare = Callable[[Cluster], list[str]]
"""Returns the command of a client for a running cluster. Raises NotRunError."""


def _go(name: str, cluster: Cluster) -> list[str]:
    folder = BUILD_DIR / f"secured-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    modules = [FOLDER.parent / "go" / each for each in ("go.mod", "go.sum")]
    client_file = cluster.client_file(f"admin_{name}.go")
    for file in (*modules, FOLDER / name / "main.go", client_file):
        shutil.copy(file, folder)
    build(tool("go"), "build", "-mod=mod", "-o", "program", ".", folder=folder)
    return [str(folder / "program")]


def _kafkajs(cluster: Cluster) -> list[str]:
    node, main = node_program("kafkajs", BUILD_DIR)
    program = shutil.copy(FOLDER / "main.js", Path(main).parent / "secured.js")
    return [node, str(program), str(cluster.client_file("admin.kafkajs.js"))]


def _java(release: str, cluster: Cluster) -> list[str]:
    java_program(release, BUILD_DIR)
    libs = BUILD_DIR / f"java-{release}" / "libs" / "*"
    program = [str(FOLDER / "Secured.java"), str(cluster.client_file("admin.properties"))]
    return [tool("java"), *JVM_FLAGS, "-cp", str(libs), *program]


CLIENTS: Final[dict[str, Prepare]] = {
    "kafkajs": _kafkajs,
    "franz-go": partial(_go, "franz"),
    "sarama": partial(_go, "sarama"),
    "Java 3.9.2": partial(_java, "3.9.2"),
    "Java 4.3.1": partial(_java, "4.3.1"),
}


@click.command()
@click.option("--client", "names", type=click.Choice(list(CLIENTS)), multiple=True)
def main(names: tuple[str, ...]) -> None:
    """Run them one after the other."""
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    code = 0
    with Cluster(
        brokers=1, log_dirs=1, secure=True, configs=FAST, session_timeout_ms=PATIENT_MS
    ) as cluster:
        cluster.create_topic("orders")
        for name in names or CLIENTS:
            try:
                said = _run(CLIENTS[name](cluster))
            except NotRunError as error:
                said, code = f"not run: {error}", code or NOT_RUN
            else:
                code = code if said == WRITTEN else ExitCode.VIOLATION
            click.echo(f"{name:<12} {said}")
    sys.exit(code)


def _run(command: list[str]) -> str:
    """Return the last line of what a program says."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return lines[-1] if lines else f"nothing, and exit code {done.returncode}"


if __name__ == "__main__":
    main()
