"""The coordinators of a broker share one life."""

from __future__ import annotations

import asyncio

import pytest

from broker.coordinators.coordinators import ResourceConfigs, make_coordinators
from broker.core.transaction_state.begin import BeginAsked
from protocol.errors import ErrorCode, KafkaError
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.broker.engine.lab import Lab


async def never() -> int:
    raise AssertionError("nobody begins")


async def test_what_is_not_led_here_is_coordinated_elsewhere(lab: Lab) -> None:
    node = lab.nodes[1]
    made = make_coordinators(
        node.engine,
        node.config,
        record_turns=node.record_turns,
        configs=ResourceConfigs(node.topic_config),
        next_producer_id=never,
        cluster_release=None,
    )
    topics = made.groups.topic, made.transactions.shards.topic
    assert topics == (CONSUMER_OFFSETS, TRANSACTION_STATE)
    async with asyncio.TaskGroup() as tasks:
        made.run(tasks)
        with pytest.raises(KafkaError) as caught:
            await made.transactions.begin(BeginAsked("pay", 1_000))
        assert caught.value.code is ErrorCode.NOT_COORDINATOR
        made.stop()
