from __future__ import annotations

from typing import Any

import pytest

from jbodlab.conformance.cluster_access import find_cluster
from jbodlab.conformance.core.script import CONTROLLER, Coordinator, Node
from jbodlab.errors import LabError
from protocol.messages.groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from protocol.messages.metadata import MetadataRequest
from tests.deadlines import DEADLINE_MS
from tests.jbodlab.conformance.fake_cluster import ANNOUNCED, BROKER_ID, fake_cluster
from tests.jbodlab.fake_node import Answer


def test_a_cluster_is_found_by_one_broker_and_asked_in_versions_that_both_know() -> None:
    with fake_cluster() as server:
        access = find_cluster(server, DEADLINE_MS)
        assert access.announced == ANNOUNCED
        assert list(access.brokers) == [BROKER_ID]
        assert access.version_of("Metadata") == 12
        assert {access.broker(to).id for to in (1, CONTROLLER, Node(7), Coordinator("g"))} == {7}
        with pytest.raises(LabError, match="does not announce Fetch"):
            access.version_of("Fetch")
        access.close()


def test_who_is_no_broker_is_told_so_in_one_line() -> None:
    with pytest.raises(LabError, match="is not HOST:PORT"):
        find_cluster("localhost", DEADLINE_MS)
    with (
        fake_cluster({MetadataRequest: lambda _: None}) as server,
        pytest.raises(LabError, match="does not answer as a Kafka broker"),
    ):
        find_cluster(server, 2000)


def test_only_groups_of_this_run_are_deleted_and_what_is_left_is_told() -> None:
    asked: list[Any] = []
    listed = [ListedGroup(group_id=name) for name in ("conform-g-77ab1z", "conform-g-other", "x")]

    def delete(request: DeleteGroupsRequest) -> DeleteGroupsResponse:
        asked.extend(request.groups_names)
        rows = [DeletableGroupResult(group_id=each, error_code=68) for each in request.groups_names]
        return DeleteGroupsResponse(results=rows)

    more: dict[type, Answer] = {
        ListGroupsRequest: lambda _: ListGroupsResponse(groups=listed),
        DeleteGroupsRequest: delete,
    }
    with fake_cluster(more) as server:
        access = find_cluster(server, DEADLINE_MS)
        assert access.clean_up("77ab") == ["conform-g-77ab1z"]
        access.close()
    assert asked == ["conform-g-77ab1z"]
