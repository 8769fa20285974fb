"""Questions to coordinators and leaders, and what becomes of them while those move."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.properties import ClientSettings
from jbodlab.kafka_tools.group_questions import (
    commit,
    delete_group,
    delete_offsets,
    describe_committed,
    describe_group,
    find_coordinator,
    find_leaders,
    list_groups,
    list_offsets,
    unknown,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.offsets import LATEST
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.fake_groups import COORDINATOR, FakeGroups

FOO, BAZ = TopicPartition("foo", 0), TopicPartition("baz", 1)
NOWHERE = TopicPartition("foo", 9)


@pytest.fixture
def groups(cluster: FakeCluster) -> FakeGroups:
    groups = FakeGroups(offsets={"g": {FOO: 7}}, members={"live": [BAZ]})
    groups.offer(cluster)
    return groups


@pytest.fixture
def client(cluster: FakeCluster) -> Generator[ClusterClient]:
    settings = ClientSettings(
        bootstrap=cluster.bootstrap, client_id="t", request_timeout_ms=5000, api_timeout_ms=0
    )
    with ClusterClient(settings, pause=lambda _s: None) as client:
        yield client


@pytest.mark.usefixtures("groups")
def test_every_broker_is_asked_for_its_groups(client: ClusterClient):
    assert [(each.group, each.state, each.type) for each in list_groups(client)] == [
        ("g", "Empty", "Classic"),
        ("live", "Stable", "Classic"),
    ]


@pytest.mark.usefixtures("groups")
def test_a_group_is_described_by_its_coordinator(client: ClusterClient):
    view, coordinator = describe_group(client, "live")
    assert (view.state, view.assignor, coordinator.id) == ("Stable", "range", COORDINATOR)
    assert [member.assignment for member in view.members] == [(BAZ,)]
    assert describe_group(client, "nope")[0].state == "Dead"


def test_a_coordinator_that_moves_is_looked_for_anew(client: ClusterClient, groups: FakeGroups):
    patient = ClusterClient(
        ClientSettings(
            bootstrap=client.settings.bootstrap,
            client_id="t",
            request_timeout_ms=5000,
            api_timeout_ms=60_000,
        ),
        pause=lambda _s: None,
    )
    groups.refusals = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
    with patient:
        assert describe_committed(patient, "g") == {FOO: 7}
    assert groups.refusals == []


def test_a_coordinator_that_never_comes_is_told_of(client: ClusterClient, groups: FakeGroups):
    groups.refusals = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 9
    with pytest.raises(ToolFailure, match="COORDINATOR_NOT_AVAILABLE"):
        describe_committed(client, "g")
    with pytest.raises(KafkaError):
        find_coordinator(client, "g")


def test_offsets_are_set_and_deleted_and_groups_too(client: ClusterClient, groups: FakeGroups):
    commit(client, "g", {FOO: 3, BAZ: 4})
    assert describe_committed(client, "g") == {FOO: 3, BAZ: 4}
    assert delete_offsets(client, "g", [BAZ]).of(BAZ).code is ErrorCode.NONE
    assert groups.offsets["g"] == {FOO: 3}
    delete_group(client, "g")
    assert groups.offsets == {}
    with pytest.raises(KafkaError, match="does not exist"):
        delete_group(client, "g")


@pytest.mark.usefixtures("groups")
def test_leaders_are_asked_for_offsets(client: ClusterClient):
    assert find_leaders(client, [FOO, BAZ, NOWHERE]) == {FOO: 0, BAZ: 0}
    assert list_offsets(client, [FOO, BAZ], LATEST) == {FOO: 10, BAZ: 10}
    with pytest.raises(KafkaError) as raised:
        list_offsets(client, [FOO, NOWHERE], LATEST)
    assert str(raised.value) == str(unknown(NOWHERE))
