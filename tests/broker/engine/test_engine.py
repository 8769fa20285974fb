"""The whole engine: starting on what is found, stopping, failing over: the stories of KIP-112."""

from __future__ import annotations

import asyncio

import pytest

from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, offsets_of
from tests.broker.engine.node import Node
from tests.broker.engine.story import Story
from tests.broker.engine.transactions import aborted_of, end, read, three_transactions, write

NONE = ErrorCode.NONE


@pytest.mark.parametrize("is_clean", [True, False])
async def test_a_broker_comes_back_with_its_logs_epochs_and_high_watermarks(
    alone: Lab, is_clean: bool
) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b"])
    await alone.elect(ORDERS, 1, [1])
    await alone[1].produce("c")
    await asyncio.sleep(5.1)
    node = await alone.restart(1, is_clean=is_clean)
    await alone.elect(ORDERS, 1, [1])
    assert offsets_of(await node.fetch(0)) == [0, 2]
    assert node.replica().partition.epochs.entries == [(0, 0), (1, 2), (2, 3)]
    assert (await node.produce("d")).base_offset == 3


async def test_idempotent_producers_are_known_after_a_restart(alone: Lab) -> None:
    await alone.create(replicas=[1])
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
    await alone[1].produce("a", options=options)
    node = await alone.restart(1)
    await alone.elect(ORDERS, 1, [1])
    again = await node.produce("a", options=options)
    assert (again.error_code, again.base_offset, await node.log_end()) == (NONE, 0, 1)


