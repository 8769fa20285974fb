"""Groups of unmodified clients: they share, lose members and disks, and go on where they were."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from jbodlab.processes.lab_spec import LabShape
from tests.integration.groups import GROUPS, Group
from tests.integration.labs import FAST, PATIENT_MS, Lab, running_lab

pytestmark = pytest.mark.sampled_among("the longest stories of clusters", kept=1)

PARTITIONS = 6
DYNAMIC = ("", "", "")
CLASSIC_LIBRARIES = ("kafka-python", "aiokafka")
LIBRARIES = (*CLASSIC_LIBRARIES, "librdkafka")
"""librdkafka speaks the consumer protocol (KIP-848)."""


@pytest.fixture
def group_lab(tmp_path: Path) -> Generator[Lab]:
    """A cluster whose groups begin soon."""
    with lab_of_groups(tmp_path, GROUPS) as lab:
        yield lab


@pytest.fixture
def patient_lab(tmp_path: Path) -> Generator[Lab]:
    """One whose members may be away for as long as a process takes to start."""
    with lab_of_groups(tmp_path, GROUPS | {"group.consumer.session.timeout.ms": "45000"}) as lab:
        yield lab


@contextmanager
def lab_of_groups(folder: Path, configs: dict[str, str]) -> Generator[Lab]:
    shape = LabShape(configs=FAST | configs, session_timeout_ms=PATIENT_MS)
    with running_lab(folder, shape) as lab:
        lab.create("t", PARTITIONS, configs={"min.insync.replicas": "1"})
        yield lab


@pytest.mark.scenario(64, 65)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_group_goes_on_when_the_disks_of_its_coordinator_and_its_topic_fail_and_a_member_dies(
    group_lab: Lab, library: str
) -> None:
    load = group_lab.load("t", PARTITIONS, pace_ms=50.0)
    with Group(group_lab, "readers", "t", PARTITIONS) as group:
        first, second, third = group.start(library, *DYNAMIC)
        group.wait_until_shared([first, second, third])
        group.wait_for_commits([first, second, third])

        coordinator, path = group.coordinator()
        group_lab.control(coordinator).fail(path, "eio")
        group.wait_for_another_coordinator(coordinator)
        group.wait_for_commits([first, second, third])

        leader = group_lab.partition("t").leader
        group_lab.control(leader).fail(group_lab.log_dir_of(leader, "t").path, "eio")
        group_lab.wait_for_new_leader("t", leader)
        group.wait_for_commits([first, second, third])

        group.kill(second)
        group.wait_until_shared([first, third])
        group.wait_for_commits([first, third])
        (fourth,) = group.start(library, "")
        group.wait_until_shared([first, third, fourth])

        report = load.stop()
        assert report.failed == ()
        group.wait_until_read([each.number for each in report.acknowledged])
        group.leave(first)
        group.wait_until_shared([third, fourth])
        group.leave(third, fourth)
        group.assert_commits_hold()
    assert listed_state(group_lab, "readers") == "EMPTY"


@pytest.mark.parametrize("library", CLASSIC_LIBRARIES)
def test_a_static_member_that_is_killed_and_started_again_moves_no_partition(
    group_lab: Lab, library: str
) -> None:
    load = group_lab.load("t", PARTITIONS, pace_ms=50.0)
    with Group(group_lab, "static", "t", PARTITIONS) as group:
        kitchen, cellar = group.start(library, "kitchen", "cellar")
        group.wait_until_shared([kitchen, cellar])
        group.wait_for_commits([kitchen, cellar])
        before = (list(kitchen.told.assigned), set(cellar.told.owned))

        group.kill(cellar)
        (again,) = group.start(library, "cellar")
        group.wait_for_commits([kitchen, again])

        assert (kitchen.told.assigned, set(again.told.owned)) == before
        report = load.stop()
        group.wait_until_read([each.number for each in report.acknowledged])
        group.leave(kitchen, again)
        group.assert_commits_hold()


def test_a_group_changes_its_protocol_and_back_while_its_members_read(group_lab: Lab) -> None:
    load = group_lab.load("t", PARTITIONS, pace_ms=50.0)
    with Group(group_lab, "mixed", "t", PARTITIONS) as group:
        first, second = group.start("kafka-python", "", "")
        group.wait_until_shared([first, second])
        (third,) = group.start("librdkafka", "")
        group.wait_until_shared([first, second, third])
        group.wait_for_commits([first, second, third])
        assert listed_type(group_lab, "mixed") == "CONSUMER"

        group.leave(third)
        group.wait_until_shared([first, second])
        group.wait_for_commits([first, second])
        assert listed_type(group_lab, "mixed") == "CLASSIC"

        report = load.stop()
        group.wait_until_read([each.number for each in report.acknowledged])
        group.leave(first, second)
        group.assert_commits_hold()


def test_a_static_member_of_the_consumer_protocol_that_is_away_moves_no_partition(
    patient_lab: Lab,
) -> None:
    load = patient_lab.load("t", PARTITIONS, pace_ms=50.0)
    with Group(patient_lab, "static", "t", PARTITIONS) as group:
        kitchen, cellar = group.start("librdkafka", "kitchen", "cellar")
        group.wait_until_shared([kitchen, cellar])
        group.wait_for_commits([kitchen, cellar])
        before = (list(kitchen.told.assigned), set(cellar.told.owned))

        group.leave(cellar)
        (again,) = group.start("librdkafka", "cellar")
        group.wait_for_commits([kitchen, again])

        assert (kitchen.told.assigned, set(again.told.owned)) == before
        report = load.stop()
        group.wait_until_read([each.number for each in report.acknowledged])
        group.leave(kitchen, again)
        group.assert_commits_hold()


def listed_state(lab: Lab, group_id: str) -> str:
    """Return the state of a group, as librdkafka's admin client is told."""
    return listed(lab, group_id).state.name


def listed_type(lab: Lab, group_id: str) -> str:
    """Return the protocol of a group, as librdkafka's admin client is told."""
    return listed(lab, group_id).type.name


def listed(lab: Lab, group_id: str) -> Any:
    client: Any = AdminClient({"bootstrap.servers": ",".join(lab.servers)})
    groups = client.list_consumer_groups().result().valid
    (found,) = [each for each in groups if each.group_id == group_id]
    return found
