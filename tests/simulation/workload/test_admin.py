from __future__ import annotations

import asyncio

import pytest

from protocol.admin.elections import ElectionType
from protocol.configs.types import ALL_BROKERS, ResourceType
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.offsets import EARLIEST
from simulation.core.history import Function, Kind, Order
from simulation.workload import questions
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.links import LinkRule
from tests.simulation.workload.lab import TP, Lab


async def test_a_topic_is_created_where_it_was_told_to(lab: Lab) -> None:
    code = await lab.admin.create_topic(
        "orders", assignment=[(3, 1), (2, 3)], configs={"min.insync.replicas": "2"}
    )
    await lab.until_led("orders")

    assert code is ErrorCode.NONE
    view = await lab.client.view(["orders"])
    assert [each.replicas for each in view.by_partition.values()] == [(3, 1), (2, 3)]
    found = await questions.configs(lab.client, ResourceType.TOPIC, "orders")
    assert found["min.insync.replicas"] == "2"


async def test_orders_are_written_down_with_what_became_of_them(lab: Lab) -> None:
    assert await lab.admin.create_topic("orders") is ErrorCode.NONE
    assert await lab.admin.create_topic("orders") is ErrorCode.TOPIC_ALREADY_EXISTS

    begun, done, again, refused = lab.history
    assert [each.kind for each in lab.history] == [Kind.INVOKE, Kind.OK, Kind.INVOKE, Kind.FAIL]
    assert {each.value for each in lab.history} == {Order("orders", partitions=1)}
    assert begun.function is done.function is again.function is Function.CREATE_TOPIC
    assert refused.error == "TOPIC_ALREADY_EXISTS"


async def test_an_order_that_nobody_answers_may_have_happened(lab: Lab) -> None:
    for broker in lab.cluster.brokers.values():
        broker.kill()

    with pytest.raises(ConnectionError):
        await lab.admin.delete_topic("orders")

    assert lab.ended(Function.DELETE_TOPIC, Kind.INFO)[0].error == "no broker answers"


async def test_one_that_is_refused_when_another_broker_may_have_done_it_may_have_happened(
    lab: Lab,
) -> None:
    """The answer of the first broker is lost; the next one finds the topic there."""
    for _ in lab.cluster.brokers:
        await lab.admin.delete_topic("none")  # Now there is a connection to each.
    links = lab.cluster.loop.network.links
    lost = links.add_rule(LinkRule(source="broker-1", target="world", is_cut=True))

    assert await lab.admin.create_topic("orders") is ErrorCode.TOPIC_ALREADY_EXISTS
    links.remove_rule(lost)
    assert await lab.admin.create_topic("orders") is ErrorCode.TOPIC_ALREADY_EXISTS

    ends = [each.kind for each in lab.history if each.function is Function.CREATE_TOPIC][1::2]
    assert ends == [Kind.INFO, Kind.FAIL]


async def test_one_that_is_given_up_may_have_happened(lab: Lab) -> None:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(lab.admin.delete_topic("orders"))
        await asyncio.sleep(0)
        asked.cancel()

    (given_up,) = lab.ended(Function.DELETE_TOPIC, Kind.INFO)
    assert given_up.error == "CancelledError"


async def test_partitions_are_added(lab: Lab) -> None:
    await lab.create()

    assert await lab.admin.create_partitions("orders", 3, [(1,), (2,)]) is ErrorCode.NONE
    assert await lab.admin.create_partitions("orders", 2) is ErrorCode.INVALID_PARTITIONS

    assert len((await lab.client.view(["orders"])).partitions) == 3


async def test_a_topic_is_deleted(lab: Lab) -> None:
    await lab.create()

    assert await lab.admin.delete_topic("orders") is ErrorCode.NONE
    assert await lab.admin.delete_topic("none") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_configurations_of_topics_and_brokers_are_set_and_taken_off(lab: Lab) -> None:
    await lab.create()
    admin, client = lab.admin, lab.client
    topic, broker = ResourceType.TOPIC, ResourceType.BROKER

    assert await admin.alter_configs(topic, "orders", {"retention.ms": "77"}) is ErrorCode.NONE
    assert (await questions.configs(client, topic, "orders"))["retention.ms"] == "77"
    assert await admin.alter_configs(topic, "orders", {"retention.ms": None}) is ErrorCode.NONE
    assert (await questions.configs(client, topic, "orders"))["retention.ms"] != "77"
    cordon = {"cordoned.log.dirs": lab.path(2, 1)}
    assert await admin.alter_configs(broker, "2", cordon) is ErrorCode.NONE
    assert (await questions.configs(client, broker, "2"))["cordoned.log.dirs"] == lab.path(2, 1)
    threads = {"background.threads": "none"}
    assert await admin.alter_configs(broker, ALL_BROKERS, threads) is ErrorCode.INVALID_REQUEST


async def test_replicas_are_moved_to_another_log_dir(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    dirs = await questions.log_dirs(lab.client, 2)
    (at,) = [each.path for each in dirs if each.replicas]
    (other,) = [each.path for each in dirs if not each.replicas]

    assert await lab.admin.move_replicas(2, other, [TP]) == {TP: ErrorCode.NONE}
    assert await lab.admin.move_replicas(2, "/no", [TP]) == {TP: ErrorCode.LOG_DIR_NOT_FOUND}

    assert at != other
    assert [each.value for each in lab.ended(Function.MOVE)] == [
        Order("orders", 0, broker=2, log_dir=other)
    ]


async def test_partitions_are_reassigned_and_that_is_taken_back(lab: Lab) -> None:
    await lab.admin.create_topic("orders", assignment=[(1,)])
    other = TopicPartition("orders", 9)

    codes = await lab.admin.reassign({TP: (2,), other: (2,)})

    assert codes == {TP: ErrorCode.NONE, other: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    await lab.until_led("orders", 2)
    assert await questions.reassignments(lab.client) == []
    assert await lab.admin.reassign({TP: None}) == {TP: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}
    assert lab.ended(Function.REASSIGN)[0].value == Order("orders", 0, assignment=((2,),))


async def test_leaders_are_elected(lab: Lab) -> None:
    await lab.create(replication_factor=3)

    codes = await lab.admin.elect([TP])

    assert codes == {TP: ErrorCode.ELECTION_NOT_NEEDED}
    assert await lab.admin.elect([TP], ElectionType.UNCLEAN) == codes
    assert [each.error for each in lab.ended(Function.ELECT, Kind.FAIL)] == [
        "ELECTION_NOT_NEEDED"
    ] * 2


async def test_records_are_deleted(lab: Lab) -> None:
    await lab.create()
    settings = ProducerSettings(topic="orders", records_max=5)
    await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()

    assert await lab.admin.delete_records(TP, 3) is ErrorCode.NONE
    assert await lab.admin.delete_records(TP, 99) is ErrorCode.OFFSET_OUT_OF_RANGE
    nobody = TopicPartition("orders", 7)
    assert await lab.admin.delete_records(nobody, 1) is ErrorCode.LEADER_NOT_AVAILABLE

    leader = (await lab.client.view()).by_partition[TP].leader
    found = await questions.list_offsets(lab.client, leader, [TP], EARLIEST)
    assert found == {TP: 3}
