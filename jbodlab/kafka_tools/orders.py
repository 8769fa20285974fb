"""Orders to a cluster about settings and replicas. What they change is theirs to check.

Answers about single partitions are returned, not raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.config_words import NAMED_BY_BROKER_ID
from jbodlab.kafka_tools.core.failures import answered
from jbodlab.kafka_tools.core.reassignment_file import ReplicaOn
from jbodlab.kafka_tools.questions import raise_for
from protocol.admin.configs import alter_configs_request, alter_outcomes
from protocol.admin.log_dirs import move_errors, move_requests
from protocol.admin.reassignments import reassign_outcomes, reassign_request
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition


def alter_configs(
    client: ClusterClient,
    kind: ResourceType,
    changes: Mapping[str, Mapping[str, str | None]],
) -> None:
    """Set and delete settings.

    Args:
        client: the cluster.
        kind: of the resources. A broker is asked about itself, each with a request of its own.
        changes: new values by resource and setting; None deletes. The resource "" is all brokers.

    Raises:
        KafkaError: the first answer that is one.
        ToolFailure: a broker does not answer.
    """
    if kind in NAMED_BY_BROKER_ID:
        for name, values in changes.items():
            _alter(client, kind, {name: values}, int(name) if name else None)
    elif changes:
        _alter(client, kind, changes, None)


def reassign(
    client: ClusterClient, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> dict[TopicPartition, KafkaError]:
    """Start reassignments, or take them back with None; return the partitions refused.

    Raises:
        KafkaError: all were refused.
    """
    request = reassign_request(targets, timeout_ms=client.settings.request_timeout_ms)
    outcomes = reassign_outcomes(client.ask_controller(request))
    raise_for(*outcomes.whole)
    return {
        tp: answered(*outcome)
        for tp, outcome in outcomes.parts.items()
        if outcome.code is not ErrorCode.NONE
    }


def move_replicas(
    client: ClusterClient, wanted: Mapping[ReplicaOn, str]
) -> dict[ReplicaOn, ErrorCode]:
    """Ask brokers to move replicas to log dirs, one request per broker; return all answers.

    Raises:
        ToolFailure: a broker does not answer.
    """
    requests = move_requests((broker, tp, path) for (broker, tp), path in sorted(wanted.items()))
    answers: dict[ReplicaOn, ErrorCode] = {}
    for broker, request in requests.items():
        errors = move_errors(client.ask_broker(broker, request))
        answers.update({ReplicaOn(broker, tp): code for tp, code in errors.items()})
    return answers


def _alter(
    client: ClusterClient,
    kind: ResourceType,
    changes: Mapping[str, Mapping[str, str | None]],
    broker_id: int | None,
) -> None:
    request = alter_configs_request(kind, changes)
    answer = client.ask(request) if broker_id is None else client.ask_broker(broker_id, request)
    for outcome in alter_outcomes(answer):
        raise_for(*outcome)
