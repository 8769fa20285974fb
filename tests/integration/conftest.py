"""Clusters for integration tests; everything in this folder starts real processes."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from jbodlab.processes.lab_spec import LabShape
from tests.integration.labs import (
    FAST,
    PATIENT_MS,
    RUNNING,
    SUSPICIOUS,
    Lab,
    running_lab,
    told_of_nodes,
)

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failed test what its nodes tell, while they are there."""
    report = yield
    if report.failed and call.when == "call":
        report.sections += [("nodes", told_of_nodes(cluster)) for cluster in RUNNING]
    return report


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """One cluster for a whole module, for tests that leave it whole."""
    # On a busy machine a module takes long enough for leaders to be elected by themselves.
    configs = FAST | {"auto.leader.rebalance.enable": "false"}
    shape = LabShape(configs=configs, session_timeout_ms=PATIENT_MS)
    with running_lab(tmp_path_factory.mktemp("lab"), shape) as lab:
        yield lab


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    """A cluster for one test that breaks it."""
    with running_lab(tmp_path) as lab:
        yield lab


@pytest.fixture
def suspicious_lab(tmp_path: Path) -> Generator[Lab]:
    """The same for a test that makes a log dir hang."""
    with running_lab(tmp_path, LabShape(configs=SUSPICIOUS)) as lab:
        yield lab
