"""Orders to a cluster, as an administrator gives them; each is written down in the history.

What Kafka answers comes back as error codes, one per part of the order. It retries nothing and
waits for nothing but the answer. Questions are in `questions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from protocol.admin.configs import (
    alter_configs_request,
    alter_outcomes,
    replace_configs_request,
)
from protocol.admin.elections import ElectionType, elect_outcomes, elect_request
from protocol.admin.log_dirs import move_errors, move_request
from protocol.admin.offsets import delete_records_request
from protocol.admin.outcomes import Outcome, PartitionOutcomes
from protocol.admin.partitions import errors_by_partition
from protocol.admin.reassignments import reassign_outcomes, reassign_request
from protocol.admin.topics import (
    DELETE_BY_NAME_VERSION_MAX,
    NewPartitions,
    NewTopic,
    create_partitions_request,
    create_topics_request,
    delete_topics_request,
    topic_outcomes,
)
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, Malformed
from protocol.ids import NO_LEADER, TopicPartition
from protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from simulation.core.history import Function, History, Order
from simulation.workload.clients import ClusterClient

ORDER_TIMEOUT_MS: Final = 30_000
"""How long a broker may take for an order, as Kafka's admin client asks for."""


class _Answers(NamedTuple):
    """What an order was answered with, a code for each of its parts."""

    codes: list[ErrorCode]
    may_be_done: bool = False
    """A broker that did not answer was asked before: it may have done it, or may do it yet."""


_Ask = Callable[[], Awaitable[_Answers]]


