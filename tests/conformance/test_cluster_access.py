from __future__ import annotations

from typing import Any

import pytest

from conformance.cluster_access import find_cluster
from conformance.core.script import CONTROLLER, Coordinator, Node
from conformance.errors import AddressError, ConformanceError, NoClusterError
from protocol.messages.groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from protocol.messages.metadata import MetadataRequest
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntityData,
    AlterClientQuotasResponseEntryData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from tests.conformance.fake_cluster import ANNOUNCED, BROKER_ID, fake_cluster
from tests.deadlines import DEADLINE_MS
from tests.jbodlab.fake_node import Answer

QUOTAS = DescribeClientQuotasResponse(
    error_message=None,
    entries=[
        EntryData(
            entity=[EntityData(entity_type="client-id", entity_name=name)],
            values=[ValueData(key="producer_byte_rate", value=1000.0)],
        )
        for name in ("conform-c-77ab1z", "theirs", None)
    ],
)
USERS = DescribeUserScramCredentialsResponse(
    error_message=None,
    results=[
        DescribeUserScramCredentialsResult(
            user=name,
            error_message="",
            credential_infos=[CredentialInfo(mechanism=each, iterations=4096) for each in (1, 2)],
        )
        for name in ("conform-u-77ab2z", "theirs")
    ],
)


async def test_a_cluster_is_found_by_one_broker_and_asked_in_versions_that_both_know() -> None:
    with fake_cluster() as server:
        access = await find_cluster(server, DEADLINE_MS)
        assert access.announced == ANNOUNCED
        assert list(access.brokers) == [BROKER_ID]
        assert access.version_of("Metadata") == 12
        for to in (1, CONTROLLER, Node(7), Coordinator("g")):
            assert (await access.broker(to)).id == BROKER_ID
        with pytest.raises(ConformanceError, match="does not announce Fetch"):
            access.version_of("Fetch")
        access.close()


async def test_who_is_no_broker_is_told_so_in_one_line() -> None:
    with pytest.raises(AddressError, match="is not HOST:PORT"):
        await find_cluster("localhost", DEADLINE_MS)
    with (
        fake_cluster({MetadataRequest: lambda _: None}) as server,
        pytest.raises(NoClusterError, match="does not answer as a Kafka broker"),
    ):
        await find_cluster(server, 2000)


async def test_only_groups_of_this_run_are_deleted_and_what_is_left_is_told() -> None:
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
        access = await find_cluster(server, DEADLINE_MS)
        assert await access.clean_up("77ab") == ["conform-g-77ab1z"]
        access.close()
    assert asked == ["conform-g-77ab1z"]


def _refused(entry: AlterClientQuotasRequestEntryData) -> AlterClientQuotasResponseEntryData:
    (asked,) = entry.entity
    of = AlterClientQuotasResponseEntityData(
        entity_type=asked.entity_type, entity_name=asked.entity_name
    )
    return AlterClientQuotasResponseEntryData(error_code=42, error_message="no", entity=[of])


async def test_a_group_that_went_with_its_last_offset_is_not_left() -> None:
    listed = [ListedGroup(group_id="conform-g-77ab1z")]
    gone = [DeletableGroupResult(group_id="conform-g-77ab1z", error_code=69)]
    more: dict[type, Answer] = {
        ListGroupsRequest: lambda _: ListGroupsResponse(groups=listed),
        DeleteGroupsRequest: lambda _: DeleteGroupsResponse(results=gone),
    }
    with fake_cluster(more) as server:
        access = await find_cluster(server, DEADLINE_MS)
        assert await access.clean_up("77ab") == []
        access.close()


async def test_quotas_and_passwords_of_this_run_are_taken_away_and_what_is_left_is_told() -> None:
    asked: list[Any] = []

    def alter(request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
        asked.extend(request.entries)
        return AlterClientQuotasResponse(entries=[_refused(each) for each in request.entries])

    def delete(request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
        asked.extend(request.deletions)
        (row,) = request.deletions
        result = AlterUserScramCredentialsResult(
            user=row.name, error_code=0 if row.mechanism == 1 else 91, error_message=None
        )
        return AlterUserScramCredentialsResponse(results=[result])

    more: dict[type, Answer] = {
        DescribeClientQuotasRequest: lambda _: QUOTAS,
        AlterClientQuotasRequest: alter,
        DescribeUserScramCredentialsRequest: lambda _: USERS,
        AlterUserScramCredentialsRequest: delete,
    }
    announced = {48: (0, 1), 49: (0, 1), 50: (0, 0), 51: (0, 0)}
    with fake_cluster(more, announced=announced) as server:
        access = await find_cluster(server, DEADLINE_MS)
        assert await access.clean_up("77ab") == ["conform-c-77ab1z", "conform-u-77ab2z"]
        access.close()
    assert [each.entity[0].entity_name for each in asked[:1]] == ["conform-c-77ab1z"]
    assert [(each.key, each.remove) for each in asked[0].ops] == [("producer_byte_rate", True)]
    assert [(each.name, each.mechanism) for each in asked[1:]] == [
        ("conform-u-77ab2z", 1),
        ("conform-u-77ab2z", 2),
    ]
