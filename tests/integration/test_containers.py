"""Dockerfile and compose.yaml without a Docker daemon: read both, run what they say in a shell.

The commands run as they stand, in a fresh virtual environment in place of the image's Python.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import CONTROLLER, Cluster
from jbodlab.processes.free_ports import holder_of, is_free
from jbodlab.processes.process import Process
from protocol.cluster_file.spec import ClusterSpec, TopicSpec, load_cluster_spec
from protocol.faults.model import broker_node
from tests.deadlines import DEADLINE_S

ROOT = Path(__file__).parents[2]
INSTALL_DEADLINE_S = 5 * DEADLINE_S


FILES = ("compose", "compose.networks")
"""Each with its cluster file beside it."""
NO_NODES = ("net", "api")
LEFT_OUT = ("apt-get", "strip")
"""What the Dockerfile calls and a machine need not have; the image is the same but larger."""


def compose(name: str = "compose") -> dict[str, Any]:
    return yaml.safe_load((ROOT / f"{name}.yaml").read_text())


def compose_spec(name: str = "compose") -> ClusterSpec:
    return load_cluster_spec(ROOT / f"{name}.cluster.yaml")


def dockerfile() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions in order."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in kept)]


def services(file: str = "compose") -> dict[str, dict[str, Any]]:
    """Return the services that run a process of the cluster."""
    found = compose(file)["services"]
    return {name: each for name, each in found.items() if name not in NO_NODES}


def test_the_http_api_is_a_service_that_wants_a_token_and_is_published_for_the_host_alone() -> None:
    api = compose()["services"]["api"]
    assert api["profiles"] == ["api"]
    command = " ".join(api["command"])
    assert command == "jbodlab serve --config compose.cluster.yaml --host 0.0.0.0 --port 28099"
    assert api["environment"] == {"JBODLAB_API_TOKEN": "${JBODLAB_API_TOKEN:-}"}
    assert "127.0.0.1:28099:28099" in compose()["services"]["net"]["ports"]


@pytest.mark.parametrize("file", FILES)
def test_the_compose_file_runs_the_controller_and_every_broker_of_its_cluster(file: str) -> None:
    commands = {name: each["command"] for name, each in services(file).items()}
    start = ["python", "-m"]
    config = ["--config", f"{file}.cluster.yaml"]
    assert commands == {
        "controller": [*start, "jbodlab.controller", *config],
        **{
            f"broker-{broker.id}": [*start, "jbodlab.broker", *config, "--id", str(broker.id)]
            for broker in compose_spec(file).brokers
        },
    }


@pytest.mark.parametrize("file", FILES)
def test_every_log_dir_is_a_volume_of_its_own(file: str) -> None:
    (workdir,) = [rest for word, rest in dockerfile() if word == "WORKDIR"]
    mounted: list[str] = []
    for broker in compose_spec(file).brokers:
        lines: list[str] = services(file)[f"broker-{broker.id}"]["volumes"]
        volumes = {inside: name for name, _, inside in (line.partition(":") for line in lines)}
        for log_dir in broker.log_dirs:
            inside = f"{workdir}/{Path(log_dir.path).relative_to(ROOT)}"
            mounted.append(volumes[inside])
    assert len(dict.fromkeys(mounted)) == 9
    assert [name for name in mounted if name not in compose(file)["volumes"]] == []


@pytest.mark.parametrize("file", FILES)
def test_a_container_is_healthy_when_its_process_takes_connections(file: str) -> None:
    spec = compose_spec(file)
    ports = {"controller": spec.controller.port}
    ports.update((f"broker-{broker.id}", broker.port) for broker in spec.brokers)
    tests = {name: each["healthcheck"]["test"][-1] for name, each in services(file).items()}
    assert {name: re.findall(r"\d{4,5}", test) for name, test in tests.items()} == {
        name: [str(port)] for name, port in ports.items()
    }


def test_whoever_the_processes_run_as_may_write_into_every_volume() -> None:
    (workdir,) = [rest for word, rest in dockerfile() if word == "WORKDIR"]
    (made,) = [rest for word, rest in dockerfile() if word == "RUN" and "chmod 1777" in rest]
    mounts = [line.partition(":")[2] for each in services().values() for line in each["volumes"]]
    assert [
        each
        for each in mounts
        if each.removeprefix(f"{workdir}/data/") not in re.split(r"[ ;]", made)
    ] == []
    assert ("USER", "1000:1000") in dockerfile()


def test_clients_on_the_host_reach_what_the_brokers_advertise() -> None:
    published = [port.split(":")[-2:] for port in compose()["services"]["net"]["ports"]]
    for broker in compose_spec().brokers:
        port = str(broker.advertised_port)
        assert [port, port] in published
        assert (broker.bind_host, broker.advertised_host) == ("0.0.0.0", "127.0.0.1")


def test_a_broker_in_a_network_of_its_own_is_reached_from_its_site_and_from_the_host() -> None:
    for broker in compose_spec("compose.networks").brokers:
        service = services("compose.networks")[f"broker-{broker.id}"]
        assert service["networks"] == ["nodes", f"site-{broker.id}"]
        nodes, host = broker.listeners
        assert nodes.advertised_host == f"broker-{broker.id}"
        port = host.advertised_port
        assert (host.bind_host, host.port, host.advertised_host) == ("0.0.0.0", port, "127.0.0.1")
        assert service["ports"] == [f"127.0.0.1:{port}:{port}"]


def test_the_image_is_a_slim_python_and_copies_only_what_is_there() -> None:
    assert dockerfile()[0] == ("FROM", "python:3.11-slim AS base")
    for word, rest in dockerfile():
        if word == "COPY" and not rest.startswith("--from="):
            *sources, _ = rest.split()
            assert [name for name in sources if not (ROOT / name).exists()] == []


@pytest.fixture
def image(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Do what the Dockerfile says, all stages in one folder, on a fresh virtual environment."""
    workdir, venv = tmp_path / "image", tmp_path / "venv"
    workdir.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    environment = {
        "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        **{name: each for name, each in os.environ.items() if name.startswith(("PIP_", "SSL_"))},
    }
    for word, rest in dockerfile():
        if word == "COPY" and not rest.startswith("--from="):
            copy(rest, workdir)
        if word == "ENV":
            environment["PATH"] = f"{workdir / 'venv' / 'bin'}:{environment['PATH']}"
        if word == "RUN" and not any(each in rest for each in LEFT_OUT):
            subprocess.run(
                ["sh", "-c", rest],
                cwd=workdir,
                env=environment,
                check=True,
                capture_output=True,
                timeout=INSTALL_DEADLINE_S,
            )
    return workdir, environment


