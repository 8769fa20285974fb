"""What becomes of each partition of a commit."""

from __future__ import annotations

import pytest

from broker.coordinators.offset_commits import commit_offsets
from broker.core.coordination import TransactionProducer
from broker.core.groups.group_shard import Commit, GroupShard, NewOffset
from broker.core.groups.membership import Committer
from broker.core.metadata_image import MetadataImage
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.engine.messages import ORDERS
from tests.broker.fake_shards import FakeShards

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE


def groups() -> FakeShards[GroupShard]:
    metadata = MetadataImage(broker_id=BrokerId(1))
    shard = GroupShard(broker_config({}), lambda: 1_000_000, metadata)
    return FakeShards(CONSUMER_OFFSETS, shard)


def commit(*metadata: str) -> Commit:
    offsets = [NewOffset(ORDERS, 5, 0, each) for each in metadata]
    return Commit("readers", Committer(is_transactional=False), offsets)


async def test_each_partition_gets_its_own_code_in_the_order_of_the_request() -> None:
    wanted = commit("", "x" * 5_000)
    codes = await commit_offsets(groups(), wanted, [UNKNOWN, NONE, UNKNOWN, NONE])
    assert codes == [UNKNOWN, NONE, UNKNOWN, TOO_LARGE]


async def test_a_refused_commit_is_refused_for_each_offset() -> None:
    away = groups()
    away.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    codes = await commit_offsets(away, commit("", ""), [NONE, UNKNOWN, NONE])
    assert codes == [ErrorCode.NOT_COORDINATOR, UNKNOWN, ErrorCode.NOT_COORDINATOR]


async def test_without_offsets_nobody_is_asked() -> None:
    away = groups()
    away.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    assert await commit_offsets(away, commit(), [UNKNOWN]) == [UNKNOWN]


@pytest.mark.parametrize("producer", [None, TransactionProducer(7, 3)])
async def test_a_transaction_is_looked_at_once_more_when_its_offsets_become_part_of_it(
    producer: TransactionProducer | None,
) -> None:
    looked_at: list[tuple[TopicPartition, TransactionProducer]] = []

    def check(tp: TopicPartition, of: TransactionProducer) -> None:
        looked_at.append((tp, of))
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)

    there = groups()
    wanted = commit("")._replace(producer=producer)
    codes = await commit_offsets(there, wanted, [NONE, UNKNOWN], check)
    home = there.partition_of("readers")
    assert looked_at == ([] if producer is None else [(home, producer)])
    assert codes == [NONE if producer is None else ErrorCode.INVALID_TXN_STATE, UNKNOWN]
    assert bool(there.shard.offsets.committed("readers")) is (producer is None)
