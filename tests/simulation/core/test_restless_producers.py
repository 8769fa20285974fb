"""Producers that contend for a transactional id: what they ask, and what they tell of it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.group_offsets import OffsetCommitRequest
from protocol.messages.offsets import ListOffsetsRequest
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
    EndTxnRequest,
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from protocol.wire.fast import codec
from simulation.core.history import History, Kind, Txn
from simulation.core.producer_requests import Identity, ProducerPlace, TransactionVersion
from simulation.core.restless_members import KnownTopic
from simulation.core.restless_producers import Book, Numbers, ProducerAsking, ProducerSide

PLACE = ProducerPlace("pay", "accounts", "notes", 500)
KNOWN = {"accounts": KnownTopic(b"a" * 16, 2)}
OTHERS = [Identity(99, 4)]


class Broker:
    """Answers everything well, or with one code; gives epochs of producer 5."""

    def __init__(self) -> None:
        self.code = ErrorCode.NONE
        self.epoch = 0
        self.offset = 0

    def answer(self, asking: ProducerAsking) -> Any:
        request: Any = asking.message
        code = self.code
        class_: type[Any] = asking.message.__class__
        codec(class_, asking.version).encode(request)  # It can be sent.
        match request:
            case InitProducerIdRequest():
                self.epoch += 1
                return InitProducerIdResponse(
                    error_code=code, producer_id=5, producer_epoch=self.epoch
                )
            case AddPartitionsToTxnRequest(v3_and_below_topics=[topic]):
                row = AddPartitionsToTxnPartitionResult(
                    partition_index=topic.partitions[0], partition_error_code=code
                )
                added = AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=[row])
                return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[added])
            case AddOffsetsToTxnRequest():
                return AddOffsetsToTxnResponse(error_code=code)
            case ProduceRequest():
                self.offset += 1
                row = PartitionProduceResponse(index=0, error_code=code, base_offset=self.offset)
                return ProduceResponse(responses=[TopicProduceResponse(partition_responses=[row])])
            case EndTxnRequest():
                self.epoch += 1
                is_told = asking.version == 5
                return EndTxnResponse(
                    error_code=code,
                    producer_id=5 if is_told else -1,
                    producer_epoch=self.epoch if is_told else -1,
                )
            case _:
                row = TxnOffsetCommitResponsePartition(partition_index=0, error_code=code)
                topic = TxnOffsetCommitResponseTopic(name="accounts", partitions=[row])
                return TxnOffsetCommitResponse(topics=[topic])


class Lab:
    def __init__(self, version: TransactionVersion, seed: int = 1) -> None:
        self.history = History(lambda: 0)
        self.broker = Broker()
        self.chance = Random(seed)
        book = Book(self.history, "contenders", Numbers(10), lambda: 1)
        self.side = ProducerSide(PLACE, version, book)
        self.asked: list[ProducerAsking] = []

    def step(self, *, is_lost: bool = False) -> ProducerAsking:
        asking = self.side.next(self.chance, KNOWN, OTHERS)
        self.asked.append(asking)
        if is_lost:
            asking.lost()
        else:
            assert asking.answered(self.broker.answer(asking)) is self.broker.code
        return asking

    def until(self, kind: type, *, count_max: int = 500) -> ProducerAsking:
        """Go on until such a request was answered."""
        for _ in range(count_max):
            asking = self.step()
            if isinstance(asking.message, kind):
                return asking
        raise AssertionError(f"no {kind.__name__}")

    def ends(self, kind: Kind) -> list[str]:
        return [one.error for one in self.history if one.kind is kind]


@pytest.mark.parametrize("version", [1, 2])
def test_a_producer_does_a_little_of_everything(version: TransactionVersion) -> None:
    lab = Lab(version)
    for _ in range(600):
        lab.step()
    kinds: Counter[type[Any]] = Counter(each.message.__class__ for each in lab.asked)
    wanted = [InitProducerIdRequest, ProduceRequest, EndTxnRequest, TxnOffsetCommitRequest]
    wanted += [OffsetCommitRequest, ListOffsetsRequest]
    assert all(kinds[each] > 5 for each in wanted)
    for kind in (AddPartitionsToTxnRequest, AddOffsetsToTxnRequest):
        assert (kinds[kind] > 5) == (version == 1)
    said = Counter(
        each.message.producer_id
        for each in lab.asked
        if isinstance(each.message, InitProducerIdRequest)
    )
    assert all(said[who] > 2 for who in (-1, 5, OTHERS[0].producer_id))
    assert not lab.side.is_out


def test_what_is_committed_was_acknowledged_and_is_told_with_its_offsets() -> None:
    lab = Lab(2)
    for _ in range(300):
        lab.step()
    told = [one.value for one in lab.history if one.kind is Kind.OK]
    assert len(told) > 10
    for txn in told:
        assert isinstance(txn, Txn)
        assert all(send.base_offset > 0 for send in txn.sends)
    assert "aborted" in lab.ends(Kind.FAIL)
    assert lab.ends(Kind.INFO) == []


def test_by_the_first_version_a_partition_is_told_of_before_its_record() -> None:
    lab = Lab(1)
    lab.until(EndTxnRequest)
    first = next(each for each in lab.asked if isinstance(each.message, ProduceRequest))
    before = [each.message for each in lab.asked[: lab.asked.index(first)]]
    added = [each for each in before if isinstance(each, AddPartitionsToTxnRequest)]
    told = [topic.partitions[0] for each in added for topic in each.v3_and_below_topics]
    assert first.message.topic_data[0].partition_data[0].index in told


def test_who_is_refused_haunts_for_a_while_and_its_transaction_failed() -> None:
    lab = Lab(2)
    lab.until(ProduceRequest)
    lab.broker.code = ErrorCode.INVALID_PRODUCER_EPOCH
    for _ in range(20):
        if not lab.side.is_out:
            lab.step()
    assert lab.side.is_out
    assert not lab.side.is_inside
    assert lab.ends(Kind.OK) == []


def test_a_refused_commit_may_have_happened() -> None:
    lab = Lab(2, seed=4)
    for _ in range(200):
        asking = lab.side.next(lab.chance, KNOWN, OTHERS)
        is_commit = isinstance(asking.message, EndTxnRequest) and asking.message.committed
        if is_commit and lab.side.is_inside:
            lab.broker.code = ErrorCode.INVALID_TXN_STATE
            asking.answered(lab.broker.answer(asking))
            break
        asking.answered(lab.broker.answer(asking))
    assert lab.ends(Kind.INFO) == ["INVALID_TXN_STATE"]
    assert not lab.side.is_inside


def test_after_a_lost_answer_another_epoch_is_asked_for_before_the_next_transaction() -> None:
    lab = Lab(1, seed=2)
    lab.until(ProduceRequest)
    while lab.side.is_inside:
        asking = lab.side.next(lab.chance, KNOWN, OTHERS)
        if isinstance(asking.message, EndTxnRequest):
            asking.lost()
        asking.answered(lab.broker.answer(asking))
    assert isinstance(lab.step().message, InitProducerIdRequest)


def test_who_ends_says_that_nobody_asked_to_commit_what_is_open() -> None:
    lab = Lab(2, seed=3)
    while not lab.side.is_inside:
        lab.step()
    lab.side.end()
    assert lab.ends(Kind.FAIL)[-1] == "given up"
    lab.side.end()