def copy(instruction: str, workdir: Path) -> None:
    *sources, target = instruction.split()
    if target.endswith("/"):
        (workdir / target).mkdir(exist_ok=True)
    for source in sources:
        if (ROOT / source).is_dir():
            shutil.copytree(
                ROOT / source, workdir / target, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / source, workdir / target)


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
def test_the_commands_of_both_files_run_as_they_stand(image: tuple[Path, dict[str, str]]) -> None:
    workdir, environment = image
    spec = compose_spec()
    ports = [spec.controller.port]
    ports += [port for each in spec.brokers for port in (each.port, each.control_port)]
    for port in ports:
        if not is_free("127.0.0.1", port):
            pytest.skip(f"port {port} of compose.cluster.yaml is in use by {holder_of(port)}")
    cluster = Cluster(workdir / "compose.cluster.yaml")
    for name, service in services().items():
        shell = f"cd {shlex.quote(str(workdir))} && exec {shlex.join(service['command'])}"
        variables = [f"{key}={value}" for key, value in environment.items()]
        cluster.processes[name] = Process.start(
            name, ["env", "-i", *variables, "sh", "-c", shell], cluster.run_dir / f"{name}.log"
        )
    try:
        cluster.wait_until(cluster.is_ready, "every broker knows all brokers")
        with ClusterAdmin(cluster.spec) as admin:
            admin.create_topic(TopicSpec(name="t", partitions=3, replication_factor=3, configs={}))
    finally:
        cluster.stop()
    codes = {name: cluster.processes[name].exit_code for name in services()}
    assert codes == {CONTROLLER: 0, **{broker_node(each.id): 0 for each in spec.brokers}}
