"""``python -m tests.containers``: the image and compose.yaml in a container engine that runs.

It builds the image, starts the cluster, breaks a leader's log dir under load and has it back, kills
a leader's container and starts it again, and looks that nothing acknowledged is lost. Containers
and their volumes are removed in the end. Exit codes: 0 all as it must be, 1 not so, 2 no engine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.load import Load, read_numbers, verify
from protocol.cluster_file.spec import TopicSpec, load_cluster_spec
from tests.deadlines import DEADLINE_S

ROOT: Final = Path(__file__).parents[1]
BROKERS: Final = (1, 2, 3)
TOPIC: Final = "t"
RECORDS: Final = 500


def run(*command: str) -> None:
    """Run a command in the project's folder; what it prints is seen."""
    sys.stdout.write(f"$ {' '.join(command)}\n")
    sys.stdout.flush()
    subprocess.run(command, cwd=ROOT, check=True)


def compose(*words: str) -> None:
    """Run a command of compose, whichever there is: the plugin, or docker-compose 1.29."""
    is_plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    tool = ["docker", "compose"] if is_plugin.returncode == 0 else ["docker-compose"]
    run(*tool, "--project-name", "jbodlab", *words)


def lab(broker_id: int, *words: str) -> None:
    """Run a command of jbodlab in the container of a broker."""
    command = ("exec", "-T", f"broker-{broker_id}", "jbodlab", *words)
    compose(*command, "--config", "compose.cluster.yaml")


def printed(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def container(service: str) -> str:
    """Return the id of the container of a service, by the label that every compose gives it."""
    label = f"label=com.docker.compose.service={service}"
    return printed("docker", "ps", "--quiet", "--filter", label).strip()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Ask until it holds; who does not answer yet is asked again."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        with suppress(OSError, KeyError):
            if condition():
                sys.stdout.write(f"{what}\n")
                return
    raise TimeoutError(f"{what}: not so after {DEADLINE_S} s")


@contextmanager
def cluster() -> Generator[ClusterAdmin]:
    """Build the image and run the cluster for the length of a block."""
    # The network of the host, for machines whose containers reach no package index by themselves.
    run("docker", "build", "--network", "host", "-t", "jbodlab", ".")
    try:
        compose("up", "-d", "--no-build")
        with ClusterAdmin(load_cluster_spec(ROOT / "compose.cluster.yaml")) as admin:
            yield admin
    finally:
        compose("down", "--volumes")


def main() -> int:
    """Return 0 when everything came out as it must, 2 where there is no container engine."""
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode
    ):
        sys.stderr.write(
            "tests.containers: no container engine answers: start one, or set DOCKER_HOST\n"
        )
        return 2
    with cluster() as admin:
        wait_until(
            lambda: all(admin.view(each, []).broker_ids == BROKERS for each in BROKERS),
            "every broker knows all brokers",
        )
        _check_users_and_health()
        configs = {"min.insync.replicas": "2"}
        topic = TopicSpec(name=TOPIC, partitions=1, replication_factor=3, configs=configs)
        admin.create_topic(topic)
        _wait_for_isr(admin)
        servers = [f"127.0.0.1:{29091 + broker}" for broker in BROKERS]
        load = Load(servers, TOPIC, partitions=1).start()
        for story in (_break_the_log_dir_of_the_leader, _kill_the_leader):
            story(admin)
            wanted = load.acknowledged_count + RECORDS
            _wait_for_records(load, wanted)
        report = load.stop()
        check = verify(report.acknowledged, read_numbers(servers, TOPIC, partitions=1))
    sys.stdout.write(f"{check}\n")
    _tell_sizes()
    return int(not check.is_clean or bool(report.failed))


def _check_users_and_health() -> None:
    for service in ("controller", *(f"broker-{broker}" for broker in BROKERS)):
        assert printed("docker", "exec", container(service), "id", "-u").strip() != "0"
        wait_until(partial(_is_healthy, service), f"{service} is healthy, and not root")


def _is_healthy(service: str) -> bool:
    form = "{{.State.Health.Status}}"
    return printed("docker", "inspect", "--format", form, container(service)).strip() == "healthy"


def _break_the_log_dir_of_the_leader(admin: ClusterAdmin) -> None:
    """Fail it, mend it, and have it back with its data."""
    leader = admin.any_view([TOPIC]).partition(TOPIC, 0).leader
    name = next(
        Path(view.path).name
        for view in admin.log_dirs(leader)
        if any(replica.topic == TOPIC for replica in view.replicas)
    )
    log_dir = f"data/b{leader}/{name}"
    lab(leader, "log-dirs", "fail", log_dir)
    _wait_for_another_leader(admin, leader)
    lab(leader, "log-dirs", "describe", "--broker", str(leader))
    lab(leader, "log-dirs", "heal", log_dir)
    lab(leader, "log-dirs", "restart", log_dir)
    lab(leader, "faults", "list", "--broker", str(leader))
    _wait_for_isr(admin)


def _kill_the_leader(admin: ClusterAdmin) -> None:
    leader = admin.any_view([TOPIC]).partition(TOPIC, 0).leader
    run("docker", "kill", container(f"broker-{leader}"))
    _wait_for_another_leader(admin, leader)
    compose("up", "-d", "--no-build", f"broker-{leader}")
    _wait_for_isr(admin)


def _wait_for_isr(admin: ClusterAdmin) -> None:
    wait_until(lambda: len(admin.any_view([TOPIC]).partition(TOPIC, 0).isr) == 3, "all in sync")


def _wait_for_another_leader(admin: ClusterAdmin, leader: int) -> None:
    wait_until(
        lambda: admin.any_view([TOPIC]).partition(TOPIC, 0).leader not in {-1, leader},
        "another broker leads",
    )


def _wait_for_records(load: Load, wanted: int) -> None:
    wait_until(lambda: load.acknowledged_count >= wanted, f"{wanted} records are acknowledged")


def _tell_sizes() -> None:
    form = "{{.Size}}"
    base, whole = (
        int(printed("docker", "image", "inspect", "--format", form, image)) / 1e6
        for image in ("python:3.11-slim", "jbodlab")
    )
    sys.stdout.write(f"image: {whole:.0f} MB, {whole - base:.0f} MB above its base\n")


if __name__ == "__main__":
    sys.exit(main())
