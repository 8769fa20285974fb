"""Questions about transactions to their coordinators and to the leaders of partitions.

Each coordinator is looked for anew while it moves or still loads, as leaders are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import answered
from jbodlab.kafka_tools.group_questions import (
    COORDINATOR_MOVES,
    coordinator_refusal,
    find_leaders,
)
from jbodlab.kafka_tools.questions import raise_for
from protocol.admin.groups import FIND_ONE_VERSION_MAX
from protocol.admin.outcomes import Outcome
from protocol.admin.transactions import (
    ProducerView,
    TransactionListing,
    TransactionView,
    abort_code,
    abort_request,
    describe_producers_request,
    describe_transaction_request,
    fence_request,
    find_transaction_coordinator_request,
    producer_views,
    too_old_for,
    transaction_listings,
    transaction_view,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.transactions import ListTransactionsRequest
from protocol.wire.table import META

PARTITIONS_OF_A_REQUEST_MAX: Final = 500
_FENCE_LATER: Final = (*COORDINATOR_MOVES, ErrorCode.CONCURRENT_TRANSACTIONS)
_MAY_NOT_FENCE: Final = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "cluster authorization failure",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional ID authorization failure",
}
_LEADER_MOVES: Final = (
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)


def list_transactions(
    client: ClusterClient, request: ListTransactionsRequest
) -> list[tuple[int, TransactionListing]]:
    """Return transactional ids, each with its coordinator; every broker is asked.

    Raises:
        KafkaError: a broker's answer; UNSUPPORTED_VERSION where it does not know a filter.
        ToolFailure: a broker does not answer.
    """
    key = META[ListTransactionsRequest].api_key
    assert key is not None

    def listed(broker: int) -> list[TransactionListing]:
        if text := too_old_for(request, client.newest(broker, key)):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)
        answer = client.ask_broker(broker, request)
        raise_for(answer.error_code)
        return transaction_listings(answer)

    return [
        (broker, each)
        for broker in client.nodes()
        for each in client.insist(lambda broker=broker: listed(broker), COORDINATOR_MOVES)
    ]


def describe_transaction(
    client: ClusterClient, transactional_id: str
) -> tuple[int, TransactionView]:
    """Return the coordinator of a transactional id, and what it says.

    Raises:
        KafkaError: its answer: TRANSACTIONAL_ID_NOT_FOUND, for one.
        ToolFailure: it does not answer, or still loads after the timeout.
    """

    def described() -> tuple[int, TransactionView]:
        coordinator = _coordinator(client, transactional_id)
        request = describe_transaction_request(transactional_id)
        view = transaction_view(client.ask_broker(coordinator, request))
        if isinstance(view, ErrorCode):
            raise answered(view)
        return coordinator, view

    return client.insist(described, COORDINATOR_MOVES)


def fence(client: ClusterClient, transactional_id: str) -> None:
    """Have the coordinator of a transactional id end what is open, and fence its producer.

    Raises:
        KafkaError: its answer.
        ToolFailure: it does not answer, or cannot end the transaction before the timeout.
    """
    # Source: FenceProducersHandler.java.
    request = fence_request(transactional_id, client.settings.request_timeout_ms)

    def fenced() -> None:
        answer = client.ask_broker(_coordinator(client, transactional_id), request)
        code = ErrorCode(answer.error_code)
        if code and code not in _FENCE_LATER:
            why = _MAY_NOT_FENCE.get(code, "unexpected error")
            asked = f"InitProducerId request for transactionalId `{transactional_id}`"
            raise KafkaError(code, f"{asked} failed due to {why}")
        raise_for(code)

    client.insist(fenced, _FENCE_LATER)


def _coordinator(client: ClusterClient, transactional_id: str) -> int:
    found = client.ask(
        find_transaction_coordinator_request(transactional_id), version_max=FIND_ONE_VERSION_MAX
    )
    code = found.error_code
    raise_for(code, coordinator_refusal(code, "transactionalId", transactional_id, "TRANSACTION"))
    return found.node_id


def describe_producers(
    client: ClusterClient, partitions: Sequence[TopicPartition], broker: int | None
) -> dict[TopicPartition, Sequence[ProducerView]]:
    """Return the producers of partitions, as their leaders know them, or one broker does.

    Raises:
        KafkaError: a broker's answer.
        ToolFailure: a broker does not answer.
    """

    def described() -> dict[TopicPartition, Sequence[ProducerView]]:
        leaders = dict.fromkeys(partitions, broker) if broker is not None else {}
        leaders = leaders or _leaders(client, partitions)
        return _described(client, leaders)

    return client.insist(described, () if broker is not None else _LEADER_MOVES)


def abort(
    client: ClusterClient,
    tp: TopicPartition,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
) -> None:
    """Have the leader of a partition end a transaction there.

    Raises:
        KafkaError: its answer.
        ToolFailure: it does not answer.
    """
    request = abort_request(
        tp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=coordinator_epoch,
    )

    def aborted() -> None:
        leader = _leaders(client, [tp])[tp]
        raise_for(abort_code(client.ask_broker(leader, request)))

    client.insist(aborted, _LEADER_MOVES)


def _leaders(
    client: ClusterClient, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    leaders = find_leaders(client, partitions)
    if len(leaders) < len(partitions):
        raise answered(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if -1 in leaders.values():
        raise answered(ErrorCode.LEADER_NOT_AVAILABLE)
    return leaders


def _described(
    client: ClusterClient, brokers: dict[TopicPartition, int]
) -> dict[TopicPartition, Sequence[ProducerView]]:
    found: dict[TopicPartition, Sequence[ProducerView]] = {}
    for broker in sorted(set(brokers.values())):
        own = [tp for tp, asked in brokers.items() if asked == broker]
        for start in range(0, len(own), PARTITIONS_OF_A_REQUEST_MAX):
            request = describe_producers_request(own[start : start + PARTITIONS_OF_A_REQUEST_MAX])
            for tp, views in producer_views(client.ask_broker(broker, request)).items():
                if isinstance(views, Outcome):
                    raise answered(views.code, views.message)
                found[tp] = views
    return {tp: found[tp] for tp in brokers}
