"""``python -m tests.containers``: the image and compose.yaml in a container engine that runs.

It builds the image, starts the cluster, breaks a leader's log dir under load and looks that nothing
acknowledged is lost. Containers and their volumes are removed in the end.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
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


def run(*command: str, stdin: str | None = None) -> None:
    """Run a command in the project's folder; what it prints is seen."""
    sys.stdout.write(f"$ {' '.join(command)}\n")
    sys.stdout.flush()
    subprocess.run(command, cwd=ROOT, input=stdin, text=True, check=True)


def compose(*words: str) -> None:
    """Run a command of compose, whichever there is.

    The old one refuses the key ``name``, and calls each container by it anyway: ``--project-name``.
    """
    is_plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    tool = ["docker", "compose"] if is_plugin.returncode == 0 else ["docker-compose"]
    lines = (ROOT / "compose.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("name:"))
    options = ("--project-directory", str(ROOT), "--project-name", "jbodlab", "-f", "-")
    run(*tool, *options, *words, stdin=text)


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
    """Return 0 when everything came out as it must."""
    if shutil.which("docker") is None:
        sys.stderr.write("tests.containers: there is no docker: install a container engine\n")
        return 1
    with cluster() as admin:
        wait_until(
            lambda: all(admin.view(each, []).broker_ids == BROKERS for each in BROKERS),
            "every broker knows all brokers",
        )
        configs = {"min.insync.replicas": "2"}
        topic = TopicSpec(name=TOPIC, partitions=1, replication_factor=3, configs=configs)
        admin.create_topic(topic)
        return int(not _is_nothing_lost(admin))


def _is_nothing_lost(admin: ClusterAdmin) -> bool:
    wait_until(lambda: len(admin.any_view([TOPIC]).partition(TOPIC, 0).isr) == 3, "all in sync")
    servers = [f"127.0.0.1:{29091 + broker}" for broker in BROKERS]
    load = Load(servers, TOPIC, partitions=1).start()
    leader = admin.any_view([TOPIC]).partition(TOPIC, 0).leader
    broken = next(
        Path(view.path).name
        for view in admin.log_dirs(leader)
        if any(replica.topic == TOPIC for replica in view.replicas)
    )
    command = ("jbodlab", "log-dirs", "fail", f"data/b{leader}/{broken}")
    compose("exec", "-T", f"broker-{leader}", *command, "--config", "compose.cluster.yaml")
    wait_until(
        lambda: admin.any_view([TOPIC]).partition(TOPIC, 0).leader not in {-1, leader},
        "another broker leads",
    )
    wanted = load.acknowledged_count + RECORDS
    wait_until(lambda: load.acknowledged_count >= wanted, f"{wanted} records are acknowledged")
    report = load.stop()
    check = verify(report.acknowledged, read_numbers(servers, TOPIC, partitions=1))
    sys.stdout.write(f"{check}\n")
    return check.is_clean and not report.failed


if __name__ == "__main__":
    sys.exit(main())
