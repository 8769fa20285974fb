"""An examiner asks cases of ``conform``, gives and takes rights, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
from random import Random

import pytest

from protocol.acls.model import AclOperation, AclResourceType, PatternType, PermissionType
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.messages.acls import DescribeAclsRequest
from simulation.workload.examiner import ExaminerSettings, ExaminerWorkload
from tests.simulation.workload.lab import Lab

SETTINGS = ExaminerSettings(interval_ms=20, cases_max=25)
AUTHORIZED = (
    f"{{authorizer.class.name: {STANDARD_AUTHORIZER}, allow.everyone.if.no.acl.found: true}}"
)

EVERY_RIGHT = DescribeAclsRequest(
    resource_type_filter=AclResourceType.ANY,
    resource_name_filter=None,
    pattern_type_filter=PatternType.ANY,
    principal_filter=None,
    host_filter=None,
    operation=AclOperation.ANY,
    permission_type=PermissionType.ANY,
)


async def _examined(lab: Lab, seed: int) -> ExaminerWorkload:
    examiner = ExaminerWorkload(lab.new_client("examiner"), Random(seed), SETTINGS)
    async with asyncio.timeout(120):
        await examiner.run()
    return examiner


async def _left(lab: Lab) -> list[str]:
    view = await lab.client.view(None)
    return [each.name for each in view.topics if each.name.startswith("conform-")]


async def test_it_asks_so_many_cases_and_deletes_what_they_made(lab: Lab) -> None:
    examiner = await _examined(lab, 1)
    assert examiner.progress.acknowledged >= 20
    assert await _left(lab) == []


async def test_brokers_refuse_by_the_rights_that_it_gives_and_takes_all_of_them_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kafka.authorizer.logger")
    lab = Lab(configs=AUTHORIZED)
    await lab.cluster.start()
    examiner = await _examined(lab, 2)
    assert examiner.progress.acknowledged >= 20
    assert await _left(lab) == []
    rights = await lab.client.ask_any(EVERY_RIGHT, 3)
    assert not rights.resources
    assert any(" is Denied operation = " in each.message for each in caplog.records)
    await lab.cluster.stop()


async def test_one_that_finds_nobody_ends_when_it_is_stopped() -> None:
    lab = Lab()
    examiner = ExaminerWorkload(lab.new_client("examiner"), Random(3), SETTINGS)
    running = asyncio.get_running_loop().create_task(examiner.run())
    await asyncio.sleep(1)
    examiner.stop()
    async with asyncio.timeout(20):
        await running
    assert examiner.progress.acknowledged == 0
    assert examiner.progress.errors
