from __future__ import annotations

import asyncio

import pytest

from protocol.errors import KafkaError
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest
from simulation.loop_time import loop_now_us
from simulation.workload.clients import (
    METADATA_VERSION,
    ClusterClient,
    LeaderAndEpoch,
    addresses_of,
)
from simulation.workload.topic_answers import TopicAnswers
from tests.simulation.workload.lab import TP, Lab

_ASK = ApiVersionsRequest(client_software_name="t", client_software_version="1")


async def test_it_knows_leaders_and_partitions_by_metadata(lab: Lab) -> None:
    await lab.create(partitions=3, replication_factor=3)

    await lab.client.refresh("orders")

    assert [tp.partition for tp in lab.client.partitions("orders")] == [0, 1, 2]
    leader = lab.client.leader(TP)
    assert leader is not None
    assert leader.broker in (1, 2, 3)
    assert leader.epoch == 0
    assert lab.client.leader(TP._replace(partition=9)) is None


async def test_a_view_tells_what_one_broker_says(lab: Lab) -> None:
    await lab.create(replication_factor=3)

    view = await lab.client.view_of(2, ["orders"])

    assert view.broker == 2
    found = {each.id: (each.host, each.port) for each in view.brokers.values()}
    assert found == addresses_of(lab.cluster.spec)
    assert sorted(view.by_partition[TP].isr) == [1, 2, 3]
    assert len(view.topic_ids["orders"]) == 16
    assert (await lab.client.view()).by_partition.keys() == view.by_partition.keys()


async def test_brokers_are_asked_in_turn_and_the_dead_are_skipped(lab: Lab) -> None:
    lab.cluster.brokers[1].kill()

    asked = [(await lab.client.view()).broker for _ in range(4)]

    assert sorted(set(asked)) == [2, 3]
    assert asked[:2] == asked[2:]


async def test_nobody_answers_when_all_are_dead(lab: Lab) -> None:
    for broker in lab.cluster.brokers.values():
        broker.kill()

    with pytest.raises(ConnectionError, match="no broker answers"):
        await lab.client.view()


async def test_an_unknown_topic_is_an_error_of_kafka_s(lab: Lab) -> None:
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        await lab.client.refresh("orders")


async def test_an_unknown_broker_is_a_lost_connection(lab: Lab) -> None:
    with pytest.raises(ConnectionError, match="broker 9 was never heard of"):
        await lab.client.ask(9, _ASK, 3)


async def test_those_who_refresh_at_once_share_the_answer(lab: Lab) -> None:
    await lab.create()
    asked_before = lab.cluster.loop.network.segments_count
    await lab.client.refresh("orders")
    for_one = lab.cluster.loop.network.segments_count - asked_before

    await asyncio.gather(*(lab.client.refresh("orders") for _ in range(50)))

    assert lab.cluster.loop.network.segments_count - asked_before < for_one + 50


async def test_older_metadata_is_not_believed_but_that_of_a_topic_made_anew_is(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    await lab.client.refresh("orders")
    leader = lab.client.leader(TP)
    assert leader is not None
    lab.cluster.brokers[leader.broker].kill()
    await asyncio.sleep(10)
    await lab.client.refresh("orders")
    newer = lab.client.leader(TP)
    assert newer is not None
    assert newer.epoch > leader.epoch

    lab.cluster.brokers[leader.broker].start()
    await lab.cluster.until(lab.cluster.is_up, 60_000)
    await lab.admin.delete_topic("orders")
    await asyncio.sleep(1)
    await lab.create()

    await lab.client.refresh("orders")
    assert lab.client.leader(TP) in [LeaderAndEpoch(broker, 0) for broker in (1, 2, 3)]


async def test_a_broker_that_hangs_is_given_up_and_its_connection_with_it(lab: Lab) -> None:
    client = ClusterClient(addresses_of(lab.cluster.spec), "t", request_timeout_ms=500)
    await client.ask(1, _ASK, 3)
    lab.cluster.brokers[1].pause()

    with pytest.raises(TimeoutError):
        await client.ask(1, _ASK, 3)
    begun = await client.begin(2, _ASK, 3)
    lab.cluster.brokers[2].pause()
    with pytest.raises(TimeoutError):
        await begun.answer()

    lab.cluster.brokers[2].resume()
    assert (await (await client.begin(2, _ASK, 3)).answer()).error_code == 0
    lab.cluster.brokers[1].resume()


async def test_a_request_counts_as_asked_before_there_is_a_connection_for_it(lab: Lab) -> None:
    answers = TopicAnswers()
    client = ClusterClient(addresses_of(lab.cluster.spec), "t", topic_answers=answers)
    before_us = loop_now_us()

    await (await client.begin(1, MetadataRequest(topics=None), METADATA_VERSION)).answer()

    (view,) = answers.views
    assert view.asked_us == before_us < view.at_us
