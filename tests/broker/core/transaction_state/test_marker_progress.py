from __future__ import annotations

import pytest

from broker.core.transaction_state.marker_progress import MarkerFate, MarkerProgress, fate_of
from broker.core.transaction_state.shard import MarkersDue
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def progress() -> MarkerProgress:
    return MarkerProgress(MarkersDue("pay", 7, 0, True, (A0, A1), 0), coordinator_epoch=4)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_what_may_pass_is_asked_again(code: ErrorCode) -> None:
    markers = progress()
    assert markers.answered(A0, code) is MarkerFate.AGAIN
    assert list(markers.left) == [A0, A1]


def test_it_is_done_when_every_partition_has_its_marker() -> None:
    markers = progress()
    markers.answered(A0, ErrorCode.NONE)
    assert not markers.is_done
    markers.answered(A1, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    assert markers.is_done


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
def test_who_is_fenced_writes_no_more_and_completes_nothing(code: ErrorCode) -> None:
    markers = progress()
    assert markers.answered(A0, code) is MarkerFate.OVER
    markers.answered(A0, ErrorCode.NONE)
    markers.answered(A1, ErrorCode.NONE)
    assert not markers.is_done


def test_deleted_partitions_need_no_marker() -> None:
    markers = progress()
    markers.forget([A0, A1])
    assert markers.is_done
    assert fate_of(ErrorCode.NONE) is MarkerFate.WRITTEN
