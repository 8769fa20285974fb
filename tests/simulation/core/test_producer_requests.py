"""Requests of producers of transactions: who they say they are, and by which version."""

from __future__ import annotations

from protocol.ids import TopicPartition
from protocol.records.batch import iterate_batches
from simulation.core import producer_requests as requests
from simulation.core.producer_requests import Identity, ProducerPlace, RecordAt

TP = TopicPartition("accounts", 1)
PLACE = ProducerPlace("pay", "accounts", "notes", 500)
WHO = Identity(7, 3)


def test_each_request_names_the_id_and_who_has_it() -> None:
    for request in (
        requests.initializing(PLACE, WHO),
        requests.adding_offsets(PLACE, WHO),
        requests.committing(PLACE, WHO, 5),
        requests.ending(PLACE, WHO, is_committed=True),
    ):
        assert request.transactional_id == "pay"
        assert (request.producer_id, request.producer_epoch) == WHO
    added = requests.adding(PLACE, WHO, TP)
    assert added.v3_and_below_transactional_id == "pay"
    assert (added.v3_and_below_producer_id, added.v3_and_below_producer_epoch) == WHO


def test_who_has_nothing_says_so() -> None:
    request = requests.initializing(PLACE, Identity())
    assert (request.producer_id, request.producer_epoch) == (-1, -1)
    assert request.transaction_timeout_ms == PLACE.timeout_ms


def test_a_record_is_part_of_a_transaction() -> None:
    request = requests.producing(PLACE, WHO, RecordAt(TP, 40, 2), b"i" * 16, now_ms=9)
    (topic,) = request.topic_data
    (part,) = topic.partition_data
    assert (topic.name, topic.topic_id, part.index) == ("accounts", b"i" * 16, 1)
    assert isinstance(part.records, (bytes, bytearray, memoryview))
    ((_, header),) = iterate_batches(memoryview(part.records))
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 2)


def test_the_end_is_that_of_who_reads_committed_records() -> None:
    request = requests.asking_for_the_end(TP)
    assert request.isolation_level == 1
    assert request.topics[0].partitions[0].timestamp == -1


def test_a_commit_beside_transactions_is_of_no_member() -> None:
    request = requests.committing_at_once(PLACE, 8)
    assert (request.group_id, request.member_id) == ("notes", "")
    assert request.generation_id_or_member_epoch == -1
