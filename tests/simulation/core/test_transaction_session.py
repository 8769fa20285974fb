"""A producer says what Kafka's own producer said where it was recorded."""

from __future__ import annotations

from typing import Any

from protocol.ids import TopicPartition
from protocol.json_form import from_json, to_json
from protocol.messages.producer_ids import InitProducerIdResponse
from protocol.messages.transactions import EndTxnResponse
from protocol.records.build import NewRecord
from simulation.core.consumer_member import GroupMetadata
from simulation.core.history import ProducerRange
from simulation.core.transaction_session import TransactionSession
from tests.golden.vectors import load_vectors

TOPIC = bytes(range(16))
ORDERS = TopicPartition("orders", 0)


def recorded() -> list[dict[str, Any]]:
    return [one for one in load_vectors("java_clients") if one["client"] == "producer"]


def session() -> TransactionSession:
    return TransactionSession("payments", timeout_ms=60_000)


def test_what_it_asks_is_what_the_java_producer_asked():
    one = session()
    seen: list[str] = []
    for exchange in recorded():
        asked, answer, version = exchange["request"], exchange["response"], exchange["version"]
        match exchange["api"]:
            case "InitProducerId":
                assert to_json(one.initialize(), version) == asked
                one.initialized(from_json(InitProducerIdResponse, version, answer))
            case "Produce":
                (topic,) = asked["topicData"]
                request = one.produce(
                    TOPIC, 0, NewRecord(b"v"), one.number(ORDERS, 1), timeout_ms=asked["timeoutMs"]
                )
                mine = to_json(request, version)
                assert topic["partitionData"][0].keys() == {"index", "recordsSizeInBytes"}
                del mine["topicData"], asked["topicData"]
                assert mine == asked
            case "EndTxn":
                assert to_json(one.end(is_committed=asked["committed"]), version) == asked
                one.ended(from_json(EndTxnResponse, version, answer))
            case "TxnOffsetCommit":
                member = GroupMetadata(asked["groupId"], asked["memberId"], asked["generationId"])
                assert to_json(one.commit_offsets(member, {ORDERS: 1}), version) == asked
            case _:
                pass  # What belongs to groups.
        seen.append(f"{exchange['api']} v{version}")
    assert [each for each in seen if each.startswith("Add")] == []
    assert seen.count("EndTxn v5") == 3
    assert seen.count("TxnOffsetCommit v5") == 1


def test_sequences_go_on_in_a_transaction_and_begin_anew_in_the_next():
    one = session()
    one.initialized(InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=1))
    assert one.number(ORDERS, 2) == ProducerRange(7, 1, 0)
    assert one.number(ORDERS, 1) == ProducerRange(7, 1, 2)
    one.ended(EndTxnResponse(error_code=0, producer_id=7, producer_epoch=2))
    assert one.number(ORDERS, 1) == ProducerRange(7, 2, 0)
