"""AlterPartitionReassignments and ListPartitionReassignments: answers as soon as it is decided.

What happens then is in ``reassignment``. Source: KafkaController.processApiPartitionReassignment,
processListPartitionReassignments (3.9).
"""

from __future__ import annotations

from controller.core.events import RequestArrived
from controller.core.reassignment import reassign
from controller.core.reassignment_rules import Assignment, check_cancel, check_target
from controller.core.step import Step
from controller.core.throttles import claim
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

_Results = dict[TopicPartition, tuple[ErrorCode, str | None]]
"""Code and message: an error itself would hold the frame that holds the results, request and all,
until garbage is collected."""


def alter_partition_reassignments(step: Step, event: RequestArrived) -> None:
    """Serve AlterPartitionReassignments v0-1; of a partition named twice the last wish counts."""
    request: AlterPartitionReassignmentsRequest = event.request
    requested = {
        TopicPartition(topic.name, partition.partition_index): partition.replicas
        for topic in request.topics
        for partition in topic.partitions
    }
    accepted: dict[TopicPartition, Assignment] = {}
    results: _Results = {}
    for tp, target in requested.items():
        try:
            accepted[tp] = (
                check_cancel(step.state, tp)
                if target is None
                else check_target(
                    step.state, tp, target, is_factor_free=request.allow_replication_factor_change
                )
            )
            results[tp] = ErrorCode.NONE, None
        except KafkaError as error:
            results[tp] = error.code, error.message
    step.answer(event.token, _response(request, results))
    claim(step, accepted)
    reassign(step, accepted)


def list_partition_reassignments(step: Step, event: RequestArrived) -> None:
    """Serve ListPartitionReassignments v0; what is not reassigned or unknown is left out."""
    request: ListPartitionReassignmentsRequest = event.request
    by_topic: dict[str, list[OngoingPartitionReassignment]] = {}
    for tp in _asked(step, request):
        partition = step.state.find(tp)
        if partition is not None and partition.is_reassigning:
            by_topic.setdefault(tp.topic, []).append(
                OngoingPartitionReassignment(
                    partition_index=tp.partition,
                    replicas=list(partition.replicas),
                    adding_replicas=list(partition.adding_replicas),
                    removing_replicas=list(partition.removing_replicas),
                )
            )
    topics = [
        OngoingTopicReassignment(name=name, partitions=partitions)
        for name, partitions in by_topic.items()
    ]
    response = ListPartitionReassignmentsResponse(error_message="", topics=topics)
    step.answer(event.token, response)


def _response(
    request: AlterPartitionReassignmentsRequest, results: _Results
) -> AlterPartitionReassignmentsResponse:
    by_topic: dict[str, list[ReassignablePartitionResponse]] = {}
    for tp, (code, message) in results.items():
        by_topic.setdefault(tp.topic, []).append(
            ReassignablePartitionResponse(
                partition_index=tp.partition,
                error_code=code,
                error_message=message,
            )
        )
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message="",
        responses=[
            ReassignableTopicResponse(name=name, partitions=partitions)
            for name, partitions in by_topic.items()
        ],
    )


def _asked(step: Step, request: ListPartitionReassignmentsRequest) -> list[TopicPartition]:
    if request.topics is None:
        return sorted(step.state.reassigning)
    named = (
        TopicPartition(topic.name, number)
        for topic in request.topics
        for number in topic.partition_indexes
    )
    return list(dict.fromkeys(named))
