"""Questions about consumer groups, and orders to their coordinators.

Each group's coordinator is looked for anew while it moves or still loads, as leaders are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import default_text
from jbodlab.kafka_tools.questions import describe_topics, raise_for
from protocol.admin.cluster import BrokerView
from protocol.admin.groups import (
    COMMIT_BY_NAME_VERSION_MAX,
    CONSUMER_GROUP_DESCRIBE,
    FETCH_ONE_VERSION_MAX,
    FIND_ONE_VERSION_MAX,
    GroupListing,
    GroupView,
    commit_request,
    committed_offsets,
    committed_request,
    consumer_group_view,
    delete_offsets_request,
    describe_consumer_group_request,
    describe_group_request,
    find_coordinator_request,
    group_listings,
    group_view,
)
from protocol.admin.offsets import found_offsets, list_offsets_request
from protocol.admin.outcomes import Outcome, PartitionOutcomes
from protocol.admin.partitions import errors_by_partition
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.groups import DeleteGroupsRequest, ListGroupsRequest

_Read = TypeVar("_Read")
_MAY_NOT_ASK: Final = (
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
COORDINATOR_MOVES: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_LEADER_MOVES: Final = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
)
_NOT_OF_KIP_848: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


def list_groups(client: ClusterClient) -> list[GroupListing]:
    """Return all groups of consumers, sorted; every broker is asked for its own.

    Raises:
        KafkaError: a broker's answer.
        ToolFailure: a broker does not answer.
    """
    request = ListGroupsRequest(states_filter=[], types_filter=[])

    def listed(broker: int) -> list[GroupListing]:
        answer = client.ask_broker(broker, request)
        raise_for(answer.error_code)
        return group_listings(answer)

    found = [
        each
        for broker in client.nodes()
        for each in client.insist(lambda broker=broker: listed(broker), COORDINATOR_MOVES)
    ]
    return sorted(found, key=lambda each: each.group)


def find_coordinator(client: ClusterClient, group: str) -> BrokerView:
    """Return the broker that coordinates a group.

    Raises:
        KafkaError: there is none now.
        ToolFailure: nobody answers.
    """
    answer = client.ask(find_coordinator_request(group), version_max=FIND_ONE_VERSION_MAX)
    raise_for(answer.error_code, coordinator_refusal(answer.error_code, "groupId", group, "GROUP"))
    return client.nodes().get(answer.node_id) or BrokerView(
        answer.node_id, answer.host, answer.port, None
    )


def coordinator_refusal(error_code: int, kind: str, id_: str, key_type: str) -> str | None:
    """Return what Kafka's client says when a coordinator may not be asked for."""
    if error_code not in _MAY_NOT_ASK:
        return None
    key = f"CoordinatorKey(idValue='{id_}', type={key_type})"
    return f"FindCoordinator request for {kind} `{key}` failed due to authorization failure"


def describe_group(client: ClusterClient, group: str) -> tuple[GroupView, BrokerView]:
    """Return a group and its coordinator; a group that is not there is ``DEAD``.

    Raises:
        KafkaError: the coordinator's answer.
        ToolFailure: it does not answer, or still loads after the timeout.
    """

    def described() -> tuple[GroupView, BrokerView]:
        coordinator = find_coordinator(client, group)
        view: GroupView | ErrorCode = ErrorCode.UNSUPPORTED_VERSION
        if client.can(CONSUMER_GROUP_DESCRIBE):
            request = describe_consumer_group_request(group)
            view = consumer_group_view(client.ask_broker(coordinator.id, request))
        if view in _NOT_OF_KIP_848:
            view = group_view(client.ask_broker(coordinator.id, describe_group_request(group)))
        if isinstance(view, ErrorCode):
            raise_for(view)
        assert isinstance(view, GroupView)
        return view, coordinator

    return client.insist(described, COORDINATOR_MOVES)


