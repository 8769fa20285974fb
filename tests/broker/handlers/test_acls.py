"""ACLs are the controller's: asked for at the client's version, refused where it is silent."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.acls.requests import EVERY_ACL
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsResponse,
)
from tests.broker.fakes import FakeBroker

CREATE = CreateAclsRequest(
    creations=[
        AclCreation(
            resource_type=2,
            resource_name="t",
            principal="User:alice",
            host="*",
            operation=3,
            permission_type=3,
        )
    ]
)
DELETE = DeleteAclsRequest(
    filters=[
        DeleteAclsFilter(
            resource_type_filter=1,
            resource_name_filter=None,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
    ]
)
CASES = [
    (EVERY_ACL, DescribeAclsResponse(error_message=None, resources=[])),
    (CREATE, CreateAclsResponse(results=[])),
    (DELETE, DeleteAclsResponse(filter_results=[])),
]


@pytest.mark.parametrize(("request_", "answer"), CASES)
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_the_controllers_answer_is_the_brokers(
    broker: FakeBroker, request_: Any, answer: Any, version: int
):
    broker.controller.answer = answer
    assert type(await broker.ask(request_, version)) is type(answer)
    ((forwarded, at_version, _),) = broker.controller.forwarded
    assert (type(forwarded), at_version) == (type(request_), version)


@pytest.mark.parametrize(("request_", "answer"), CASES)
async def test_a_silent_controller_is_told_in_each_place(
    broker: FakeBroker, request_: Any, answer: Any
):
    del answer
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    told = await broker.ask(request_, 3)
    places = getattr(told, "results", None) or getattr(told, "filter_results", None) or [told]
    assert [(each.error_code, each.error_message) for each in places] == [(7, "silent")]
