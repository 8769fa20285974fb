"""Leaders verify transactions with their coordinators, over real logs and requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from broker.core.coordination import TransactionProducer
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import TransactionState
from broker.core.transaction_state.verifying import ToldCode, Verifying
from broker.core.transactions import EndMarker, build_marker
from broker.engine.types import ProducePart
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.records.build import BatchOptions
from tests.broker.coordinators.asking import until
from tests.broker.coordinators.conftest import OFFSETS, STATE
from tests.broker.engine.lab import NETWORK_S, Lab, LabClient
from tests.broker.engine.messages import ORDERS, records

OLD, NEW, ADDING = 8, 11, 12
"""Versions of Produce: from 11 on clients know TRANSACTION_ABORTABLE; 12 adds by itself."""


async def begun(lab: Lab) -> ProducerIdAndEpoch:
    told = await lab[2].transactions.begin(BeginAsked("pay", 60_000))
    assert told.error is ErrorCode.NONE
    return ProducerIdAndEpoch(told.producer_id, told.producer_epoch)


async def add(lab: Lab, producer: ProducerIdAndEpoch, tp: TopicPartition = ORDERS) -> None:
    code = await lab[2].transactions.shards.ask(
        "pay",
        lambda shard, waiter, _now_ms, wall_ms: shard.add_partitions(
            waiter, "pay", producer, [tp], client_transaction_version=0, wall_ms=wall_ms
        ),
    )
    assert code is ErrorCode.NONE


async def end(
    lab: Lab, producer: ProducerIdAndEpoch, *, version: int = 0, commits: bool = True
) -> ProducerIdAndEpoch:
    asked = EndAsked(*producer, is_commit=commits, client_transaction_version=version)
    told = await lab[2].transactions.end("pay", asked)
    assert told.error is ErrorCode.NONE
    return ProducerIdAndEpoch(told.producer_id, told.producer_epoch)


async def until_rested(lab: Lab) -> None:
    def rests() -> bool:
        known = lab[2].transactions.shards.shard_of("pay").get("pay")
        assert known is not None
        return known.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    await until(rests)


def batch(producer: ProducerIdAndEpoch, sequence: int) -> memoryview:
    options = BatchOptions(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    return records("v", options=options)


async def produce(
    lab: Lab, producer: ProducerIdAndEpoch, sequence: int, version: int = OLD
) -> ErrorCode:
    """Send one batch as a client of Produce ``version`` does."""
    part = PartitionProduceData(index=ORDERS.partition, records=batch(producer, sequence))
    request = ProduceRequest(
        transactional_id="pay",
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=ORDERS.topic, partition_data=[part])],
    )
    response = await LabClient(lab, 3, 1).request(request, version)
    return ErrorCode(response.responses[0].partition_responses[0].error_code)


async def commit_offset(lab: Lab, producer: ProducerIdAndEpoch, version: int) -> ErrorCode:
    offset = TxnOffsetCommitRequestPartition(
        partition_index=ORDERS.partition, committed_offset=5, committed_metadata=""
    )
    request = TxnOffsetCommitRequest(
        transactional_id="pay",
        group_id="readers",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(name=ORDERS.topic, partitions=[offset])],
    )
    response = await LabClient(lab, 3, 1).request(request, version)
    return ErrorCode(response.topics[0].partitions[0].error_code)


def verifications(lab: Lab) -> int:
    return sum(isinstance(message, AddPartitionsToTxnRequest) for _, _, message in lab.requests)


async def test_the_first_batch_of_a_transaction_is_verified_and_no_other(
    verifying_lab: Lab,
) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer)
    for sequence in range(3):
        assert await produce(lab, producer, sequence) is ErrorCode.NONE
    assert verifications(lab) == 1


@pytest.mark.parametrize(
    ("version", "code"),
    [(OLD, ErrorCode.INVALID_TXN_STATE), (NEW, ErrorCode.TRANSACTION_ABORTABLE)],
)
async def test_what_was_not_added_is_not_taken(
    verifying_lab: Lab, version: int, code: ErrorCode
) -> None:
    producer = await begun(verifying_lab)
    assert await produce(verifying_lab, producer, 0, version) is code
    assert await verifying_lab[1].log_end() == 0


async def test_a_late_batch_of_an_ended_transaction_is_not_taken(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer)
    assert await produce(lab, producer, 0) is ErrorCode.NONE
    await end(lab, producer, commits=False)
    await until_rested(lab)
    assert await produce(lab, producer, 1) is ErrorCode.INVALID_TXN_STATE
    assert await lab[1].log_end() == 2


async def test_without_the_switch_a_late_batch_hangs(verifying_lab: Lab) -> None:
    """As in Kafka: transaction.partition.verification.enable=false gives up the protection."""
    lab = verifying_lab
    producer = await begun(lab)
    lab[1].broker_configs.set({"transaction.partition.verification.enable": "false"})
    assert await produce(lab, producer, 0) is ErrorCode.NONE
    (entry,) = lab[1].engine.describe.producers(ORDERS)
    assert entry.transaction_first_offset == 0


async def test_a_marker_between_the_verification_and_the_append_is_not_overtaken(
    verifying_lab: Lab,
) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer)
    part = ProducePart(ORDERS, batch(producer, 0))
    (verified,) = await lab[1].verifier.verified([part], "pay", Verifying.FOR_OLD_CLIENT)
    assert isinstance(verified, ProducePart)
    abort = EndMarker(*producer, coordinator_epoch=0, is_commit=False)
    marker = ProducePart(ORDERS, memoryview(build_marker(abort, 5)), abort)
    results = await lab[1].engine.produces.produce([marker, verified], acks=-1, timeout_ms=30_000)
    codes = [result.error_code for result in results]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE]


async def test_a_coordinator_that_nobody_leads_makes_the_producer_try_again(
    verifying_lab: Lab,
) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer)
    lab.led[STATE].leader = -1
    lab.tell_metadata()
    assert await produce(lab, producer, 0) is ErrorCode.NOT_ENOUGH_REPLICAS


async def test_a_coordinator_that_is_cut_off_makes_the_producer_try_again(
    verifying_lab: Lab,
) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer)
    lab[2].is_reachable = False
    assert await produce(lab, producer, 0) is ErrorCode.NOT_ENOUGH_REPLICAS
    lab[2].is_reachable = True
    assert await produce(lab, producer, 0) is ErrorCode.NONE


async def test_who_leads_no_more_says_so_and_asks_nobody(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await lab.elect(ORDERS, 3, [1, 2, 3])
    assert await produce(lab, producer, 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert verifications(lab) == 0


async def test_records_of_two_producers_are_refused(verifying_lab: Lab) -> None:
    one = ProducerIdAndEpoch(5, 0)
    tps = [ORDERS, TopicPartition(ORDERS.topic, 1)]
    parts = [
        ProducePart(tp, batch(producer, 0))
        for tp, producer in zip(tps, (one, one._replace(producer_id=6)), strict=True)
    ]
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_ID_MAPPING"):
        await verifying_lab[1].verifier.verified(parts, "pay", Verifying.FOR_OLD_CLIENT)


async def test_requests_that_come_meanwhile_go_together(verifying_lab: Lab) -> None:
    """One request to a coordinator at a time; of one id the newest question counts."""
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer)

    async def ask(name: str) -> Sequence[ProducePart | ToldCode]:
        part = ProducePart(ORDERS, batch(producer, 0))
        return await lab[1].verifier.verified([part], name, Verifying.FOR_OLD_CLIENT)

    first = lab.begin(ask("pay"))
    await until(lambda: verifications(lab) == 1)
    told = await asyncio.gather(ask("pay"), ask("pay"), ask("other"))
    assert isinstance((await first)[0], ProducePart)
    codes = [part.code for parts in told for part in parts if isinstance(part, ToldCode)]
    assert codes == [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert verifications(lab) == 2


async def test_who_waits_is_told_when_the_broker_ends(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    part = ProducePart(ORDERS, batch(producer, 0))
    asking = lab.begin(lab[1].verifier.verified([part], "pay", Verifying.FOR_OLD_CLIENT))
    await asyncio.sleep(0)  # It is asked, and nobody has answered.
    lab[1].verifier.stop()
    (told,) = await asking
    assert isinstance(told, ToldCode)
    assert told.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert await produce(lab, producer, 0) is ErrorCode.NOT_ENOUGH_REPLICAS


# Transactions of version 2: the leader adds the partition.


async def test_a_producer_of_version_2_only_writes_and_ends(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    for _ in range(3):
        assert await produce(lab, producer, 0, ADDING) is ErrorCode.NONE
        assert await produce(lab, producer, 1, ADDING) is ErrorCode.NONE
        raised = await end(lab, producer, version=2)
        assert raised.producer_epoch == producer.producer_epoch + 1
        await until_rested(lab)
        producer = raised
    assert verifications(lab) == 3


async def test_a_leader_waits_for_the_end_of_the_transaction_before(verifying_lab: Lab) -> None:
    """CONCURRENT_TRANSACTIONS is not told while the markers take a moment only."""
    lab = verifying_lab
    producer = await begun(lab)
    assert await produce(lab, producer, 0, ADDING) is ErrorCode.NONE
    following = await end(lab, producer, version=2)
    assert await produce(lab, following, 0, ADDING) is ErrorCode.NONE


async def test_a_leader_does_not_wait_for_ever(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    away = TopicPartition("away", 0)
    await lab.create(away)
    await add(lab, producer, away)
    lab.led[away].leader = -1  # Its marker cannot be written.
    lab.tell_metadata()
    following = await end(lab, producer, version=2)
    before_s, before = asyncio.get_running_loop().time(), verifications(lab)
    assert await produce(lab, following, 0, ADDING) is ErrorCode.CONCURRENT_TRANSACTIONS
    waited_s, asked = asyncio.get_running_loop().time() - before_s, verifications(lab) - before
    assert asked == 6, "every 20 ms for 100 ms, as the two configs have it"
    assert waited_s == pytest.approx((asked - 1) * 0.02 + (asked + 1) * 2 * NETWORK_S, abs=1e-6)


async def test_a_fenced_instance_is_told_so_and_the_newest_one_goes_on(verifying_lab: Lab) -> None:
    lab = verifying_lab
    old = await begun(lab)
    newest = await begun(lab)
    assert await produce(lab, newest, 0, ADDING) is ErrorCode.NONE
    assert await produce(lab, old, 0, ADDING) is ErrorCode.INVALID_PRODUCER_EPOCH
    asked = verifications(lab)
    assert await produce(lab, newest, 1, ADDING) is ErrorCode.NONE
    assert verifications(lab) == asked


async def test_an_older_epoch_of_version_2_is_fenced(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    assert await produce(lab, producer, 0, ADDING) is ErrorCode.NONE
    await end(lab, producer, version=2)
    await until_rested(lab)
    assert await produce(lab, producer, 1, ADDING) is ErrorCode.INVALID_PRODUCER_EPOCH


# Offsets.


@pytest.mark.parametrize(("version", "code"), [(3, "INVALID_TXN_STATE"), (5, "NONE")])
async def test_offsets_are_verified_or_added(verifying_lab: Lab, version: int, code: str) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    assert await commit_offset(lab, producer, version) is ErrorCode[code]
    if version == 5:
        known = lab[2].transactions.shards.shard_of("pay").get("pay")
        assert known is not None
        assert known.partitions == (OFFSETS,)
    else:
        await add(lab, producer, OFFSETS)
        assert await commit_offset(lab, producer, version) is ErrorCode.NONE
    await end(lab, producer, version=2 if version == 5 else 0)
    await until_rested(lab)
    await until(lambda: bool(lab[1].groups.shard_of("readers").offsets.committed("readers")))


async def test_late_offsets_of_an_ended_transaction_are_not_taken(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer, OFFSETS)
    assert await commit_offset(lab, producer, 3) is ErrorCode.NONE
    await end(lab, producer, commits=False)
    await until_rested(lab)
    assert await commit_offset(lab, producer, 3) is ErrorCode.INVALID_TXN_STATE
    assert not lab[1].groups.shard_of("readers").offsets.is_unstable("readers", ORDERS)


# The moment of the append.


async def test_offsets_of_which_nobody_verifies_the_transaction_are_looked_at_no_more(
    verifying_lab: Lab,
) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    await add(lab, producer, OFFSETS)
    verified = await lab[1].verifier.verified_offsets(
        OFFSETS, "pay", producer, Verifying.FOR_OLD_CLIENT
    )
    lab[1].verifier.check(OFFSETS, verified)
    lab[1].verifier.check(OFFSETS, TransactionProducer(*producer))
    abort = EndMarker(*producer, coordinator_epoch=0, is_commit=False)
    marker = ProducePart(OFFSETS, memoryview(build_marker(abort, 5)), abort)
    await lab[1].engine.produces.produce([marker], acks=-1, timeout_ms=30_000)
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        lab[1].verifier.check(OFFSETS, verified)
    lab[1].verifier.check(OFFSETS, TransactionProducer(*producer))


async def test_what_is_no_part_of_a_transaction_goes_on_as_it_is(verifying_lab: Lab) -> None:
    lab = verifying_lab
    producer = await begun(lab)
    plain, damaged = ProducePart(ORDERS, records("v")), ProducePart(ORDERS, batch(producer, 0)[:30])
    for parts in ([plain], [damaged], []):
        told = await lab[1].verifier.verified(parts, "pay", Verifying.FOR_OLD_CLIENT)
        assert told == parts
    assert verifications(lab) == 0


async def test_of_several_partitions_each_goes_on_or_is_refused_by_itself(
    verifying_lab: Lab,
) -> None:
    lab = verifying_lab
    other = TopicPartition("bills", 0)
    await lab.create(other, replicas=[1, 2, 3])
    producer = await begun(lab)
    await add(lab, producer, other)
    parts = [ProducePart(tp, batch(producer, 0)) for tp in (ORDERS, other)]
    refused, taken = await lab[1].verifier.verified(parts, "pay", Verifying.FOR_NEW_CLIENT)
    assert isinstance(refused, ToldCode)
    assert refused.code is ErrorCode.TRANSACTION_ABORTABLE
    assert isinstance(taken, ProducePart)
    assert taken.guard is not None
    assert verifications(lab) == 1
