"""What shards have and their logs have not is written down when it stays."""

from __future__ import annotations

from typing import Final

from broker.core.groups.group_offsets import Committed
from broker.core.groups.group_shard import GroupShard
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.shard import TransactionShard
from protocol.admin.groups import COMMIT_BY_NAME_VERSION_MAX
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from simulation.core.samples import Samples
from simulation.workload.coordinator import Coordinator, first_code_in
from simulation.workload.java_producer import JavaProducer
from simulation.workload.producer import ProducerSettings, sends_in_turn
from simulation.workload.progress import Progress
from simulation.world.node import BrokerNode
from simulation.world.shard_sampler import ShardSampler, differing, unended
from tests.simulation.workload.lab import TP, Lab

SECOND_US: Final = 1_000_000
GROUP: Final = "readers"
OTHER: Final = TopicPartition("bills", 0)


async def committed() -> tuple[BrokerNode, GroupShard]:
    """Commit an offset of a group; return the broker that coordinates it, and its shard."""
    lab = await Lab.running()
    row = OffsetCommitRequestPartition(
        partition_index=TP.partition, committed_offset=5, committed_metadata=""
    )
    topics = [OffsetCommitRequestTopic(name=TP.topic, partitions=[row])]
    request = OffsetCommitRequest(group_id=GROUP, topics=topics)
    coordinator = Coordinator(lab.client, GROUP, 0, Progress())
    await lab.create(TP.topic)
    told = await coordinator.insist(
        lambda: request, COMMIT_BY_NAME_VERSION_MAX, first_code_in, for_ms=60_000
    )
    assert told.code is ErrorCode.NONE
    broker = coordinator.broker
    assert broker is not None
    node = lab.cluster.brokers[broker]
    assert node.broker is not None
    shards = node.broker._parts.coordinators.groups  # pyright: ignore[reportPrivateUsage] - no broker shows its shards
    return node, shards.shard_of(GROUP)


async def test_a_shard_that_is_as_its_log_is_not_told_of() -> None:
    node, shard = await committed()
    assert shard.offsets.committed(GROUP)[TP].offset == 5
    assert differing(node) == []


async def test_what_stays_another_is_written_down() -> None:
    node, shard = await committed()
    samples = Samples()
    sampler = ShardSampler(node, samples)
    sampler.look(0)
    shard.offsets.put(GROUP, {OTHER: Committed(6, -1, "", 0)})

    sampler.look(2 * SECOND_US)
    assert samples.misloads == [], "it may be on its way to the log"
    sampler.look(3 * SECOND_US)

    ((at_us, text),) = samples.misloads
    assert at_us == 3 * SECOND_US
    assert f"broker {node.id} has offsets of __consumer_offsets-" in text


async def test_what_comes_into_the_log_is_not() -> None:
    node, shard = await committed()
    samples = Samples()
    sampler = ShardSampler(node, samples)
    sampler.look(0)
    shard.offsets.put(GROUP, {OTHER: Committed(6, -1, "", 0)})
    sampler.look(2 * SECOND_US)
    shard.offsets.delete(GROUP, [OTHER])
    for second in range(3, 20):
        sampler.look(second * SECOND_US)
    assert samples.misloads == []


async def test_a_broker_that_is_down_has_no_shards() -> None:
    node, shard = await committed()
    shard.offsets.put(GROUP, {OTHER: Committed(6, -1, "", 0)})
    assert differing(node)
    node.kill()
    assert differing(node) == ()


async def test_a_transaction_whose_markers_nobody_writes_is_told() -> None:
    lab = await Lab.running()
    await lab.create()
    producer = JavaProducer(lab.client, ProducerSettings(topic="orders"), lab.clock, Progress())
    assert await producer.initialize()
    assert await producer.partitions()
    assert isinstance(await producer.send(sends_in_turn(1, range(1), "orders", [0])), tuple)
    (node,) = [each for each in lab.cluster.brokers.values() if transactions_of(each)]
    assert unended(node) == []
    (shard,) = transactions_of(node)
    (known,) = shard.transactions()
    asked = EndAsked(known.producer_id, known.producer_epoch, True, 2)
    shard.end(0, known.transactional_id, asked, new_producer_id=-1, wall_ms=1)
    (text,) = unended(node)
    assert text.endswith("has client as PREPARE_COMMIT, and nobody writes its markers")
    node.kill()
    assert unended(node) == ()


def transactions_of(node: BrokerNode) -> list[TransactionShard]:
    """Return the shards of transactions that a broker has and that know of any."""
    assert node.broker is not None
    hosts = node.broker._parts.coordinators.transactions.shards.hosts()  # pyright: ignore[reportPrivateUsage] - as above
    return [host.shard for host in hosts if host.is_loaded and list(host.shard.transactions())]
