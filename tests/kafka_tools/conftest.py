"""One cluster and two JVMs for all tests of Kafka's tools; every test runs with both releases.

Tests leave the cluster whole and use topics of their own: ``topic`` gives a name per test.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest

from benchmarks.peer.kafka import PeerMissingError
from jbodlab.processes.lab_spec import LabShape
from tests.integration.labs import FAST, PATIENT_MS, Lab, running_lab
from tests.kafka_tools.plans import PlanFile
from tests.kafka_tools.tools import RELEASES, KafkaTools

FOLDER = Path(__file__).parent
BUILD = FOLDER.parents[1] / "build"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.integration)
            if isinstance(item, pytest.Function) and "tools" in item.fixturenames:
                item.add_marker(pytest.mark.sampled("tools", kept=1, together="releases of tools"))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """Three brokers, three log dirs each; throttles stay until a tool takes them off."""
    shape = LabShape(
        configs={**FAST, "jbodlab.reassignment.throttles.remove": "false"},
        session_timeout_ms=PATIENT_MS,
    )
    with running_lab(tmp_path_factory.mktemp("tools-lab"), shape) as lab:
        yield lab


@pytest.fixture(scope="session", params=RELEASES)
def tools(
    request: pytest.FixtureRequest, lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> Generator[KafkaTools]:
    """The tools of one release."""
    folder = tmp_path_factory.mktemp("kafka-tools")
    try:
        tools = KafkaTools(request.param, BUILD, folder, ",".join(lab.servers))
    except PeerMissingError as error:
        pytest.skip(str(error))
    yield tools
    tools.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test has."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", request.node.name).strip("-")


@pytest.fixture
def plan(tools: KafkaTools, tmp_path: Path) -> PlanFile:
    """The file that kafka-reassign-partitions reads."""
    return PlanFile(tools, tmp_path / "plan.json")
