"""TxnOffsetCommit: offsets that are pending until their transaction ends."""

from __future__ import annotations

import pytest

from broker.core.coordination import TransactionProducer
from broker.core.transaction_state.verifying import Verifying
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.group_records import GroupMetadataValue, MemberMetadata
from protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.fakes import FakeBroker

ORDERS = TopicPartition("orders", 0)


def committing(*partitions: int) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest(
        transactional_id="pay",
        group_id="readers",
        producer_id=70,
        producer_epoch=0,
        topics=[
            TxnOffsetCommitRequestTopic(
                name="orders",
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=index, committed_offset=5, committed_metadata=None
                    )
                    for index in partitions
                ],
            )
        ],
    )


async def ask(broker: FakeBroker, version: int, *partitions: int) -> list[int]:
    response = await broker.ask(committing(*partitions), version)
    return [row.error_code for topic in response.topics for row in topic.partitions]


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("version", range(6))
async def test_offsets_count_when_the_transaction_is_committed(
    broker: FakeBroker, version: int, commits: bool
):
    assert await ask(broker, version, 0) == [ErrorCode.NONE]
    offsets = broker.groups.shard.offsets
    assert offsets.is_unstable("readers", ORDERS)
    assert ORDERS not in offsets.committed("readers")
    broker.groups.shard.replay_end(70, is_commit=commits)
    assert (ORDERS in offsets.committed("readers")) is commits


async def test_a_topic_without_partitions_is_not_answered_for(broker: FakeBroker):
    assert len((await broker.ask(committing(), 3)).topics) == 0


async def test_what_is_unknown_or_coordinated_elsewhere_is_told(broker: FakeBroker):
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await ask(broker, 3, 99, 0) == [unknown, ErrorCode.NONE]
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    assert await ask(broker, 3, 0, 99) == [ErrorCode.NOT_COORDINATOR, unknown]


@pytest.mark.parametrize(
    ("version", "how"),
    [(3, Verifying.FOR_OLD_CLIENT), (4, Verifying.FOR_NEW_CLIENT), (5, Verifying.ADDING)],
)
async def test_the_transaction_is_verified_first(broker: FakeBroker, version: int, how: Verifying):
    assert await ask(broker, version, 0) == [ErrorCode.NONE]
    tp = broker.groups.partition_of("readers")
    assert broker.verifier.asked == [("pay", how, (tp,))]
    assert broker.verifier.checked == [(tp, TransactionProducer(70, 0, broker.verifier.guard))]


@pytest.mark.parametrize("version", [3, 5])
async def test_what_is_not_verified_or_was_ended_since_changes_nothing(
    broker: FakeBroker, version: int
):
    broker.verifier.error = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert await ask(broker, version, 0) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    broker.verifier.error = None
    broker.verifier.marker_came = KafkaError(ErrorCode.INVALID_TXN_STATE)
    assert await ask(broker, version, 0) == [ErrorCode.INVALID_TXN_STATE]
    assert not broker.groups.shard.offsets.is_unstable("readers", ORDERS)


@pytest.mark.parametrize(("version", "is_asked"), [(4, False), (5, True)])
async def test_the_switch_ends_verification_but_not_the_adding(
    broker: FakeBroker, version: int, is_asked: bool
):
    broker.broker_configs.set({"transaction.partition.verification.enable": "false"})
    assert await ask(broker, version, 0) == [ErrorCode.NONE]
    assert bool(broker.verifier.asked) is is_asked


@pytest.mark.parametrize("version", range(6))
async def test_who_names_no_member_commits_though_the_group_has_members(
    broker: FakeBroker, version: int
):
    """Clients of old versions, and sarama of any, say for which group alone they commit."""
    member = MemberMetadata(member_id="m", client_id="c", client_host="h")
    broker.groups.shard.members.classic.replay(
        "readers",
        GroupMetadataValue(
            protocol_type="consumer", generation=1, protocol="range", leader="m", members=[member]
        ),
    )
    assert await ask(broker, version, 0) == [ErrorCode.NONE]
