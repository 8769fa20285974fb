"""Small fakes of a broker's parts, and a client that speaks to its dispatcher in real bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from broker.client_gate import ClientGate
from broker.context import Context
from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.control_rules import refuse_leader_and_isr
from broker.core.fetch_session import FetchSessions
from broker.core.groups.group_shard import GroupShard
from broker.core.metadata_answer import MetadataAnswers
from broker.core.metadata_image import MetadataImage
from broker.core.producer_entry import ProducerEntry
from broker.dispatcher import Dispatcher
from broker.engine.types import (
    DeletedRecords,
    EpochAnswer,
    FetchParams,
    FetchPart,
    FetchResult,
    ListedOffset,
    LogDirDescription,
    ProducePart,
    ProduceResult,
)
from broker.metrics import Metrics
from broker.record_turns import RecordTurns
from broker.storage.worker import InlineDiskWorker
from protocol.apis import APIS
from protocol.configs.parsing import BrokerOverrides, broker_config
from protocol.connection import Peer, RequestReceived
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from protocol.records.build import NewRecord, build_batch
from protocol.topic_names import CONSUMER_OFFSETS
from protocol.transport.begun_answers import LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.wire.fast import codec
from protocol.wire.table import META
from tests.broker.fake_configs import FakeGroupConfigs, FakeTopicConfigs
from tests.broker.fake_shards import WALL_MS, FakeShards
from tests.broker.fake_transactions import FakeProducerIds, FakeTransactions, FakeVerifier

TOPIC_ID, PEER = bytes(range(16)), Peer("127.0.0.1", 50_000)


def live_broker(broker_id: int) -> UpdateMetadataBroker:
    endpoint = UpdateMetadataEndpoint(
        port=9090 + broker_id, host="127.0.0.1", listener="PLAINTEXT", security_protocol=0
    )
    return UpdateMetadataBroker(id=broker_id, endpoints=[endpoint], rack=None)


def topic_state(
    name: str = "orders", *, leaders: Sequence[int] = (1, 2), topic_id: bytes = TOPIC_ID
) -> UpdateMetadataTopicState:
    return UpdateMetadataTopicState(
        topic_name=name,
        topic_id=topic_id,
        partition_states=[
            UpdateMetadataPartitionState(
                partition_index=index,
                controller_epoch=1,
                leader=leader,
                leader_epoch=0,
                isr=[1, 2],
                zk_version=0,
                replicas=[1, 2],
                offline_replicas=[],
            )
            for index, leader in enumerate(leaders)
        ],
    )


def update_metadata(*topics: UpdateMetadataTopicState) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=100,
        controller_epoch=1,
        broker_epoch=7,
        topic_states=list(topics),
        live_brokers=[live_broker(1), live_broker(2)],
    )


class FakeBegunProduce:
    def __init__(self, results: list[ProduceResult]) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_abandoned = False
        self._results = results

    def results(self) -> list[ProduceResult]:
        assert self.ready.done()
        return self._results

    def abandon(self) -> None:
        self.is_abandoned = True


class FakeEngine:
    """Every concern of an engine: answers what it was told to and remembers what it was asked."""

    def __init__(self) -> None:
        self.metadata = MetadataImage(broker_id=BrokerId(1))
        self.produced: list[tuple[list[ProducePart], int, int]] = []
        self.holds_produces = False
        """Begun produces wait until the test sets ``ready``."""
        self.begun: list[FakeBegunProduce] = []
        self.produce_results: list[ProduceResult] = []
        """Answered instead of ``produce_codes``."""
        self.produce_codes: dict[TopicPartition, ErrorCode] = {}
        self.fetched: list[tuple[FetchParams, list[FetchPart]]] = []
        self.fetch_results: dict[TopicPartition, FetchResult] = {}
        self.is_empty_enough = False
        self.deleted: list[tuple[list[tuple[TopicPartition, int]], int]] = []
        self.delete_codes: dict[TopicPartition, ErrorCode] = {}
        self.listed: ListedOffset = ListedOffset(ErrorCode.NONE, 5, 10, 2)
        self.epoch_answer = EpochAnswer(ErrorCode.NONE, 3, 30)
        self.leader_and_isr_requests: list[LeaderAndIsrRequest] = []
        self.stop_replica_requests: list[StopReplicaRequest] = []
        self.wishes: list[tuple[TopicPartition, str]] = []
        self.move_codes: dict[TopicPartition, ErrorCode] = {}
        self.described: list[LogDirDescription] = []
        self.known_producers: dict[TopicPartition, list[ProducerEntry]] = {}
        self.described_filter: Mapping[str, Sequence[int]] | None = {}
        self.control_code = ErrorCode.NONE
        self.error: Exception | None = None

    async def begin(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> FakeBegunProduce:
        self._raise()
        self.produced.append((list(parts), acks, timeout_ms))
        results = self.produce_results or [
            ProduceResult(
                error_code=self.produce_codes.get(part.tp, ErrorCode.NONE), base_offset=index
            )
            for index, part in enumerate(parts)
        ]
        begun = FakeBegunProduce(results)
        self.begun.append(begun)
        if not self.holds_produces:
            begun.ready.set_result(None)
        return begun

    def producers(self, tp: TopicPartition) -> list[ProducerEntry]:
        self._raise()
        if tp not in self.known_producers:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.known_producers[tp]

    async def fetch(self, params: FetchParams, parts: Sequence[FetchPart]) -> list[FetchResult]:
        self._raise()
        self.fetched.append((params, list(parts)))
        empty = FetchResult(high_watermark=9, last_stable_offset=9, log_start_offset=0)
        return [self.fetch_results.get(part.tp, empty) for part in parts]

    async def delete(
        self,
        parts: Sequence[tuple[TopicPartition, int]],
        *,
        timeout_ms: int,
        is_empty_enough: bool = False,
    ) -> list[DeletedRecords]:
        self._raise()
        self.is_empty_enough = is_empty_enough
        self.deleted.append((list(parts), timeout_ms))
        return [
            DeletedRecords(self.delete_codes.get(tp, ErrorCode.NONE), offset)
            for tp, offset in parts
        ]

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        *,
        current_leader_epoch: int,
        isolation_level: int,
        replica_id: int,
    ) -> ListedOffset:
        self._raise()
        return self.listed

    def offset_for_leader_epoch(
        self,
        tp: TopicPartition,
        *,
        current_leader_epoch: int,
        leader_epoch: int,
        replica_id: int,
    ) -> EpochAnswer:
        return self.epoch_answer

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        self._raise()
        self.leader_and_isr_requests.append(request)
        return refuse_leader_and_isr(request, self.control_code)

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        self._raise()
        self.stop_replica_requests.append(request)
        return StopReplicaResponse(
            error_code=ErrorCode.NONE,
            partition_errors=[
                StopReplicaPartitionError(
                    topic_name=topic.topic_name,
                    partition_index=state.partition_index,
                    error_code=self.control_code,
                )
                for topic in request.topic_states
                for state in topic.partition_states
            ],
        )

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        self._raise()
        if not self.control_code:
            self.metadata.update(request)
        return UpdateMetadataResponse(error_code=self.control_code)

    async def alter(
        self, parts: Sequence[tuple[TopicPartition, str]]
    ) -> dict[TopicPartition, ErrorCode]:
        self._raise()
        self.wishes.extend(parts)
        return {tp: self.move_codes.get(tp, ErrorCode.NONE) for tp, _ in parts}

    def log_dirs(self, topics: Mapping[str, Sequence[int]] | None) -> list[LogDirDescription]:
        self._raise()
        self.described_filter = topics
        return self.described

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error


@dataclass
class FakeController:
    """Remembers forwarded requests; answers with ``answer`` or raises it."""

    answer: Any = None
    forwarded: list[tuple[Any, int, int]] = field(default_factory=list[tuple[Any, int, int]])

    async def forward(self, request: Any, version: int, *, timeout_ms: int) -> Any:
        self.forwarded.append((request, version, timeout_ms))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class FakeBrokerConfigs:
    """A file, and what the test sets dynamically."""

    def __init__(self, static: Mapping[str, str]) -> None:
        self.overrides = BrokerOverrides(static=static, dynamic={}, dynamic_default={})
        self.config = broker_config(static)

    def set(self, dynamic: Mapping[str, str]) -> None:
        """Replace what is set dynamically."""
        self.overrides = replace(self.overrides, dynamic=dynamic)
        self.config = broker_config({**self.overrides.static, **dynamic})


@dataclass
class FakeConfigNews:
    """Remembers what it was told."""

    requests: list[UpdateMetadataRequest] = field(default_factory=list[UpdateMetadataRequest])

    async def told(self, request: UpdateMetadataRequest) -> None:
        self.requests.append(request)


@dataclass
class FakeAutoTopics:
    """Remembers names."""

    names: list[str] = field(default_factory=list[str])

    def create(self, names: Iterable[str]) -> None:
        self.names.extend(names)


class FakeBroker:
    """A context of fakes behind a real dispatcher."""

    def __init__(self, **overrides: str) -> None:
        configs = {name.replace("_", "."): value for name, value in overrides.items()}
        self.engine = FakeEngine()
        self.controller = FakeController()
        self.producer_ids = FakeProducerIds()
        self.topic_configs = FakeTopicConfigs()
        self.group_configs = FakeGroupConfigs()
        self.broker_configs = FakeBrokerConfigs(configs)
        self.config_news, self.auto_topics = FakeConfigNews(), FakeAutoTopics()
        group_shard = GroupShard(
            broker_config({}),
            lambda: 1_000_000,
            self.engine.metadata,
            self.group_configs.config_of,
        )
        self.groups = FakeShards(CONSUMER_OFFSETS, group_shard)
        self.transactions = FakeTransactions()
        self.verifier = FakeVerifier()
        self.metrics = Metrics(1)
        self.client_quotas, self.client_gate = ClientQuotas(broker_config({})), ClientGate()
        self.client_gate.open()
        self.journal_heard: list[Any] = []
        self.context = Context(
            broker_id=1,
            cluster_id="cluster",
            broker_configs=self.broker_configs,
            config_news=self.config_news,
            metadata=self.engine.metadata,
            produces=self.engine,
            fetches=self.engine,
            offsets=self.engine,
            record_deletions=self.engine,
            describe=self.engine,
            moves=self.engine,
            leadership=self.engine,
            stopping=self.engine,
            metadata_answers=MetadataAnswers(self.engine.metadata),
            controller=self.controller,
            producer_ids=self.producer_ids,
            topic_configs=self.topic_configs,
            group_configs=self.group_configs,
            auto_topics=self.auto_topics,
            groups=self.groups,
            new_uuid=map("uuid{}".format, count(1)).__next__,
            transactions=self.transactions,
            verifier=self.verifier,
            fetch_sessions=FetchSessions(),
            client_gate=self.client_gate,
            client_quotas=self.client_quotas,
            metrics=self.metrics,
            record_turns=RecordTurns(InlineDiskWorker(asyncio.get_running_loop())),
            loop_ms=lambda: int(asyncio.get_running_loop().time() * 1000),
            wall_ms=lambda: WALL_MS,
            elapsed_us=lambda: int(asyncio.get_running_loop().time() * 1_000_000),
            journal_heard=self.journal_heard.append,
            until_epoch_known=self._until_epoch_known,
        )
        self.epoch_known = asyncio.Event()  # Requests of the controller wait for it.
        self.epoch_known.set()
        self.dispatcher = Dispatcher(self.context)

    async def _until_epoch_known(self) -> None:
        await self.epoch_known.wait()

    async def ask(self, request: object, version: int, *, peer: Peer = PEER) -> Any:
        """Send ``request`` as bytes; return the decoded answer, None when there is none."""
        key = META[type(request)].api_key
        assert key is not None
        body = await self.ask_raw(
            key, version, bytes(codec(type(request), version).encode(request)), peer=peer
        )
        response = APIS[key].response
        return None if body is None else codec(response, version).decode(body)

    async def ask_raw(
        self, key: int, version: int, body: bytes, *, peer: Peer = PEER
    ) -> bytes | None:
        received = RequestReceived(key, version, 1, "test", memoryview(bytearray(body)))
        parts = await self.dispatcher.dispatch(received, peer)
        assert not isinstance(parts, HeldRequest), "the gate is open"
        if isinstance(parts, LaterAnswer):
            await parts.ready
            parts = parts.finish()
        return None if parts is None else b"".join(parts)


def batch(value: bytes = b"v") -> bytes:
    """Return one record batch as a producer sends it."""
    return bytes(build_batch([NewRecord(value, timestamp_ms=1_000)]))
