"""Elections as they are asked for, and what the answers tell."""

from __future__ import annotations

from protocol.admin.elections import ElectionType, elect_outcomes, elect_request
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.elections import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_elections_are_asked_for_all_partitions_or_some() -> None:
    assert elect_request(ElectionType.PREFERRED, None, timeout_ms=7).topic_partitions is None
    some = elect_request(ElectionType.UNCLEAN, [T1, U0, T0], timeout_ms=7)
    assert (some.election_type, some.timeout_ms) == (1, 7)
    assert [(each.topic, list(each.partitions)) for each in some.topic_partitions or ()] == [
        ("t", [1, 0]),
        ("u", [0]),
    ]


def test_an_election_has_an_outcome_for_each_partition_that_is_answered() -> None:
    result = PartitionResult(partition_id=1, error_code=84, error_message="why")
    answer = ElectLeadersResponse(
        error_code=0,
        replica_election_results=[ReplicaElectionResult(topic="t", partition_result=[result])],
    )
    outcomes = elect_outcomes(answer)
    assert outcomes.of(T1) == (ErrorCode.ELECTION_NOT_NEEDED, "why")
    assert outcomes.of(T0) == (ErrorCode.NONE, None)
