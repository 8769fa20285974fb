"""The checkers of transactions catch a node that breaks what they check, and no other one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker.coordinators.shard_host import ShardHost
from broker.core.transaction_state.metadata import TransactionState
from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.workload.aiokafka_clients import AiokafkaConsumerWorkload
from simulation.workload.clients import addresses_of
from simulation.workload.committed_reader import CommittedReader
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.group_consumer import GroupConsumerSettings, GroupConsumerWorkload
from simulation.workload.java_transactions import JavaTransactionsWorkload
from simulation.workload.producer import ProducerSettings
from simulation.workload.transactional_producer import (
    TransactionalProducerWorkload,
    TransactionSettings,
)
from simulation.workload.transformer import TransformSettings, TransformWorkload
from simulation.world.foreign_clocks import foreign_clocks
from simulation.world.links import LinkRule
from tests.mutations import transaction_mutants
from tests.mutations.mutants import turn_into
from tests.mutations.trial import TP, Trial
from tests.simulation.world.worlds import sim_loop

pytestmark = pytest.mark.sampled_among(
    "checkers of transactions, with a mutant and without", kept=6
)

broken_or_not = pytest.mark.parametrize("is_broken", [False, True], ids=["real", "mutant"])
COMPACTED = {"cleanup.policy": "compact"}
SOON = "{transaction.abort.timed.out.transaction.cleanup.interval.ms: '500'}"


async def with_coordinators() -> Trial:
    """Return a cluster whose broker 1 coordinates all, and broker 2 after it."""
    trial = await Trial.begin(2, configs=SOON)
    await trial.create(CONSUMER_OFFSETS, 1, 2, configs=COMPACTED)
    await trial.create(TRANSACTION_STATE, 1, 2, configs=COMPACTED)
    await trial.create("results", 2)
    await asyncio.sleep(1)
    return trial


def host_of(trial: Trial, topic: str) -> ShardHost[Any]:
    """Return broker 1's coordinator."""
    running = trial.cluster.brokers[1].broker
    assert running is not None
    coordinators = running._parts.coordinators  # pyright: ignore[reportPrivateUsage]
    if topic == CONSUMER_OFFSETS:
        (host,) = coordinators.groups.hosts()
        return host
    (host,) = coordinators.transactions.shards.hosts()
    return host


def member(trial: Trial, name: str) -> GroupConsumerWorkload:
    settings = GroupConsumerSettings(topic="orders", group="readers")
    return GroupConsumerWorkload(addresses_of(trial.cluster.spec), name, trial.history, settings)


def payer(
    trial: Trial, number: int, *, records_max: int, aborts_every: int = 0, topic: str = "orders"
) -> TransactionalProducerWorkload:
    return TransactionalProducerWorkload(
        number,
        addresses_of(trial.cluster.spec),
        f"payer-{number}",
        trial.history,
        ProducerSettings(topic=topic, batch_records=2, records_max=records_max),
        TransactionSettings(aborts_every=aborts_every),
    )


async def java_payer(trial: Trial, *, aborts_every: int = 0, topic: str = "orders") -> None:
    """Write for a while in transactions of the second version."""
    settings = ProducerSettings(topic=topic, batch_records=2)
    writer = JavaTransactionsWorkload(
        1,
        trial.new_client("payer"),
        trial.history,
        settings,
        trial.clock,
        aborts_every=aborts_every,
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(writer.run())
        await asyncio.sleep(1)
        writer.stop()


async def read_committed(trial: Trial, seconds: float = 2) -> None:
    settings = ConsumerSettings(topic="orders", is_read_committed=True)
    addresses = addresses_of(trial.cluster.spec)
    reader = AiokafkaConsumerWorkload(addresses, "reader", trial.history, settings)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reader.run())
        await asyncio.sleep(seconds)
        reader.stop()


def cut_off(trial: Trial, one: str, other: str) -> list[LinkRule]:
    links = trial.loop.network.links
    return [
        links.add_rule(LinkRule(source=source, target=target, is_cut=True))
        for source, target in ((one, other), (other, one))
    ]


def join(trial: Trial, cuts: list[LinkRule]) -> None:
    for cut in cuts:
        trial.loop.network.links.remove_rule(cut)


async def until_prepared(trial: Trial) -> None:
    """Return when the coordinator has decided to commit and nobody else knows of it."""
    shard = host_of(trial, TRANSACTION_STATE).shard
    async with asyncio.timeout(60):
        while all(  # noqa: ASYNC110 - no event
            one.state is not TransactionState.PREPARE_COMMIT for one in shard.transactions()
        ):
            await asyncio.sleep(0.00002)


async def change_coordinator(trial: Trial) -> None:
    """End broker 1, whose decisions broker 2 has not heard for a while."""
    trial.cluster.brokers[1].kill()
    await trial.until_led(TopicPartition(TRANSACTION_STATE, 0), 2)
    trial.cluster.brokers[1].start()