def describe_committed(client: ClusterClient, group: str) -> dict[TopicPartition, int]:
    """Return all offsets of a group.

    Raises:
        KafkaError: the coordinator's answer.
        ToolFailure: it does not answer, or still loads after the timeout.
    """

    def read(answer: Any) -> dict[TopicPartition, int]:
        raise_for(answer.error_code)
        return committed_offsets(answer)

    return _ask(client, group, committed_request(group), read, FETCH_ONE_VERSION_MAX)


def commit(client: ClusterClient, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Set offsets of a group without members.

    Raises:
        KafkaError: the first partition's error.
        ToolFailure: the coordinator does not answer, or still loads after the timeout.
    """

    def check(answer: Any) -> None:
        for code in errors_by_partition(answer.topics).values():
            raise_for(code)

    if offsets:
        _ask(client, group, commit_request(group, offsets), check, COMMIT_BY_NAME_VERSION_MAX)


def delete_group(client: ClusterClient, group: str) -> None:
    """Delete a group without members.

    Raises:
        KafkaError: the coordinator's answer.
        ToolFailure: it does not answer, or still loads after the timeout.
    """

    def check(answer: Any) -> None:
        for result in answer.results:
            raise_for(result.error_code)

    _ask(client, group, DeleteGroupsRequest(groups_names=[group]), check)


def delete_offsets(
    client: ClusterClient, group: str, partitions: Collection[TopicPartition]
) -> PartitionOutcomes:
    """Have a group forget offsets; return what became of it.

    Raises:
        ToolFailure: the coordinator does not answer, or still loads after the timeout.
    """

    def read(answer: Any) -> PartitionOutcomes:
        if answer.error_code in COORDINATOR_MOVES:
            raise_for(answer.error_code)
        parts = {tp: Outcome(code) for tp, code in errors_by_partition(answer.topics).items()}
        return PartitionOutcomes(Outcome(ErrorCode(answer.error_code)), parts)

    return _ask(client, group, delete_offsets_request(group, partitions), read)


def list_offsets(
    client: ClusterClient, partitions: Collection[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """Return the first offsets at a timestamp, or at ``EARLIEST`` or ``LATEST``; -1: none.

    Raises:
        KafkaError: UNKNOWN_TOPIC_OR_PARTITION, or another answer of a leader.
        ToolFailure: a partition has no leader before the timeout, or one does not answer.
    """

    def asked() -> dict[TopicPartition, int]:
        leaders = find_leaders(client, partitions)
        for tp in partitions:
            if tp not in leaders:
                raise unknown(tp)
            if leaders[tp] < 0:
                raise_for(ErrorCode.LEADER_NOT_AVAILABLE)
        found: dict[TopicPartition, int] = {}
        for leader in sorted({leaders[tp] for tp in partitions}):
            request = list_offsets_request(
                {tp: timestamp for tp in partitions if leaders[tp] == leader}
            )
            for tp, offset in found_offsets(client.ask_broker(leader, request)).items():
                if isinstance(offset, ErrorCode):
                    raise_for(offset)
                found[tp] = offset
        return found

    return client.insist(asked, _LEADER_MOVES)


def unknown(what: object) -> KafkaError:
    """Return what is raised for a topic or partition that is not there; it names it."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return KafkaError(code, f"{default_text(code).removesuffix('.')}: {what}")


def find_leaders(
    client: ClusterClient, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the leader of each partition, -1 for none; those that do not exist are left out."""
    topics = describe_topics(client, sorted({tp.topic for tp in partitions}))
    known = {each.tp: each.leader for topic in topics.values() for each in topic.partitions}
    return {tp: known[tp] for tp in partitions if tp in known}


def _ask(
    client: ClusterClient,
    group: str,
    request: Any,
    read: Callable[[Any], _Read],
    version_max: int | None = None,
) -> _Read:
    """Ask a group's coordinator; ``read`` raises the errors of its answer."""

    def attempt() -> _Read:
        coordinator = find_coordinator(client, group)
        return read(client.ask_broker(coordinator.id, request, version_max=version_max))

    return client.insist(attempt, COORDINATOR_MOVES)
