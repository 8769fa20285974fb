"""Asks a cluster as a Kafka client does: finds leaders by metadata, keeps a connection per broker.

Plain asyncio over the running loop. It retries nothing: who asks decides what an error means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from protocol.admin.cluster import ClusterView, cluster_view, metadata_request
from protocol.apis import APIS
from protocol.cluster_file.spec import ClusterSpec
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.transport.rpc_client import RpcClient
from protocol.wire.fast import Codec, codec
from protocol.wire.table import META
from simulation.workload.topic_answers import TopicAnswers

METADATA_VERSION: Final = 10
REQUEST_TIMEOUT_MS: Final = 5_000
"""Shorter than Kafka's 30 s: a run lasts a minute or so, and its clients are to meet its faults."""


class LeaderAndEpoch(NamedTuple):
    """Who leads a partition, by the newest metadata that was seen."""

    broker: int
    epoch: int


class Answered(NamedTuple):
    """What one broker of several answered."""

    broker: int
    answer: Any
    may_be_done: bool
    """Another one was asked before, which may have done what it was asked for."""


class Begun:
    """One request that was sent; its time runs from then on."""

    __slots__ = (
        "_connection",
        "_deadline",
        "_message",
        "_on_answer",
        "_timeout_ms",
        "_version",
        "_waiting",
    )

    def __init__(
        self,
        connection: RpcClient,
        waiting: asyncio.Future[memoryview],
        message: Any,
        version: int,
        timeout_ms: int,
        on_answer: Callable[[Any], None],
    ) -> None:
        self._connection = connection
        self._waiting = waiting
        self._message = message
        self._version = version
        self._timeout_ms = timeout_ms
        self._on_answer = on_answer
        self._deadline = asyncio.get_running_loop().time() + timeout_ms / 1000

    async def answer(self) -> Any:
        """Wait for the answer.

        Raises:
            OSError: the connection is lost, or no answer came in time.
            Malformed: the answer cannot be read.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                body = await self._waiting
        except TimeoutError:
            name = f"{self._connection.host}:{self._connection.port}"
            self._connection.drop(f"{name} did not answer in {self._timeout_ms} ms")
            raise
        answer = answer_codec(self._message, self._version).decode(body)
        self._on_answer(answer)
        return answer


class ClusterClient:
    """One client of a cluster; ``close`` it at the end."""

    def __init__(
        self,
        addresses: Mapping[int, tuple[str, int]],
        client_id: str,
        *,
        request_timeout_ms: int = REQUEST_TIMEOUT_MS,
        topic_answers: TopicAnswers | None = None,
    ) -> None:
        """Prepare.

        Args:
            addresses: where brokers are looked for until metadata tells more.
            client_id: its name.
            request_timeout_ms: of one request.
            topic_answers: is given every answer.
        """
        self._take = _nobody if topic_answers is None else topic_answers.take
        self.client_id = client_id
        self.request_timeout_ms = request_timeout_ms
        self._addresses = dict(addresses)
        self._connections: dict[int, RpcClient] = {}
        self._leaders: dict[TopicPartition, LeaderAndEpoch] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._asked_last = -1
        self._refreshing = asyncio.Lock()
        self._refresh_count = 0

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        """Where brokers are looked for."""
        return self._addresses

    @property
    def broker_ids(self) -> list[int]:
        """The brokers that were ever heard of, in the order of their ids."""
        return sorted(self._addresses)

    async def ask(
        self, broker: int, message: Any, version: int, *, timeout_ms: int | None = None
    ) -> Any:
        """Send one request to one broker and return its answer.

        Raises:
            OSError: no connection, or none any more, or no answer in time.
            Malformed: the answer cannot be read.
        """
        patience_ms = self.request_timeout_ms if timeout_ms is None else timeout_ms
        connection = self._connection(broker)
        asked_s = asyncio.get_running_loop().time()
        answer = await connection.request(message, version, timeout_ms=patience_ms)
        self._take(broker, asked_s, message, answer)
        return answer

    async def begin(self, broker: int, message: Any, version: int) -> Begun:
        """Send one request; its answer is waited for while others are sent, which arrive later.

        Raises:
            OSError: no connection in time.
        """
        connection = self._connection(broker)
        asked_s = asyncio.get_running_loop().time()
        async with asyncio.timeout(self.request_timeout_ms / 1000):
            waiting = await connection.begin(message, version)
        on_answer = partial(self._take, broker, asked_s, message)
        return Begun(connection, waiting, message, version, self.request_timeout_ms, on_answer)

    async def notify(self, broker: int, message: Any, version: int) -> None:
        """Send a request that is not answered (acks=0).

        Raises:
            OSError: no connection.
        """
        async with asyncio.timeout(self.request_timeout_ms / 1000):
            await self._connection(broker).notify(message, version)

    async def ask_any(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        """Send one request to a broker, the next one each time, until one answers.

        Raises:
            ConnectionError: none does.
        """
        return (await self.ask_next(message, version, timeout_ms)).answer

    async def view(self, topics: Sequence[str] | None = None) -> ClusterView:
        """Ask a broker for metadata; None asks for all topics.

        Raises:
            ConnectionError: no broker answers.
        """
        broker, answer, _ = await self.ask_next(metadata_request(topics), METADATA_VERSION, None)
        view = cluster_view(answer, told_by=broker)
        self._learn(view)
        return view

    async def view_of(self, broker: int, topics: Sequence[str] | None = None) -> ClusterView:
        """Ask this broker for metadata; what it says is not what ``leader`` goes by.

        Raises:
            OSError, Malformed: as ``ask``.
        """
        answer = await self.ask(broker, metadata_request(topics), METADATA_VERSION)
        return cluster_view(answer, told_by=broker)

    async def refresh(self, topic: str) -> None:
        """Ask for a topic's metadata; those who ask meanwhile share the answer.

        Raises:
            ConnectionError: no broker answers.
            KafkaError: what is said of the topic instead of its partitions.
        """
        count = self._refresh_count
        async with self._refreshing:
            if self._refresh_count > count:
                return
            view = await self.view([topic])
            self._refresh_count += 1
        if topic not in view.topic_ids:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic)

    def leader(self, tp: TopicPartition) -> LeaderAndEpoch | None:
        """Return who leads, as far as is known."""
        return self._leaders.get(tp)

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic that metadata told of."""
        return sorted(tp for tp in self._leaders if tp.topic == topic)

    def close(self) -> None:
        """Hang up everywhere."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _connection(self, broker: int) -> RpcClient:
        if broker not in self._addresses:
            raise ConnectionError(f"broker {broker} was never heard of")
        host, port = self._addresses[broker]
        connection = self._connections.get(broker)
        if connection is not None and (connection.host, connection.port) == (host, port):
            return connection
        if connection is not None:
            connection.close()
        made = RpcClient(host=host, port=port, client_id=self.client_id)
        self._connections[broker] = made
        return made

    async def ask_next(self, message: Any, version: int, timeout_ms: int | None) -> Answered:
        """Do as ``ask_any``, and tell more of it."""
        may_be_done = False
        brokers = self.broker_ids
        begin = next((n for n, each in enumerate(brokers) if each > self._asked_last), 0)
        for broker in [*brokers[begin:], *brokers[:begin]]:
            self._asked_last = broker
            try:
                answer = await self.ask(broker, message, version, timeout_ms=timeout_ms)
            except (OSError, Malformed) as error:
                may_be_done |= not isinstance(error, ConnectionRefusedError)
            else:
                return Answered(broker, answer, may_be_done)
        raise ConnectionError("no broker answers")

    def _learn(self, view: ClusterView) -> None:
        """Take over what is not older than what is known. Source: Metadata.java, KIP-320."""
        self._addresses.update({each.id: (each.host, each.port) for each in view.brokers.values()})
        for topic, topic_id in view.topic_ids.items():
            if self._topic_ids.get(topic) != topic_id:
                self._topic_ids[topic] = topic_id
                for tp in self.partitions(topic):
                    del self._leaders[tp]
        for seen in view.partitions:
            known = self._leaders.get(seen.tp)
            if known is None or seen.leader_epoch >= known.epoch:
                self._leaders[seen.tp] = LeaderAndEpoch(seen.leader, seen.leader_epoch)


def answer_codec(message: Any, version: int) -> Codec:
    """Return what reads the answers to ``message``."""
    key = META[type(message)].api_key
    assert key is not None
    return codec(APIS[key].response, version)


def _nobody(_broker: int, _asked_s: float, _request: Any, _answer: Any) -> None:
    return None


def addresses_of(spec: ClusterSpec) -> dict[int, tuple[str, int]]:
    """Return where the brokers of a cluster listen."""
    return {
        broker.id: (broker.advertised_host, broker.advertised_port or broker.port)
        for broker in spec.brokers
    }
