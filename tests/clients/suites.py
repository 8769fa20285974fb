"""Test suites that clients bring themselves, run against a cluster of jbodlab.

kafka-python's source distribution has its integration tests, without two files that they import.
They want one broker, which they call 0, and name the Kafka that it claims to be.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import dump_cluster_spec, load_cluster_spec
from tests.clients.builds import build
from tests.clients.results import ItemResult, Outcome
from tests.clients.session import WHOLE
from tests.integration.labs import FAST

CLIENT: Final = "kafka-python's suite"
RELEASE: Final = "4.3"
"""What a broker of jbodlab claims to be, unless it is told otherwise."""
NOT_SERVED: Final[Mapping[str, str]] = {
    "test_create_describe_delete_acls": "ACLs",
    "test_describe_metadata_quorum": "KRaft's quorum",
}
"""Tests that ask for what docs/differences.md says is not there. A miss of any other is a bug."""
DEADLINE_S: Final = 600
_CONFIGS: Final = {
    "num.partitions": "4",
    # Its groups have members of a second.
    "group.min.session.timeout.ms": "500",
}
_TESTS: Final = "test/integration"
_WITH_BROKERS_OF_ITS_OWN: Final = f"{_TESTS}/test_ssl_integration.py"
_SERVICE: Final = '''\
"""What fixtures.py imports; a broker that runs already needs neither to be started."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port


class SpawnedService:
    pass
'''


def run_kafka_python(build_dir: Path, folder: Path) -> Outcome:
    """Run the suite of the kafka-python that is installed.

    Raises:
        NotRunError: its source distribution cannot be had.
    """
    installed = version("kafka-python")
    source = _unpacked(installed, build_dir)
    report = folder / "kafka-python.xml"
    cluster = Cluster(_one_broker(folder / "suite"))
    with running(cluster):
        broker = cluster.spec.brokers[0]
        uri = f"kafka://{broker.advertised_host}:{broker.advertised_port}"
        environment = {**os.environ, "KAFKA_URI": uri, "KAFKA_VERSION": RELEASE}
        options = ("-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider", "-q")
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", *options, f"--junitxml={report}"),
                *(_TESTS, f"--ignore={_WITH_BROKERS_OF_ITS_OWN}"),
            ],
            cwd=source,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=DEADLINE_S,
            check=False,
        )
    return Outcome(CLIENT, installed, WHOLE, (judged(report.read_text(encoding="utf-8")),))


def judged(report: str) -> ItemResult:
    """Read pytest's report: all of ``NOT_SERVED`` has to fail, and nothing else."""
    counts = {"passed": 0, "skipped": 0}
    failed: list[str] = []
    for case in ElementTree.fromstring(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(case.get("name", ""))
        else:
            counts["skipped" if case.find("skipped") is not None else "passed"] += 1
    told = f"{counts['passed']} passed, {counts['skipped']} skipped"
    bugs = [name for name in failed if name not in NOT_SERVED]
    stale = [name for name in NOT_SERVED if name not in failed]
    if bugs or not counts["passed"]:
        return ItemResult(_TESTS, passed=False, told=f"{told}, failed: {', '.join(bugs)}")
    if stale:
        return ItemResult(_TESTS, passed=False, told=f"{', '.join(stale)} passes: say so")
    not_there = ", ".join(NOT_SERVED.values())
    return ItemResult(_TESTS, passed=True, told=f"{told}, {len(failed)} not served ({not_there})")


def _unpacked(wanted: str, build_dir: Path) -> Path:
    """Fetch the source distribution once; return its folder with what it lacks."""
    name = f"kafka_python-{wanted}"
    folder = build_dir / name
    if not (folder / "test" / "service.py").is_file():
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
        build(*pip, "--no-binary", ":all:", f"kafka-python=={wanted}", folder=build_dir)
        with tarfile.open(build_dir / f"{name}.tar.gz") as archive:
            archive.extractall(build_dir, filter="data")
        (folder / "servers" / RELEASE / "kafka-bin").mkdir(parents=True)
        (folder / "test" / "__init__.py").touch()
        (folder / "test" / "service.py").write_text(_SERVICE, encoding="utf-8")
    return folder


def _one_broker(folder: Path) -> Path:
    file = write_lab_spec(folder, LabShape(brokers=1, configs=FAST | _CONFIGS))
    spec = load_cluster_spec(file)
    broker = dataclasses.replace(spec.brokers[0], id=0)
    file.write_text(dump_cluster_spec(dataclasses.replace(spec, brokers=(broker,))))
    return file