@pytest.mark.scenario(67)
async def test_after_the_repair_and_a_restart_the_replica_is_back_in_the_isr(lab: Lab) -> None:
    await lab.create(min_insync_replicas="2")
    for number in range(5):
        await lab[1].produce(str(number))
    path = await lab[1].dir_of() or ""
    lab[1].disks[path].set_fault("eio")
    assert (await lab[1].produce("x")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    await lab.elect(ORDERS, 2, [2, 3])
    for number in range(5):
        assert (await lab[2].produce(str(number))).error_code == NONE
    node = await lab.restart(1, is_clean=False)
    assert await lab.tell(ORDERS, to=[1]) == {1: NONE}
    await asyncio.sleep(2)
    assert sorted(lab.led[ORDERS].isr) == [1, 2, 3]
    assert node.disk_bytes() == lab[2].disk_bytes()


@pytest.mark.scenario(54)
async def test_a_broker_with_a_broken_dir_leads_others_and_serves_alone(lab: Lab) -> None:
    """KIP-112, plan 2: a second topic lives on the good dir of the broken broker alone."""
    await lab.create()
    lab[1].disks[await lab[1].dir_of() or ""].set_fault("eio")
    await lab[1].produce("x")
    await lab.elect(ORDERS, 2, [2, 3])
    second = TopicPartition("second", 0)
    lab.led[second] = Led([1, 2, 3], 1, [1])
    lab[2].is_reachable = lab[3].is_reachable = False
    lab.tell_metadata()
    assert await lab.tell(second, is_new=True) == {1: NONE}
    for number in range(5):
        assert (await lab[1].produce(str(number), tp=second)).error_code == NONE
    assert offsets_of(await lab[1].fetch(0, tp=second)) == [0, 1, 2, 3, 4]


@pytest.mark.scenario(254)
async def test_under_load_a_log_dir_fails_and_nothing_acknowledged_is_lost(lab: Lab) -> None:
    await lab.create(min_insync_replicas="2")
    acknowledged: list[int] = []
    leader = lab[1]

    async def load() -> None:
        while True:
            result = await leader.produce(f"{len(acknowledged)}" * 50, timeout_ms=2_000)
            if result.error_code == NONE:
                acknowledged.append(result.base_offset)
            await asyncio.sleep(0.0001)

    loads = [lab.begin(load()) for _ in range(4)]
    await asyncio.sleep(0.1)
    lab[1].disks[await lab[1].dir_of() or ""].set_fault("eio")
    await asyncio.sleep(0.02)
    assert len(lab[1].events.failed) == 1
    leader = lab[2]
    await lab.elect(ORDERS, 2, [2, 3])
    before = len(acknowledged)
    await asyncio.sleep(0.2)
    for task in loads:
        task.cancel()
    assert len(acknowledged) > before > 10
    await asyncio.sleep(1)
    found = offsets_of(await lab[2].fetch(0, max_bytes=1 << 24))
    assert set(acknowledged) <= set(found)
    assert len(acknowledged) == len(set(acknowledged))
    assert lab[2].disk_bytes() == lab[3].disk_bytes()


async def test_a_start_notices_what_was_taken_away_while_no_broker_ran(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await asyncio.sleep(6)  # The checkpoints name it by then.
    alone[1].memory[alone[1].replica().log_dir].remove_tree("orders-0")
    node = await alone.restart(1)
    assert node.state.hosted.is_offline(ORDERS)
    assert await alone.tell(ORDERS) == {1: ErrorCode.KAFKA_STORAGE_ERROR}


async def test_a_stop_answers_those_who_wait(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    produce = lab.begin(lab[1].produce("a"))
    fetch = lab.begin(lab[1].fetch(0, max_wait_ms=60_000))
    await asyncio.sleep(0.01)
    await lab[1].engine.stop()
    assert (await produce).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    await fetch


async def test_new_topic_settings_hold_at_once(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node: Node = alone[1]
    node.topic_configs["orders"] = {"max.message.bytes": "100"}
    assert (await node.produce("x" * 200)).error_code == NONE
    node.engine.topic_configs_changed(["other"])
    assert (await node.produce("x" * 200)).error_code == NONE
    node.engine.topic_configs_changed(["orders"])
    assert (await node.produce("x" * 200)).error_code == ErrorCode.MESSAGE_TOO_LARGE


async def test_new_settings_of_the_broker_hold_for_its_topics_at_once(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node: Node = alone[1]
    node.config = broker_config({"message.max.bytes": "100"})
    node.engine.configure(node.config)
    assert (await node.produce("x" * 200)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert node.state.config is node.config


@pytest.mark.scenario(253, 254, 256, 257)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_random_story_loses_nothing_and_ends_with_equal_replicas(seed: int) -> None:
    overrides = {
        "log_segment_bytes": "4096",
        "replica_fetch_max_bytes": "2048",
        "log_segment_delete_delay_ms": "20000",
    }
    async with Lab.running(broker_count=3, dir_count=2, **overrides) as lab:
        story = Story(lab, seed)
        await story.tell(6)
        story.check()


async def test_followers_know_the_transactions_that_they_fetched(lab: Lab) -> None:
    await lab.create()
    await three_transactions(lab[1])
    await lab.elect(ORDERS, 2, [2, 3])
    result = await read(lab[2], max_wait_ms=5_000)
    assert offsets_of(result) == [0, 1, 2, 3, 4, 5]
    assert aborted_of(result) == [(1, 0)]
    assert (await end(lab[2], 3, commit=False)).error_code == NONE
    result = await read(lab[2], 6, max_wait_ms=5_000)
    assert offsets_of(result) == [6, 7, 8]
    assert aborted_of(result) == [(3, 6)]


@pytest.mark.parametrize("is_clean", [True, False])
async def test_transactions_survive_a_restart(alone: Lab, is_clean: bool) -> None:
    await alone.create(replicas=[1])
    await three_transactions(alone[1])
    node = await alone.restart(1, is_clean=is_clean)
    await alone.elect(ORDERS, 1, [1])
    result = await read(node)
    assert offsets_of(result) == [0, 1, 2, 3, 4, 5]
    assert aborted_of(result) == [(1, 0)]
    assert (await write(node, 3, 0)).base_offset == 6
    await end(node, 3, commit=False)
    assert aborted_of(await read(node, 6)) == [(3, 6)]
