"""What the stories ask of the container engine and of compose."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Final

from tests.deadlines import DEADLINE_S

ROOT: Final = Path(__file__).parents[2]
BROKERS: Final = (1, 2, 3)
NODES: Final = ("controller", *(f"broker-{broker}" for broker in BROKERS))
PROJECT: Final = "jbodlab"
PATIENT: Final = {"COMPOSE_HTTP_TIMEOUT": "900"}
"""docker-compose 1.29 waits 60 s; an engine that copies every layer takes longer when busy."""


def say(words: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def run(*command: str) -> None:
    """Run a command in the project's folder; what it prints is seen."""
    say(f"$ {shlex.join(command)}")
    subprocess.run(command, cwd=ROOT, check=True, env={**PATIENT, **os.environ})


def printed(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@cache
def _compose_tool() -> tuple[str, ...]:
    """Return whichever compose there is: the plugin, or docker-compose 1.29."""
    is_plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ("docker", "compose") if is_plugin.returncode == 0 else ("docker-compose",)


class Compose:
    """The containers of one compose file; the cluster file stands beside it."""

    def __init__(self, name: str) -> None:
        self.cluster_file = f"{name}.cluster.yaml"
        self._file = f"{name}.yaml"

    def call(self, *words: str) -> None:
        """Run a command of compose."""
        run(*_compose_tool(), "--file", self._file, "--project-name", PROJECT, *words)

    @contextmanager
    def up(self) -> Generator[None]:
        """Run all services for the length of a block; nothing of them is left, volumes included."""
        try:
            self.call("up", "-d", "--no-build")
            yield
        finally:
            self.call("down", "--volumes", "--remove-orphans")

    def lab(self, broker_id: int, *commands: str) -> None:
        """Run commands of jbodlab in the container of a broker, one after the other."""
        script = "; ".join(f"jbodlab {each} --config {self.cluster_file}" for each in commands)
        self.shell(broker_id, script)

    def shell(self, broker_id: int, script: str) -> None:
        """Run a script in the container of a broker; it ends with the first command that fails."""
        self.call("exec", "-T", f"broker-{broker_id}", "sh", "-exc", script)


def container(service: str) -> str:
    """Return the id of the container of a service, by the labels that every compose gives it."""
    labels = {"project": PROJECT, "service": service}
    filters = [f"--filter=label=com.docker.compose.{key}={value}" for key, value in labels.items()]
    return printed("docker", "ps", "--quiet", *filters).strip()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Ask until it holds; who does not answer yet is asked again."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        with suppress(OSError, KeyError):
            if condition():
                say(what)
                return
    raise TimeoutError(f"{what}: not so after {DEADLINE_S} s")


def check_users_and_health() -> None:
    """No process is root, and every container gets healthy."""
    for service in NODES:
        assert printed("docker", "exec", container(service), "id", "-u").strip() != "0"
        wait_until(partial(_is_healthy, service), f"{service} is healthy, and not root")


def _is_healthy(service: str) -> bool:
    form = "{{.State.Health.Status}}"
    return printed("docker", "inspect", "--format", form, container(service)).strip() == "healthy"


def build(name: str, *options: str) -> None:
    """Build an image; by the host's network: some machines have no other that reaches an index."""
    run("docker", "build", "--network", "host", "--tag", name, *options, ".")


def is_there() -> bool:
    """Tell whether a container engine answers."""
    try:
        asked = subprocess.run(["docker", "info"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return asked.returncode == 0


def size_mb(image: str) -> float:
    """Return how large an image is."""
    return int(printed("docker", "image", "inspect", "--format", "{{.Size}}", image)) / 1e6
