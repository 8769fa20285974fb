"""ACLs: fetched whole, in force at once; the controller is asked again when it was away."""

from __future__ import annotations

import asyncio

from broker.lifecycle.acls import Acls, make_authorizer
from broker.lifecycle.controller_link import ControllerLink
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import AclOperation, AclResourceType
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode
from protocol.messages.acls import AclDescription, DescribeAclsRequest, DescribeAclsResource
from tests.broker.fake_controller import FakeController

ASKED = ("User:alice", "10.0.0.1", AclOperation.READ, AclResourceType.TOPIC, "t")
READ = DescribeAclsResource(
    resource_type=2,
    resource_name="t",
    pattern_type=3,
    acls=[AclDescription(principal="User:alice", host="*", operation=3, permission_type=3)],
)


async def test_what_the_controller_tells_is_in_force(
    controller: FakeController, link: ControllerLink
):
    authorizer = Authorizer()
    acls = Acls(link, authorizer)
    controller.acls = [READ]
    await acls.refresh()
    assert authorizer.is_allowed(*ASKED)
    controller.acls = []
    await acls.refresh()
    assert not authorizer.is_allowed(*ASKED)


async def test_a_controller_that_does_not_tell_leaves_what_was_known(
    controller: FakeController, link: ControllerLink
):
    authorizer = Authorizer()
    acls = Acls(link, authorizer)
    controller.acls = [READ]
    await acls.refresh()
    controller.acls_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    await acls.refresh()
    assert authorizer.is_allowed(*ASKED)


async def test_who_registers_waits_until_the_controller_has_told_its_acls(
    controller: FakeController, link: ControllerLink
):
    """A broker that knew none refused the controller's orders for good (seed 1010026)."""
    acls = Acls(link, Authorizer())
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(acls.until_answered())
        await asyncio.sleep(0)
        assert not waiting.done()
        await acls.refresh()
    await acls.until_answered()


async def test_without_an_authorizer_nothing_is_asked(
    controller: FakeController, link: ControllerLink
):
    acls = Acls(link, make_authorizer(broker_config({})))
    await acls.refresh()
    await acls.until_answered()
    assert controller.of(DescribeAclsRequest) == []


def test_the_authorizer_is_as_the_configuration_says() -> None:
    names = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:alice"}
    authorizer = make_authorizer(broker_config(names))
    assert authorizer is not None
    assert authorizer.is_allowed(*ASKED)
    assert not authorizer.is_allowed("User:bob", *ASKED[1:])


async def test_nobody_may_do_anything_before_the_controller_has_told_that_there_is_no_acl(
    controller: FakeController, link: ControllerLink
):
    names = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "allow.everyone.if.no.acl.found": "true",
    }
    acls = Acls(link, make_authorizer(broker_config(names)))
    assert acls.authorizer is not None
    controller.acls_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    await acls.refresh()
    assert not acls.authorizer.is_allowed(*ASKED)
    assert not acls.authorizer.is_allowed_somewhere(*ASKED[:-1])
    controller.acls_code = ErrorCode.NONE
    await acls.refresh()
    assert acls.authorizer.is_allowed(*ASKED)
