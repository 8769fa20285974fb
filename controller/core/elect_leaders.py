"""ElectLeaders: elections that an administrator asks for. Answers once every broker knows.

Source: KafkaController.processReplicaLeaderElection (3.9).
"""

from __future__ import annotations

from typing import Final

from controller.core.effects import Answer
from controller.core.election import Strategy
from controller.core.events import RequestArrived
from controller.core.partition_moves import bring_online
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_STRATEGIES: Final = {0: Strategy.PREFERRED, 1: Strategy.OFFLINE_UNCLEAN}
_FAILURES: Final = {
    Strategy.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    Strategy.OFFLINE_UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}
_Codes = dict[TopicPartition, ErrorCode]


def elect_leaders(step: Step, event: RequestArrived) -> None:
    """Serve ElectLeaders v0-2."""
    request: ElectLeadersRequest = event.request
    strategy = _STRATEGIES.get(request.election_type if event.version >= 1 else 0)
    tps = _wanted(step, request)
    if strategy is None:
        codes = dict.fromkeys(tps, ErrorCode.INVALID_REQUEST)
        step.answer(event.token, _response(codes, ErrorCode.INVALID_REQUEST))
        return
    codes = {tp: _verdict(step, tp, strategy) for tp in tps}
    electable = [tp for tp, code in codes.items() if code is ErrorCode.NONE]
    outcome = bring_online(step, electable, strategy) if electable else {}
    for tp in electable:
        if not outcome.get(tp, False):
            codes[tp] = _FAILURES[strategy]
    if request.topic_partitions is None:
        codes = {tp: c for tp, c in codes.items() if c is not ErrorCode.ELECTION_NOT_NEEDED}
    _answer(step, event, codes, is_waiting=any(outcome.values()))


def _wanted(step: Step, request: ElectLeadersRequest) -> list[TopicPartition]:
    if request.topic_partitions is None:
        return step.state.led_partitions()
    named = (
        TopicPartition(topic.topic, number)
        for topic in request.topic_partitions
        for number in topic.partitions
    )
    return list(dict.fromkeys(named))


def _verdict(step: Step, tp: TopicPartition, strategy: Strategy) -> ErrorCode:
    partition = step.state.find(tp)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if step.state.is_deleting(tp.topic):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if strategy is Strategy.PREFERRED:
        is_needed = partition.leader != partition.replicas[0]
    else:
        is_needed = not step.state.is_live(partition.leader)  # Nor is NO_LEADER.
    return ErrorCode.NONE if is_needed else ErrorCode.ELECTION_NOT_NEEDED


def _answer(step: Step, event: RequestArrived, codes: _Codes, *, is_waiting: bool) -> None:
    request: ElectLeadersRequest = event.request
    done = Answer(event.token, _response(codes, ErrorCode.NONE))
    if not is_waiting:
        step.effects.append(done)
        return
    late_codes = {
        tp: ErrorCode.REQUEST_TIMED_OUT if code is ErrorCode.NONE else code
        for tp, code in codes.items()
    }
    late = Answer(event.token, _response(late_codes, ErrorCode.NONE))
    if request.timeout_ms <= 0:
        step.effects.append(late)
    else:
        step.when_told(done, late=late, deadline_ms=step.now_ms + request.timeout_ms)


def _response(codes: _Codes, code: ErrorCode) -> ElectLeadersResponse:
    by_topic: dict[str, list[PartitionResult]] = {}
    for tp, partition_code in codes.items():
        by_topic.setdefault(tp.topic, []).append(
            PartitionResult(
                partition_id=tp.partition,
                error_code=partition_code,
                error_message=_MESSAGES.get(partition_code),
            )
        )
    return ElectLeadersResponse(
        error_code=code,
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=results)
            for topic, results in by_topic.items()
        ],
    )


_MESSAGES: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "The partition does not exist.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "The topic is being deleted",
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: (
        "Eligible topic partition leaders are not available."
    ),
    ErrorCode.INVALID_REQUEST: "Unknown election type.",
}
