"""What a lane does after each kind of answer, told by a scripted leader."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from protocol.connection import CloseConnection, Peer, RequestReceived
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.ports import Buffer
from protocol.records.batch import read_batch_header
from protocol.records.build import NewRecord
from protocol.transport.rpc_server import RpcServer
from protocol.wire.fast import codec
from simulation.core.history import Function, History, Kind, Operation, ProducerRange, Send
from simulation.workload.clients import ClusterClient
from simulation.workload.partition_sender import (
    Batch,
    PartitionSender,
    ProducerIdAndEpoch,
    SenderContext,
    SenderSettings,
)
from simulation.workload.progress import Progress

HOST = "leader"
PORT = 9_000
TP = TopicPartition("orders", 0)
HANG_UP = -2
KEEP_QUIET = -3
Script = Sequence[int]


class Leader:
    """Answers the n-th Produce with the n-th code of its script, and those behind it with NONE."""

    def __init__(self, script: Script) -> None:
        self.script = list(script)
        self.produced: list[ProducerRange] = []
        self.metadata_count = 0
        self.has_topic = True
        self.gate = asyncio.Event()
        self.gate.set()
        self._server = RpcServer(self._dispatch)

    async def start(self) -> None:
        await self._server.start(HOST, PORT)

    async def stop(self) -> None:
        await self._server.stop()

    async def _dispatch(self, request: RequestReceived, _peer: Peer) -> Sequence[Buffer] | None:
        if request.api_key == 3:
            return self._tell_metadata(request)
        asked: Any = codec(ProduceRequest, request.api_version).decode(request.body)
        header = read_batch_header(asked.topic_data[0].partition_data[0].records)
        self.produced.append(
            ProducerRange(header.producer_id, header.producer_epoch, header.base_sequence)
        )
        await self.gate.wait()
        code = self.script.pop(0) if self.script else 0
        if code == HANG_UP:
            raise CloseConnection("as told")
        if code == KEEP_QUIET:
            await asyncio.sleep(1_000)
        part = PartitionProduceResponse(
            index=0, error_code=code, base_offset=-1 if code else len(self.produced)
        )
        answer = ProduceResponse(
            responses=[TopicProduceResponse(name="orders", partition_responses=[part])]
        )
        return [codec(ProduceResponse, request.api_version).encode(answer)]

    def _tell_metadata(self, request: RequestReceived) -> Sequence[Buffer]:
        codec(MetadataRequest, request.api_version).decode(request.body)
        self.metadata_count += 1
        partition = MetadataResponsePartition(
            error_code=0,
            partition_index=0,
            leader_id=1,
            leader_epoch=4,
            replica_nodes=[1],
            isr_nodes=[1],
            offline_replicas=[],
        )
        topic = MetadataResponseTopic(
            error_code=0, name="orders", topic_id=ZERO_UUID, partitions=[partition]
        )
        if not self.has_topic:
            topic = MetadataResponseTopic(
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name="orders", partitions=[]
            )
        broker = MetadataResponseBroker(node_id=1, host=HOST, port=PORT)
        answer = MetadataResponse(brokers=[broker], topics=[topic])
        return [codec(MetadataResponse, request.api_version).encode(answer)]


class Trial:
    """One lane that writes to a scripted leader."""

    def __init__(self, script: Script, *, is_idempotent: bool = True) -> None:
        loop = asyncio.get_running_loop()
        self.leader = Leader(script)
        self.history = History(lambda: int(loop.time() * 1_000_000))
        self.progress = Progress()
        self.identities: list[bool] = []
        self.refusals: list[Exception] = []
        self.client = ClusterClient({1: (HOST, PORT)}, "writer", request_timeout_ms=1_000)
        settings = SenderSettings(
            acks=-1,
            in_flight_max=3,
            delivery_timeout_ms=5_000,
            retry_backoff_ms=100,
            request_timeout_ms=1_000,
        )
        identify = self._identify if is_idempotent else None
        self.lane = PartitionSender(
            TP, SenderContext(self.client, settings, self.progress, identify)
        )

    async def _identify(self, is_fresh: bool) -> ProducerIdAndEpoch:
        if self.refusals:
            raise self.refusals.pop()
        self.identities.append(is_fresh)
        return ProducerIdAndEpoch(7 + len(self.identities) - 1, 0)

    async def run(self, count: int) -> list[Operation]:
        """Write so many batches at once and return how they ended, in the order of records."""
        await self.leader.start()
        await self.client.refresh("orders")
        self.leader.metadata_count = 0
        for number in range(count):
            self.lane.add(self.batch(number))
        self.lane.finish()
        await self.lane.run()
        self.client.close()
        await self.leader.stop()
        ends = [each for each in self.history if each.kind is not Kind.INVOKE]
        return sorted(ends, key=lambda each: send_of(each).records)

    def batch(self, number: int) -> Batch:
        now_s = asyncio.get_running_loop().time()
        invocation = self.history.begin("writer", Function.SEND, Send(TP, (number,), -1))
        return Batch(invocation, (NewRecord(b"v"),), now_s + 5)

    @property
    def sequences(self) -> list[tuple[int, int]]:
        return [(each.producer_id, each.base_sequence) for each in self.leader.produced]


def send_of(operation: Operation) -> Send:
    assert isinstance(operation.value, Send)
    return operation.value


async def test_batches_are_sent_in_order_and_end_with_where_they_are() -> None:
    trial = Trial([])

    ends = await trial.run(4)

    assert [each.kind for each in ends] == [Kind.OK] * 4
    assert trial.sequences == [(7, 0), (7, 1), (7, 2), (7, 3)]
    first = send_of(ends[0])
    assert (first.broker, first.leader_epoch, first.base_offset) == (1, 4, 1)
    assert first.producer == ProducerRange(7, 0, 0)
    assert (trial.progress.acknowledged, trial.progress.errors) == (4, {})


async def test_no_more_are_in_flight_than_allowed() -> None:
    trial = Trial([])
    trial.leader.gate.clear()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(trial.run(10))
        await asyncio.sleep(0.5)
        assert trial.lane.in_flight_count == 3
        trial.leader.gate.set()

    assert [each.kind for each in running.result()] == [Kind.OK] * 10


async def test_those_behind_a_refused_one_are_sent_again_in_order() -> None:
    trial = Trial(
        [
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ]
    )

    ends = await trial.run(3)

    assert [each.kind for each in ends] == [Kind.OK] * 3
    assert trial.sequences == [(7, 0), (7, 1), (7, 2)] * 2
    assert trial.leader.metadata_count == 1
    assert trial.identities == [False]


async def test_nothing_new_goes_behind_a_batch_that_is_sent_again() -> None:
    """Seed 155: it would be none of the last five of its producer any more."""
    after_append = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    trial = Trial([after_append, 0, 0, after_append])

    ends = await trial.run(5)

    assert [each.kind for each in ends] == [Kind.OK] * 5
    assert [number for _, number in trial.sequences] == [0, 1, 2, 0, 0, 3, 4]


async def test_a_batch_that_was_there_already_is_acknowledged() -> None:
    (end,) = await Trial([HANG_UP, ErrorCode.DUPLICATE_SEQUENCE_NUMBER]).run(1)

    assert end.kind is Kind.OK
    assert send_of(end).base_offset == -1


@pytest.mark.parametrize("silence", [HANG_UP, KEEP_QUIET])
async def test_a_lost_connection_and_silence_are_tried_again(silence: int) -> None:
    trial = Trial([silence])

    ends = await trial.run(2)

    assert [each.kind for each in ends] == [Kind.OK] * 2
    assert trial.sequences[-2:] == [(7, 0), (7, 1)]
    assert trial.leader.metadata_count == 1


async def test_codes_that_say_nothing_of_leaders_are_retried_without_asking_for_metadata() -> None:
    trial = Trial([ErrorCode.NOT_ENOUGH_REPLICAS] * 2)

    (end,) = await trial.run(1)

    assert end.kind is Kind.OK
    assert trial.leader.metadata_count == 0
    assert trial.progress.errors == {"NOT_ENOUGH_REPLICAS": 2}


async def test_a_refused_batch_fails_and_the_next_ones_go_on_under_another_identity() -> None:
    trial = Trial([ErrorCode.MESSAGE_TOO_LARGE])

    ends = await trial.run(5)

    # Those in flight with it were numbered behind it.
    assert [each.kind for each in ends] == [Kind.FAIL, Kind.OK, Kind.OK, Kind.OK, Kind.OK]
    assert trial.identities == [False, True]
    assert trial.sequences[3:] == [(8, 0), (8, 1)]


async def test_what_was_sent_behind_a_batch_that_is_given_up_may_be_there() -> None:
    trial = Trial([ErrorCode.UNKNOWN_PRODUCER_ID, HANG_UP])

    ends = await trial.run(4)

    assert [each.kind for each in ends] == [Kind.INFO, Kind.INFO, Kind.INFO, Kind.OK]
    behind = "behind one that ended with UNKNOWN_PRODUCER_ID"
    assert [each.error for each in ends[:3]] == ["UNKNOWN_PRODUCER_ID", behind, behind]
    assert trial.sequences[-1] == (8, 0)


async def test_without_idempotence_only_the_refused_one_is_given_up() -> None:
    trial = Trial([ErrorCode.MESSAGE_TOO_LARGE], is_idempotent=False)

    ends = await trial.run(3)

    assert [each.kind for each in ends] == [Kind.FAIL, Kind.OK, Kind.OK]
    assert trial.sequences == [(-1, -1)] * 3


async def test_after_its_time_a_batch_that_may_be_there_ends_as_unknown() -> None:
    (end,) = await Trial([ErrorCode.REQUEST_TIMED_OUT] * 100).run(1)

    assert (end.kind, end.error) == (Kind.INFO, "REQUEST_TIMED_OUT")
    assert end.at_us >= 5_000_000


async def test_after_its_time_a_batch_that_was_always_refused_ends_as_failed() -> None:
    (end,) = await Trial([ErrorCode.NOT_ENOUGH_REPLICAS] * 100).run(1)

    assert (end.kind, end.error) == (Kind.FAIL, "REQUEST_TIMED_OUT")


async def test_who_ends_waits_no_longer_for_a_topic_that_is_gone() -> None:
    trial = Trial([ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 100)
    running = asyncio.get_running_loop().create_task(trial.run(4))
    await asyncio.sleep(0.05)
    trial.leader.has_topic = False

    ends = await running

    assert [end.kind for end in ends] == [Kind.INFO] * 3 + [Kind.FAIL]
    assert all((end.error or "").endswith("UNKNOWN_TOPIC_OR_PARTITION") for end in ends)
    assert all(end.at_us < 1_000_000 for end in ends)


async def test_who_goes_on_writing_waits_for_a_topic_that_is_gone() -> None:
    trial = Trial([ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 6)
    await trial.leader.start()
    await trial.client.refresh("orders")
    trial.leader.has_topic = False
    trial.lane.add(trial.batch(0))
    running = asyncio.get_running_loop().create_task(trial.lane.run())
    await asyncio.sleep(4)
    trial.lane.finish()
    await running
    trial.client.close()
    await trial.leader.stop()

    (end,) = [each for each in trial.history if each.kind is not Kind.INVOKE]
    assert end.kind is Kind.OK


async def test_batches_wait_while_nobody_gives_an_identity() -> None:
    trial = Trial([])
    trial.refusals = [KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), ConnectionResetError()]

    (end,) = await trial.run(1)

    assert end.kind is Kind.OK
    assert trial.progress.errors == {"NETWORK_EXCEPTION": 1, "COORDINATOR_LOAD_IN_PROGRESS": 1}


async def test_what_is_left_of_a_run_that_was_cancelled_ends_as_it_is() -> None:
    trial = Trial([])
    trial.leader.gate.clear()
    running = asyncio.get_running_loop().create_task(trial.run(5))
    await asyncio.sleep(0.5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    trial.lane.abandon()

    ends = [each for each in trial.history if each.kind is not Kind.INVOKE]
    assert [each.kind for each in ends] == [Kind.INFO] * 3 + [Kind.FAIL] * 2
    assert {each.error for each in ends} == {"the run ended"}
    trial.leader.gate.set()
    trial.client.close()
    await trial.leader.stop()


async def test_it_waits_longer_after_each_error_until_a_batch_is_there() -> None:
    loop = asyncio.get_running_loop()
    away = ErrorCode.NOT_ENOUGH_REPLICAS
    trial = Trial([away] * 5)
    began_s = loop.time()

    ends = await trial.run(1)
    first_s = loop.time() - began_s

    assert [each.kind for each in ends] == [Kind.OK]
    assert first_s == pytest.approx(0.1 + 0.2 + 0.4 + 0.8 + 1.0, abs=0.1)
    assert trial.progress.errors == {away.name: 5}
