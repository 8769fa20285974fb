"""Test suites that clients bring themselves, run against a cluster of jbodlab.

kafka-python's source distribution has its integration tests, without two files that they import.
They want one broker, which they call 0, and name the Kafka that it claims to be. They start it
themselves, with the protocol and mechanism of each test; a fixture of ours stands there instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks.secured_lab import CA_FILE, OWN, PROTOCOLS, SecuredLab, write_secured_lab
from jbodlab.processes.cluster import Cluster, running
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from tests.archives import unpack
from tests.clients import kafka_python_fixture
from tests.clients.builds import build
from tests.clients.results import ItemResult, Outcome
from tests.clients.session import WHOLE
from tests.integration.labs import FAST

CLIENT: Final = "kafka-python's suite"
RELEASE: Final = "4.3"
"""What a broker of jbodlab claims to be, unless it is told otherwise."""
DEADLINE_S: Final = 600
_CONFIGS: Final = {
    "num.partitions": "4",
    # Its groups have members of a second.
    "group.min.session.timeout.ms": "500",
    # As their own fixture has it.
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:broker",
}
_TESTS: Final = "test/integration"
_SECURED: Final = ("test_sasl_integration", "test_ssl_integration")
_BY_VERSION: Final = ("broker >=", "KAFKA_VERSION", "Unsupported Kafka Version")
"""One of these is in the reason of a test that another version of Kafka would run."""
_SERVICE: Final = '''\
"""What fixtures.py imports; a broker that runs already needs neither to be started."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def dump_logs(self):
        pass


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
    lab = _one_broker(folder / "suite")
    with running(Cluster(lab.file)):
        options = ("-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider", "-q")
        plugin = ("-p", kafka_python_fixture.__name__)
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", *options, *plugin),
                *(f"--junitxml={report}", _TESTS),
            ],
            cwd=source,
            env=_environment(lab),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=DEADLINE_S,
            check=False,
        )
    return Outcome(CLIENT, installed, WHOLE, judged(report.read_text(encoding="utf-8")))


def _environment(lab: SecuredLab) -> dict[str, str]:
    ports = {"PLAINTEXT": lab.ports[OWN], **{name: lab.ports[name] for name in PROTOCOLS}}
    root = Path(__file__).parents[2]
    given = {name: value for name, value in os.environ.items() if name != "KAFKA_URI"}
    return given | {
        "KAFKA_VERSION": RELEASE,
        "PYTHONPATH": str(root),
        kafka_python_fixture.WHERE: kafka_python_fixture.described(ports, lab.folder),
    }


def judged(report: str) -> tuple[ItemResult, ItemResult]:
    """Read pytest's report, of the tests of SASL and SSL for themselves.

    None is skipped but by the version that it is for: another one was not run.
    """
    cases = list(ElementTree.fromstring(report).iter("testcase"))
    secured = [case for case in cases if _file(case) in _SECURED]
    others = [case for case in cases if _file(case) not in _SECURED]
    names = [each.removeprefix("test_").removesuffix("_integration") for each in _SECURED]
    return _result(_TESTS, others), _result(" and ".join(names), secured)


def _result(item: str, cases: Sequence[ElementTree.Element]) -> ItemResult:
    failed = [_why(case) for case in cases if _failure(case) is not None]
    left = [case for case in cases if _failure(case) is None]
    skipped = [case for case in left if _why_skipped(case) is not None]
    not_run = [case for case in skipped if _is_skipped_here(case)]
    passed_count = len(left) - len(skipped)
    told = f"{passed_count} passed, {len(skipped)} skipped"
    why = dict.fromkeys(_why_skipped(case) for case in skipped)
    if why:
        told += f" ({'; '.join(map(str, why))})"
    if not_run:
        told += f", not run: {', '.join(case.get('name', '') for case in not_run)}"
    if failed or not passed_count:
        told += f", failed: {', '.join(failed)}"
    is_passed = passed_count > 0 and not failed and not not_run
    return ItemResult(item, passed=is_passed, told=told)


def _failure(case: ElementTree.Element) -> ElementTree.Element | None:
    found = case.find("failure")
    return case.find("error") if found is None else found


def _why(case: ElementTree.Element) -> str:
    """Return the name of a test that failed, with the first line of the reason."""
    failure = _failure(case)
    message = "" if failure is None else failure.get("message", "")
    name = case.get("name", "")
    return f"{name} ({message.splitlines()[0]})" if message else name


def _file(case: ElementTree.Element) -> str:
    """Return the name of a test's file, which stands before its class."""
    parts = case.get("classname", "").split(".")
    return next((part for part in parts if part.endswith("_integration")), "")


def _is_skipped_here(case: ElementTree.Element) -> bool:
    """Tell whether a test is skipped though its version is there."""
    why = _why_skipped(case)
    return why is not None and not any(each in why for each in _BY_VERSION)


def _why_skipped(case: ElementTree.Element) -> str | None:
    skipped = case.find("skipped")
    return None if skipped is None else skipped.get("message", "")


def _unpacked(wanted: str, build_dir: Path) -> Path:
    """Fetch the source distribution once; return its folder with what it lacks."""
    name = f"kafka_python-{wanted}"
    folder = build_dir / name
    if not (folder / "test" / "__init__.py").is_file():
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
        build(*pip, "--no-binary", ":all:", f"kafka-python=={wanted}", folder=build_dir)
        unpack(build_dir / f"{name}.tar.gz", build_dir)
        (folder / "servers" / RELEASE / "kafka-bin").mkdir(parents=True)
        (folder / "test" / "__init__.py").touch()
    (folder / "test" / "service.py").write_text(_SERVICE, encoding="utf-8")
    return folder


def _one_broker(folder: Path) -> SecuredLab:
    configs = FAST | _CONFIGS
    password = kafka_python_fixture.PASSWORD
    lab = write_secured_lab(folder, password=password, configs=configs, broker_id=0)
    shutil.copy(folder / CA_FILE, folder / "ca-cert")
    return lab
