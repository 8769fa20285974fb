"""Brokers without processes: engines, handlers, codecs are real; disks and network are memory."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar, cast

from broker.handlers import HANDLERS
from broker.storage.memory_disk import MemoryDisk
from broker.storage.recovery import LoadedLogDir
from protocol.apis import APIS
from protocol.connection import Peer, RequestReceived
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    PartitionData,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from protocol.transport.begun_answers import LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.wire.fast import codec
from protocol.wire.table import META
from tests.broker.engine.messages import (
    BROKER_EPOCH,
    ORDERS,
    Led,
    leader_and_isr,
    topic_id_of,
    update_metadata,
)
from tests.broker.engine.node import LabPorts, Node

T = TypeVar("T")
NETWORK_S = 0.0005


class LabClient:
    """A connection to another broker: its dispatcher, half a millisecond away."""

    def __init__(self, lab: Lab, own_id: int, target_id: int) -> None:
        self._lab = lab
        self._own_id = own_id
        self._target_id = target_id
        self._turn = asyncio.Lock()

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        del timeout_ms
        async with self._turn:
            key = META[type(message)].api_key
            assert key is not None
            assert key in HANDLERS
            body = bytearray(codec(cast("type[Any]", type(message)), version).encode(message))
            await asyncio.sleep(NETWORK_S)
            target = self._target()
            self._lab.requests.append((self._own_id, self._target_id, message))
            received = RequestReceived(key, version, 1, "lab", memoryview(body))
            parts = await target.dispatcher.dispatch(received, Peer("127.0.0.1", 1))
            if isinstance(parts, LaterAnswer):
                await parts.ready
                parts = parts.finish()
            await asyncio.sleep(NETWORK_S)
            if self._target() is not target:
                raise ConnectionError("another incarnation")
            assert parts is not None
            assert not isinstance(parts, HeldRequest), "the gate is open"
            return codec(APIS[key].response, version).decode(bytearray(b"".join(parts)))

    def _target(self) -> Node:
        own, target = (self._lab.nodes.get(each) for each in (self._own_id, self._target_id))
        if own is None or target is None or not (target.is_reachable and own.is_reachable):
            raise ConnectionError("cut off")
        return target

    def close(self) -> None:
        return None


class Lab:
    """A cluster in one loop."""

    def __init__(self, overrides: dict[str, str], *, first_seed: int = 0) -> None:
        self.overrides = overrides
        self.nodes: dict[int, Node] = {}
        self.led: dict[TopicPartition, Led] = {}
        self.racks: dict[int, str] = {}
        self.requests: list[tuple[int, int, Any]] = []
        self._seeds = itertools.count(first_seed)
        self.isr_code = ErrorCode.NONE
        self.alter_requests: list[AlterPartitionRequest] = []
        self.group: asyncio.TaskGroup

    def ports(self) -> LabPorts:
        return LabPorts(
            self.overrides,
            partial(LabClient, self),
            partial(next, self._seeds),
            self.alter_partition,
        )

    @staticmethod
    @asynccontextmanager
    async def running(
        *, broker_count: int, dir_count: int, **overrides: str
    ) -> AsyncGenerator[Lab]:
        lab = Lab({name.replace("_", "."): value for name, value in overrides.items()})
        for broker_id in range(1, broker_count + 1):
            disks = [MemoryDisk(f"/b{broker_id}/d{n}") for n in range(1, dir_count + 1)]
            lab.nodes[broker_id] = Node(broker_id, disks, lab.ports())
            await lab.nodes[broker_id].start()
        async with asyncio.TaskGroup() as group:
            lab.group = group
            for node in lab.nodes.values():
                node.run(group)
            try:
                yield lab
            finally:
                lab.end()

    def end(self) -> None:
        tasks: set[asyncio.Task[Any]] = getattr(self.group, "_tasks")  # noqa: B009
        for task in list(tasks):
            task.cancel()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Let something go on beside the test."""
        return self.group.create_task(work)

    def __getitem__(self, broker_id: int) -> Node:
        return self.nodes[broker_id]

    async def restart(
        self,
        broker_id: int,
        *,
        is_clean: bool = True,
        disks: Sequence[MemoryDisk] | None = None,
        change: Callable[[dict[str, LoadedLogDir]], Any] = len,
    ) -> Node:
        """Stop a broker (or kill it) and start it on the same disks, or on others.

        A test may ``change`` what is found there.
        """
        old = self.nodes[broker_id]
        old.is_reachable = False
        if is_clean:
            await old.engine.stop()
        else:
            await self.kill(old)
        for disk in old.memory.values():
            disk.kill()
        own = list(old.memory.values()) if disks is None else disks
        node = self.nodes[broker_id] = Node(broker_id, own, self.ports())
        node.topic_configs = old.topic_configs
        await node.start(change)
        node.run(self.group)
        self.tell_metadata()
        return node

    async def kill(self, node: Node) -> None:
        """End a broker as kill -9 does."""
        for worker in node.workers.values():
            worker.abandon()
        node.following.stop()
        node.moves.stop()
        node.periodic.stop()
        node.cleaning.stop()
        await asyncio.sleep(0)

    # The controller.

    async def create(
        self,
        tp: TopicPartition = ORDERS,
        *,
        replicas: Sequence[int] = (1, 2, 3),
        **configs: str,
    ) -> None:
        self.led[tp] = Led(list(replicas), replicas[0], list(replicas))
        for node in self.nodes.values():
            node.topic_configs[tp.topic] = {k.replace("_", "."): v for k, v in configs.items()}
        self.tell_metadata()
        codes = await self.tell(tp, is_new=True)
        assert set(codes.values()) == {ErrorCode.NONE}, codes

    async def elect(self, tp: TopicPartition, leader: int, isr: Sequence[int]) -> dict[int, int]:
        led = self.led[tp]
        led.leader, led.isr = leader, list(isr)
        led.leader_epoch += 1
        led.partition_epoch += 1
        self.tell_metadata()
        return await self.tell(tp)

    async def tell(
        self, *tps: TopicPartition, is_new: bool = False, to: Sequence[int] | None = None
    ) -> dict[int, int]:
        """Send LeaderAndIsr; return each broker's code for the last partition."""
        codes: dict[int, int] = {}
        request = leader_and_isr({tp: self.led[tp] for tp in tps}, is_new=is_new)
        wanted = self.led[tps[-1]].replicas if to is None else to
        for broker_id in wanted:
            node = self.nodes[broker_id]
            if node.is_reachable:
                answer = await node.engine.leadership.leader_and_isr(request)
                codes[broker_id] = answer.topics[-1].partition_errors[-1].error_code
        return codes

    def tell_metadata(self) -> None:
        for node in self.nodes.values():
            node.engine.leadership.update_metadata(
                update_metadata(self.led, list(self.nodes), self.racks)
            )

    async def stop_replica(
        self, broker_id: int, tp: TopicPartition, *, delete: bool, leader_epoch: int = -2
    ) -> int:
        state = StopReplicaPartitionState(
            partition_index=tp.partition, leader_epoch=leader_epoch, delete_partition=delete
        )
        request = StopReplicaRequest(
            controller_id=9,
            controller_epoch=1,
            broker_epoch=BROKER_EPOCH,
            topic_states=[StopReplicaTopicState(topic_name=tp.topic, partition_states=[state])],
        )
        answer = await self.nodes[broker_id].engine.stopping.stop_replica(request)
        return answer.partition_errors[0].error_code

    async def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        await asyncio.sleep(NETWORK_S)
        if not self.nodes[request.broker_id].is_reachable:
            raise ConnectionError("cut off")
        self.alter_requests.append(request)
        topics = [
            AlterPartitionResponseTopicData(
                topic_id=topic.topic_id,
                partitions=[self._grant(topic.topic_id, row) for row in topic.partitions],
            )
            for topic in request.topics
        ]
        return AlterPartitionResponse(throttle_time_ms=0, error_code=0, topics=topics)

    def _grant(self, topic_id: bytes, row: PartitionData) -> AlterPartitionResponsePartitionData:
        (tp,) = [
            tp
            for tp in self.led
            if topic_id_of(tp.topic) == topic_id and tp.partition == row.partition_index
        ]
        led, code = self.led[tp], self.isr_code
        if code == ErrorCode.NONE and row.leader_epoch < led.leader_epoch:
            code = ErrorCode.FENCED_LEADER_EPOCH
        if code == ErrorCode.NONE and row.partition_epoch < led.partition_epoch:
            code = ErrorCode.INVALID_UPDATE_VERSION
        if code == ErrorCode.NONE:
            led.isr = [member.broker_id for member in row.new_isr_with_epochs]
            led.partition_epoch += 1
        return AlterPartitionResponsePartitionData(
            partition_index=row.partition_index,
            error_code=code,
            leader_id=led.leader,
            leader_epoch=led.leader_epoch,
            isr=led.isr,
            partition_epoch=led.partition_epoch,
        )


def appended(node: Node, end_offset: int, counts: bool) -> None:
    assert counts
    node.replica().partition.leader_appended(
        end_offset, now_ms=node.state.now_ms(), lag_time_max_ms=30_000
    )
