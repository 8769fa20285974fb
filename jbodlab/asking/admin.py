"""Questions and orders to a running cluster, over Kafka's protocol, one node at a time.

Blocking. It retries nothing: who asks decides what a missing answer means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jbodlab.asking.layout import Layout
from jbodlab.asking.own_security import security_at
from jbodlab.asking.rpc import BlockingClient
from jbodlab.errors import BrokerAwayError
from protocol.admin.cluster import ClusterView, cluster_view, metadata_request
from protocol.admin.log_dirs import (
    LogDirView,
    describe_log_dirs_request,
    log_dir_views,
    move_errors,
    move_request,
)
from protocol.admin.outcomes import Outcome
from protocol.admin.reassignments import (
    ReassignmentView,
    list_reassignments_request,
    reassign_outcomes,
    reassign_request,
    reassignment_views,
)
from protocol.admin.topics import (
    DELETE_BY_NAME_VERSION_MAX,
    NewTopic,
    create_topics_request,
    delete_topics_request,
    topic_outcomes,
)
from protocol.cluster_file.spec import ClusterSpec, TopicSpec
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.log_dirs import DescribeLogDirsRequest
from protocol.security.client import ClientSecurity
from protocol.wire.table import META

SOON_MS: Final = 1_500
"""A broker that does not answer so soon may wait for the controller, and another one know more."""
_REPLICAS_MAX: Final = 3


def default_replication_factor(brokers_count: int) -> int:
    """Return how many replicas a new topic has when nobody says it."""
    return min(_REPLICAS_MAX, brokers_count)


class ClusterAdmin:
    """Keeps one connection per broker; close it, or use it as a context manager."""

    def __init__(
        self,
        spec: ClusterSpec | Layout,
        *,
        timeout_ms: int = 30_000,
        security: ClientSecurity | None = None,
    ) -> None:
        """Connect to nobody yet; without ``security`` it comes as a node of its cluster file."""
        self._timeout_ms = timeout_ms
        self._foreign = {broker.id for broker in spec.brokers if not broker.control_port}
        """Brokers that may be Apache Kafka's."""
        self._versions: dict[tuple[int, int | None], int] = {}
        self._clients = {
            broker.id: BlockingClient(
                broker.advertised_host,
                broker.advertised_port,
                timeout_ms=timeout_ms,
                security=security_at(broker) if security is None else security,
            )
            for broker in spec.brokers
        }

    def __enter__(self) -> ClusterAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up everywhere."""
        for client in self._clients.values():
            client.close()

    def view(
        self, broker_id: int, topics: Sequence[str] | None = None, *, timeout_ms: int | None = None
    ) -> ClusterView:
        """Ask one broker for metadata; None asks for all topics.

        Raises:
            BrokerAwayError: the broker does not answer.
        """
        response = self.ask(metadata_request(topics), 9, broker_id, timeout_ms=timeout_ms)
        return cluster_view(response, told_by=broker_id)

    def any_view(self, topics: Sequence[str] | None = None) -> ClusterView:
        """Ask the first broker that answers; those that are slow to do so are asked last.

        Raises:
            ConnectionError: none does.
        """
        for timeout_ms in (min(SOON_MS, self._timeout_ms), self._timeout_ms):
            for broker_id in self._clients:
                try:
                    return self.view(broker_id, topics, timeout_ms=timeout_ms)
                except OSError:
                    continue
        raise ConnectionError("no broker answers")

    def create_topic(
        self, topic: TopicSpec, *, assignment: Mapping[int, Sequence[int]] | None = None
    ) -> None:
        """Create a topic; ``assignment`` maps partitions to brokers, preferred leader first.

        Raises:
            KafkaError: the controller's answer.
            ConnectionError: no broker answers.
        """
        wanted = NewTopic(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            assignment=assignment or {},
            configs=topic.configs,
        )
        request = create_topics_request([wanted], timeout_ms=self._timeout_ms)
        for outcome in topic_outcomes(self.ask_any(request, 5)):
            outcome.check()

    def delete_topic(self, name: str) -> None:
        """Delete a topic.

        Raises:
            KafkaError: the controller's answer.
            ConnectionError: no broker answers.
        """
        request = delete_topics_request([name], timeout_ms=self._timeout_ms)
        for outcome in topic_outcomes(self.ask_any(request, DELETE_BY_NAME_VERSION_MAX)):
            outcome.check()

    def log_dirs(
        self, broker_id: int, partitions: Mapping[str, Sequence[int]] | None = None
    ) -> list[LogDirView]:
        """Describe every log dir of one broker; of all partitions, or of some by topic.

        Raises:
            KafkaError: it does not tell.
            BrokerAwayError: the broker does not answer.
        """
        version = self._newest(DescribeLogDirsRequest, 5, broker_id)
        response = self.ask(describe_log_dirs_request(partitions), version, broker_id)
        Outcome(ErrorCode(response.error_code)).check()
        return log_dir_views(response, broker=broker_id)

    def move_replicas(self, broker_id: int, path: str, partitions: Mapping[str, list[int]]) -> None:
        """Order one broker to move replicas to ``path``; returns once the order is accepted.

        Raises:
            KafkaError: the first partition's error.
            BrokerAwayError: the broker does not answer.
        """
        replicas = [TopicPartition(name, each) for name in partitions for each in partitions[name]]
        response = self.ask(move_request(dict.fromkeys(replicas, path)), 2, broker_id)
        for tp, code in move_errors(response).items():
            Outcome(code, str(tp)).check()

    def reassign(self, targets: Mapping[tuple[str, int], Sequence[int] | None]) -> None:
        """Give partitions other replicas, preferred leader first; None takes a wish back.

        Returns once it is accepted.

        Raises:
            KafkaError: the first partition's error.
            ConnectionError: no broker answers.
        """
        wanted = {TopicPartition(*tp): replicas for tp, replicas in targets.items()}
        request = reassign_request(wanted, timeout_ms=self._timeout_ms)
        reassign_outcomes(self.ask_any(request, 0)).check()

    def reassignments(self) -> list[ReassignmentView]:
        """List what is under way.

        Raises:
            KafkaError: the controller's answer.
            ConnectionError: no broker answers.
        """
        response = self.ask_any(list_reassignments_request(timeout_ms=self._timeout_ms), 0)
        Outcome.of(response).check()
        return reassignment_views(response)

    def ask(
        self, message: Any, version: int, broker_id: int, *, timeout_ms: int | None = None
    ) -> Any:
        """Send any request to one broker and return its answer, whatever codes are in it.

        Raises:
            BrokerAwayError: it does not answer, or the cluster file does not name it.
        """
        if broker_id not in self._clients:
            text = f"broker {broker_id} is none of the cluster file's: ask it by its address"
            raise BrokerAwayError(text)
        client = self._clients[broker_id]
        try:
            return client.request(message, version, timeout_ms=timeout_ms)
        except OSError as error:
            where = f"broker {broker_id} at {client.host}:{client.port}"
            raise BrokerAwayError(f"{where} does not answer ({error.strerror or error})") from error

    def _newest(self, request: type, at_most: int, broker_id: int) -> int:
        """Return the newest version that a broker takes: one of Apache Kafka may be older."""
        key = META[request].api_key
        if broker_id in self._foreign and (broker_id, key) not in self._versions:
            asked = ApiVersionsRequest(client_software_name="", client_software_version="")
            told = self.ask(asked, 0, broker_id).api_keys
            self._versions |= {(broker_id, each.api_key): each.max_version for each in told}
        return min(at_most, self._versions.get((broker_id, key), at_most))

    def ask_any(self, message: Any, version: int) -> Any:
        """Send any request to the first broker that answers.

        Raises:
            ConnectionError: none does.
        """
        for broker_id in self._clients:
            try:
                return self.ask(message, version, broker_id)
            except OSError:
                continue
        raise ConnectionError("no broker answers")
