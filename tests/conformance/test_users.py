"""Users of a run at a fake cluster, whose nodes let everybody in."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.cluster_access import Access, find_cluster
from conformance.core.script import As
from conformance.core.security_forms import password_row, rule
from conformance.errors import ConformanceError
from conformance.users import Users, take_away
from protocol.errors import ErrorCode
from protocol.messages.acls import (
    AclCreationResult,
    AclDescription,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from protocol.messages.delegation_tokens import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from tests.conformance.fake_cluster import fake_cluster
from tests.deadlines import DEADLINE_MS
from tests.jbodlab.fake_node import Answer

ALICE = As("conform-alice-77ab", "secret")
SECURED = {29: (0, 3), 30: (0, 3), 31: (0, 3), 41: (0, 3), 51: (0, 0)}


def result(code: ErrorCode) -> Answer:
    row = AlterUserScramCredentialsResult(user="x", error_code=code, error_message=None)
    return lambda _: AlterUserScramCredentialsResponse(results=[row])


def acls_of(*principals: str) -> Answer:
    acls = [
        AclDescription(principal=each, host="*", operation=3, permission_type=3)
        for each in principals
    ]
    resource = DescribeAclsResource(resource_type=2, resource_name="t", acls=acls)
    return lambda _: DescribeAclsResponse(
        error_code=0, error_message="", resources=[resource] if acls else []
    )


async def access_to(server: str) -> Access:
    return await find_cluster(server, DEADLINE_MS)


def test_a_password_is_a_runs_own_and_stored_by_its_hash() -> None:
    one, other = (Access({}, {}, 1) for _ in range(2))
    assert one.password_of("a") == one.password_of("a") != one.password_of("b")
    assert one.password_of("a") != other.password_of("a")
    row = password_row(ALICE)
    assert (row["name"], row["mechanism"], row["iterations"]) == (ALICE.user, 1, 4096)
    assert ALICE.password not in str(row)


async def test_a_user_that_is_refused_is_told_with_its_code() -> None:
    more: dict[type, Answer] = {
        AlterUserScramCredentialsRequest: result(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    }
    with fake_cluster(more, announced=SECURED) as server:
        access = await access_to(server)
        with pytest.raises(ConformanceError, match="x was not made: CLUSTER_AUTHORIZATION_FAILED"):
            await Users(access).new("x")
        access.close()


async def test_acls_are_made_for_one_principal_and_waited_for_until_they_are_told() -> None:
    made: list[Any] = []
    looks = [acls_of(), acls_of(ALICE.principal)]

    def create(request: CreateAclsRequest) -> CreateAclsResponse:
        made.extend(request.creations)
        return CreateAclsResponse(results=[AclCreationResult(error_code=0, error_message="")])

    def describe(request: DescribeAclsRequest) -> Any:
        return looks.pop(0)(request)

    more: dict[type, Answer] = {CreateAclsRequest: create, DescribeAclsRequest: describe}
    with fake_cluster(more, announced=SECURED) as server:
        access = await access_to(server)
        await Users(access).allow(ALICE, [rule(2, "t", 3)])
        access.close()
    assert [(each.principal, each.resource_name) for each in made] == [(ALICE.principal, "t")]
    assert looks == []


async def test_without_an_authorizer_there_are_no_rights_to_judge() -> None:
    refused = AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message="")
    more: dict[type, Answer] = {CreateAclsRequest: lambda _: CreateAclsResponse(results=[refused])}
    with fake_cluster(more, announced=SECURED) as server:
        access = await access_to(server)
        with pytest.raises(ConformanceError, match="were not made: SECURITY_DISABLED"):
            await Users(access).allow(ALICE, [rule(2, "t", 3)])
        access.close()


async def test_acls_of_the_run_are_taken_away_and_no_others() -> None:
    gone: list[str | None] = []

    def delete(request: DeleteAclsRequest) -> DeleteAclsResponse:
        gone.extend(each.principal_filter for each in request.filters)
        row = DeleteAclsFilterResult(error_code=0, error_message=None, matching_acls=[])
        return DeleteAclsResponse(filter_results=[row])

    more: dict[type, Answer] = {
        DescribeAclsRequest: acls_of(ALICE.principal, "User:somebody"),
        DeleteAclsRequest: delete,
        DescribeDelegationTokenRequest: lambda _: DescribeDelegationTokenResponse(
            error_code=0, tokens=[]
        ),
    }
    with fake_cluster(more, announced=SECURED) as server:
        access = await access_to(server)
        assert await take_away(access, "77ab") == []
        access.close()
    assert gone == [ALICE.principal]
