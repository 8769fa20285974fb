"""An examiner changes what a cluster keeps beside topics, and asks what could be done to it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from conformance.cluster_access import Access, Broker
from conformance.core.script import Form, To
from conformance.core.security_forms import CLUSTER, DENY, matching
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.messages.log_dirs import DescribeLogDirsRequest
from simulation.client_host import CLIENT_HOST, EXAMINER_HOST
from simulation.workload.examiner_orders import ExaminerOrders
from tests.simulation.workload.lab import Lab

AUTHORIZED = (
    f"{{authorizer.class.name: {STANDARD_AUTHORIZER}, allow.everyone.if.no.acl.found: true}}"
)


class Asked(Access):
    """Keeps what is asked, and its answers."""

    def __init__(self, lab: Lab) -> None:
        brokers = {each: Broker(each, *at) for each, at in lab.client.addresses.items()}
        super().__init__(brokers, {}, 1_500)
        self.asked: list[tuple[str, Form, Form]] = []

    async def request(self, api: str, form: Form, to: To = 1, **more: Any) -> Form:
        answer = await super().request(api, form, to, **more)
        self.asked.append((api, form, answer))
        return answer

    def of(self, api: str) -> list[tuple[Form, Form]]:
        return [(form, answer) for each, form, answer in self.asked if each == api]


@pytest.fixture
async def asked(lab: Lab) -> Asked:
    access = Asked(lab)
    await access.hear_versions()
    orders = ExaminerOrders(access, Random(1))
    for _ in range(120):
        await orders.order()
    await orders.end()
    access.close()
    return access


async def test_every_kind_is_ordered_and_values_of_few_names_change(asked: Asked) -> None:
    limits = Counter(
        (entry["entity"][0]["entityName"], op["key"], op["value"], op["remove"])
        for form, _ in asked.of("AlterClientQuotas")
        for entry in form["entries"]
        for op in entry["ops"]
    )
    assert len({each[:2] for each in limits}) == 4
    assert len({each[2] for each in limits if not each[3]}) == 3
    assert any(each[3] for each in limits)
    passwords = [form for form, _ in asked.of("AlterUserScramCredentials")]
    rows = [row for form in passwords for row in form["upsertions"]]
    assert len({row["saltedPassword"] for row in rows}) > 3
    assert {(row["name"], row["mechanism"]) for row in rows} > {("conform-user0-ex", 1)}
    assert any(form["deletions"] for form in passwords)
    groups = [form["resources"][0] for form, _ in asked.of("IncrementalAlterConfigs")]
    assert {each["resourceType"] for each in groups} == {32}
    assert {one["configOperation"] for each in groups for one in each["configs"]} == {0, 1}


async def test_what_is_only_asked_is_answered_and_not_done(lab: Lab) -> None:
    await lab.create("orders", partitions=2)
    access = Asked(lab)
    await access.hear_versions()
    orders = ExaminerOrders(access, Random(2))
    for _ in range(80):
        await orders.order()
    grown = [(form, answer["results"][0]) for form, answer in access.of("CreatePartitions")]
    assert any(answer["errorCode"] == 0 for _, answer in grown)
    assert all(form["validateOnly"] for form, _ in grown)
    made = access.of("CreateTopics")
    assert {form["validateOnly"] for form, _ in made} == {True, False}
    await access.clean_up("ex")
    found = (await access.request("Metadata", {"topics": None}))["topics"]
    assert {each["name"]: len(each["partitions"]) for each in found} == {"orders": 2}
    access.close()


async def test_the_examiner_alone_loses_rights_to_the_cluster_and_all_are_given_back() -> None:
    lab = Lab(configs=AUTHORIZED)
    await lab.cluster.start()
    access = Asked(lab)
    token = CLIENT_HOST.set(EXAMINER_HOST)
    await access.hear_versions()
    orders = ExaminerOrders(access, Random(1))
    for _ in range(80):
        await orders.order()
    CLIENT_HOST.reset(token)
    creations = [row for form, _ in access.of("CreateAcls") for row in form["creations"]]
    of_cluster = [row for row in creations if row["resourceType"] == CLUSTER]
    denied = {
        (row["operation"], row["host"]) for row in of_cluster if row["permissionType"] == DENY
    }
    assert len(denied) > 2
    assert {host for _, host in denied} == {EXAMINER_HOST}
    assert {row["host"] for row in creations if row["resourceType"] != CLUSTER} == {
        "*",
        EXAMINER_HOST,
    }
    answer = await lab.client.ask_any(DescribeLogDirsRequest(topics=None), 3)
    assert answer.error_code == 0
    await orders.end()
    left = await access.request("DescribeAcls", matching())
    assert left["resources"] == []
    access.close()
    await lab.cluster.stop()