@broken_or_not
async def test_a_commit_that_its_coordinator_aborts(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_coordinators()
        if is_broken:
            turn_into(transaction_mutants.AbortingShard, host_of(trial, TRANSACTION_STATE).shard)
        await payer(trial, 1, records_max=4).run()

        findings = await trial.findings()

    assert findings == (["transactions"] if is_broken else [])


@broken_or_not
async def test_commits_that_are_refused_without_need(is_broken: bool) -> None:
    trial = await with_coordinators()
    if is_broken:
        turn_into(transaction_mutants.RefusingShard, host_of(trial, TRANSACTION_STATE).shard)
    await java_payer(trial)

    findings = await trial.findings()

    assert findings == (["transactions"] if is_broken else [])


@broken_or_not
async def test_a_commit_that_is_answered_before_it_is_replicated(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_coordinators()
        if is_broken:
            turn_into(transaction_mutants.HastyHost, host_of(trial, TRANSACTION_STATE))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(payer(trial, 1, records_max=2).run())
            await until_prepared(trial)
            cuts = cut_off(trial, "broker-1", "broker-2")
            await asyncio.sleep(1)
            await change_coordinator(trial)
            join(trial, cuts)

        findings = await trial.findings()

    assert findings == (["transactions"] if is_broken else [])


@broken_or_not
async def test_markers_that_are_written_before_their_decision_is_replicated(
    is_broken: bool,
) -> None:
    """The next coordinator knows of no decision, and aborts where the marker is missing."""
    with foreign_clocks(sim_loop()):
        trial = await with_coordinators()
        await trial.admin.create_topic("bills", assignment=[(3,), (2,)])
        await trial.until_led(TopicPartition("bills", 1), 2)
        if is_broken:
            turn_into(transaction_mutants.EagerMarkers, host_of(trial, TRANSACTION_STATE))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(payer(trial, 1, records_max=2, topic="bills").run())
            await until_prepared(trial)
            cuts = cut_off(trial, "broker-1", "broker-2")
            cuts += cut_off(trial, "world", "broker-*")
            await asyncio.sleep(1)
            trial.cluster.brokers[1].kill()
            await asyncio.sleep(10)
            trial.cluster.brokers[1].start()
            join(trial, cuts)

        findings = await trial.findings()

    assert findings == (["transactions"] if is_broken else [])


@broken_or_not
async def test_offsets_that_are_answered_before_they_are_replicated(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_coordinators()
        if is_broken:
            turn_into(transaction_mutants.HastyHost, host_of(trial, CONSUMER_OFFSETS))
        first, then = member(trial, "first"), member(trial, "then")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(first.run())
            await asyncio.sleep(5)
            cuts = cut_off(trial, "broker-1", "broker-2")
            await trial.producer(records_max=5).run()
            await asyncio.sleep(1)
            await change_coordinator(trial)
            join(trial, cuts)
            first.stop()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(then.run())
            await asyncio.sleep(15)
            then.stop()

        findings = await trial.findings()

    assert findings == (["groups"] if is_broken else [])


@broken_or_not
async def test_aborted_records_that_readers_are_not_told_of(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_coordinators()
        if is_broken:
            ended = trial.replica(2, TP).partition.producers.ended
            turn_into(transaction_mutants.BlindToAborts, ended)
        await payer(trial, 1, records_max=8, aborts_every=2).run()
        await read_committed(trial)

        findings = await trial.findings()

    assert findings == (["polls"] if is_broken else [])


@broken_or_not
async def test_aborted_records_whose_marker_is_in_a_later_answer(is_broken: bool) -> None:
    trial = await with_coordinators()
    if is_broken:
        ended = trial.replica(2, TP).partition.producers.ended
        turn_into(transaction_mutants.ForgottenAborts, ended)
    await java_payer(trial, aborts_every=2)
    reading = ConsumerSettings(topic="orders", is_read_committed=True, max_bytes=1)
    reader = CommittedReader(trial.new_client("reader"), trial.history, reading)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reader.run())
        await asyncio.sleep(2)
        reader.stop()

    findings = await trial.findings()

    assert findings == (["polls"] if is_broken else [])


@broken_or_not
async def test_records_that_are_shown_before_their_marker_is_replicated(is_broken: bool) -> None:
    trial = await with_coordinators()
    bills = TopicPartition("bills", 0)
    await trial.create("bills", 2, 3)
    await asyncio.sleep(1)
    if is_broken:
        ended = trial.replica(2, bills).partition.producers.ended
        turn_into(transaction_mutants.HastyEnds, ended)
    trial.loop.network.links.add_rule(
        LinkRule(source="broker-2", target="broker-3", latency_us=100_000)
    )
    await java_payer(trial, topic="bills")

    findings = await trial.findings()

    assert findings == (["stable offsets"] if is_broken else [])


@broken_or_not
async def test_offsets_of_transactions_that_are_forgotten(is_broken: bool) -> None:
    settings = TransformSettings(
        topic="orders", group="tellers", writing=ProducerSettings(topic="results")
    )
    with foreign_clocks(sim_loop()):
        trial = await with_coordinators()
        if is_broken:
            shard = host_of(trial, CONSUMER_OFFSETS).shard
            turn_into(transaction_mutants.DroppedOffsets, shard.offsets)
        await trial.producer(records_max=5).run()
        for number in (11, 12):
            teller = TransformWorkload(
                number, addresses_of(trial.cluster.spec), "teller", trial.history, settings
            )
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(teller.run())
                await asyncio.sleep(5)
                teller.stop()

        findings = await trial.findings(heals=True)

    assert findings == (["settled", "groups", "processing"] if is_broken else [])


@broken_or_not
async def test_a_follower_that_takes_no_note_of_producers(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_coordinators()
        bills = TopicPartition("bills", 0)
        await trial.create("bills", 2, 3)
        await asyncio.sleep(1)
        if is_broken:
            states = trial.replica(3, bills).partition.producers.states
            turn_into(transaction_mutants.DeafStates, states)
        await payer(trial, 1, records_max=4, topic="bills").run()

        findings = await trial.findings()

    assert findings == (["producers"] if is_broken else [])