class Admin:
    """One administrator.

    Every order returns codes; it raises OSError when nobody answered it, so that nobody knows
    whether it happened.
    """

    def __init__(self, client: ClusterClient, history: History) -> None:
        self._client = client
        self._history = history

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Sequence[Sequence[int]] = (),
        configs: Mapping[str, str] | None = None,
    ) -> ErrorCode:
        """Create a topic; ``assignment``: the brokers of each partition instead of numbers."""
        topic = NewTopic(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            assignment=dict(enumerate(assignment)),
            configs=configs or {},
        )
        return await self._one(
            Function.CREATE_TOPIC,
            Order(
                topic=name,
                partitions=len(assignment) or partitions,
                assignment=_frozen(assignment),
                configs=tuple((configs or {}).items()),
            ),
            create_topics_request([topic], timeout_ms=ORDER_TIMEOUT_MS),
            version=7,
            read=topic_outcomes,
        )

    async def delete_topic(self, name: str) -> ErrorCode:
        """Delete a topic."""
        return await self._one(
            Function.DELETE_TOPIC,
            Order(topic=name),
            delete_topics_request([name], timeout_ms=ORDER_TIMEOUT_MS),
            version=DELETE_BY_NAME_VERSION_MAX,
            read=topic_outcomes,
        )

    async def create_partitions(
        self, topic: str, count: int, assignment: Sequence[Sequence[int]] = ()
    ) -> ErrorCode:
        """Raise the number of partitions to ``count``; ``assignment``: of the new ones."""
        op = NewPartitions(count, assignment or None)
        return await self._one(
            Function.CREATE_PARTITIONS,
            Order(topic=topic, partitions=count, assignment=_frozen(assignment)),
            create_partitions_request({topic: op}, timeout_ms=ORDER_TIMEOUT_MS),
            version=3,
            read=topic_outcomes,
        )

    async def alter_configs(
        self, resource: ResourceType, name: str, changes: Mapping[str, str | None]
    ) -> ErrorCode:
        """Set configurations of a topic, of a broker by its id, or of ``ALL_BROKERS``.

        None takes one off.
        """
        request = alter_configs_request(resource, {name: changes})
        return await self._alter(resource, name, changes, request, version=1)

    async def replace_configs(
        self, resource: ResourceType, name: str, changes: Mapping[str, str | None]
    ) -> ErrorCode:
        """Set configurations in place of all that were set before, as older clients do."""
        request = replace_configs_request(resource, {name: changes})
        return await self._alter(resource, name, changes, request, version=2)

    async def _alter(
        self,
        resource: ResourceType,
        name: str,
        changes: Mapping[str, str | None],
        request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
        version: int,
    ) -> ErrorCode:
        # As Kafka's admin client: a broker's own are for that broker to change.
        own_broker = int(name) if resource is ResourceType.BROKER and name else None
        order = Order(
            topic=name if resource is ResourceType.TOPIC else "",
            broker=NO_LEADER if own_broker is None else own_broker,
            configs=tuple(changes.items()),
            is_whole=isinstance(request, AlterConfigsRequest),
        )
        return await self._one(
            Function.ALTER_CONFIGS,
            order,
            request,
            version=version,
            read=alter_outcomes,
            broker=own_broker,
        )

    async def move_replicas(
        self, broker: int, path: str, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Order one broker to keep these replicas in the log dir ``path``."""
        request = move_request(dict.fromkeys(partitions, path))

        async def ask() -> _Answers:
            errors = move_errors(await self._client.ask(broker, request, 2))
            return _Answers([errors[tp] for tp in partitions])

        orders = [Order(tp.topic, tp.partition, broker=broker, log_dir=path) for tp in partitions]
        return dict(zip(partitions, await self._order(Function.MOVE, orders, ask), strict=True))

    async def reassign(
        self, targets: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, ErrorCode]:
        """Give partitions other replicas, preferred leader first; None takes a wish back."""
        request = reassign_request(targets, timeout_ms=ORDER_TIMEOUT_MS)
        orders = [
            Order(tp.topic, tp.partition, detail="cancel")
            if to is None
            else Order(tp.topic, tp.partition, assignment=_frozen([to]))
            for tp, to in targets.items()
        ]
        return await self._each(
            Function.REASSIGN,
            orders,
            request,
            version=0,
            read=reassign_outcomes,
        )

    async def elect(
        self, partitions: Sequence[TopicPartition], kind: ElectionType = ElectionType.PREFERRED
    ) -> dict[TopicPartition, ErrorCode]:
        """Ask for elections; ELECTION_NOT_NEEDED where the wish is already so."""
        request = elect_request(kind, partitions, timeout_ms=ORDER_TIMEOUT_MS)
        orders = [Order(tp.topic, tp.partition, detail=kind.name.lower()) for tp in partitions]
        return await self._each(
            Function.ELECT,
            orders,
            request,
            version=2,
            read=elect_outcomes,
        )

    async def delete_records(self, tp: TopicPartition, before: int) -> ErrorCode:
        """Raise the log start of a partition; -1: to its high watermark.

        LEADER_NOT_AVAILABLE when metadata tells of no leader to ask.
        """
        await self._client.view([tp.topic])
        leader = self._client.leader(tp)
        if leader is None or leader.broker < 0:
            return ErrorCode.LEADER_NOT_AVAILABLE
        timeout_ms = self._client.request_timeout_ms
        request = delete_records_request({tp: before}, timeout_ms=timeout_ms)

        async def ask() -> _Answers:
            answer = await self._client.ask(leader.broker, request, 2)
            return _Answers([errors_by_partition(answer.topics)[tp]])

        order = Order(tp.topic, tp.partition, broker=leader.broker, offset=before)
        return (await self._order(Function.DELETE_RECORDS, [order], ask))[0]

    async def _one(
        self,
        function: Function,
        order: Order,
        request: Any,
        *,
        version: int,
        read: Callable[[Any], Sequence[Outcome]],
        broker: int | None = None,
    ) -> ErrorCode:
        async def ask() -> _Answers:
            may_be_done = False
            if broker is None:
                _, answer, may_be_done = await self._client.ask_next(
                    request, version, ORDER_TIMEOUT_MS
                )
            else:
                answer = await self._client.ask(
                    broker, request, version, timeout_ms=ORDER_TIMEOUT_MS
                )
            return _Answers([outcome.code for outcome in read(answer)], may_be_done)

        return (await self._order(function, [order], ask))[0]

    async def _each(
        self,
        function: Function,
        orders: Sequence[Order],
        request: Any,
        *,
        version: int,
        read: Callable[[Any], PartitionOutcomes],
    ) -> dict[TopicPartition, ErrorCode]:
        """A part that the answer leaves out was not needed: Kafka says so of elections."""
        tps = [TopicPartition(order.topic, order.partition) for order in orders]

        async def ask() -> _Answers:
            _, answer, may_be_done = await self._client.ask_next(request, version, ORDER_TIMEOUT_MS)
            outcomes = read(answer)
            return _Answers([outcomes.of(tp).code for tp in tps], may_be_done)

        return dict(zip(tps, await self._order(function, orders, ask), strict=True))

    async def _order(
        self, function: Function, orders: Sequence[Order], ask: _Ask
    ) -> list[ErrorCode]:
        client = self._client.client_id
        begun = [self._history.begin(client, function, order) for order in orders]
        try:
            codes, may_be_done = await ask()
        except (OSError, Malformed, asyncio.CancelledError) as error:
            for invocation in begun:
                invocation.unknown(str(error) or type(error).__name__)
            raise
        for invocation, order, code in zip(begun, orders, codes, strict=True):
            if code is ErrorCode.NONE:
                invocation.ok(order._replace(is_repeated=may_be_done))
            elif (
                may_be_done or code in _MAY_HAVE_HAPPENED or (function, code) in _BEGUN_BY_A_LEADER
            ):
                invocation.unknown(code.name)
            else:
                invocation.fail(code.name)
        return codes


_MAY_HAVE_HAPPENED: Final = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR)
_BEGUN_BY_A_LEADER: Final = (
    (Function.DELETE_RECORDS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    (Function.DELETE_RECORDS, ErrorCode.KAFKA_STORAGE_ERROR),
)
"""A leader that is deposed, or loses its log, while it waits for the others had begun already."""


def _frozen(assignment: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, assignment))
