"""Outcomes of orders: whole and parts."""

from __future__ import annotations

import pytest

from protocol.admin.outcomes import Outcome, PartitionOutcomes
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
DONE = Outcome(ErrorCode.NONE)
REFUSED = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "why")


@pytest.mark.parametrize(("message", "text"), [("why", "why"), (None, "")])
def test_an_error_is_raised_with_the_message_that_there_is(message: str | None, text: str) -> None:
    with pytest.raises(KafkaError) as caught:
        Outcome(ErrorCode.NOT_CONTROLLER, message).check()
    assert (caught.value.code, caught.value.message) == (ErrorCode.NOT_CONTROLLER, text)
    DONE.check()


def test_an_error_of_the_whole_is_that_of_every_partition() -> None:
    outcomes = PartitionOutcomes(Outcome(ErrorCode.NOT_CONTROLLER), {T0: DONE, T1: REFUSED})
    assert outcomes.of(T0) == outcomes.of(T1) == outcomes.whole
    with pytest.raises(KafkaError, match="NOT_CONTROLLER"):
        outcomes.check()


def test_a_partition_that_is_left_out_fares_as_the_whole() -> None:
    outcomes = PartitionOutcomes(DONE, {T1: REFUSED})
    assert (outcomes.of(T0), outcomes.of(T1)) == (DONE, REFUSED)
    with pytest.raises(KafkaError, match="INVALID_REPLICA_ASSIGNMENT: why"):
        outcomes.check()
    PartitionOutcomes(DONE, {T0: DONE}).check()
