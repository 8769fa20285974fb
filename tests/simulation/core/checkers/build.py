"""Makes evidence by hand, few words per fact."""

from __future__ import annotations

from itertools import count

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, ServiceLevel
from simulation.core.history import (
    Function,
    History,
    Invocation,
    Order,
    Poll,
    ProducerRange,
    Read,
    Send,
)
from simulation.core.samples import (
    BatchSample,
    LogSample,
    PartitionSample,
    ReplicaSample,
    Role,
    Samples,
)

TP = TopicPartition("orders", 0)
SIBLING = TopicPartition("orders", 1)
SECOND_US = 1_000_000


class Story:
    """A run as it is told: its history, its samples and its clock."""

    def __init__(self) -> None:
        self.now_us = 0
        self.history = History(lambda: self.now_us)
        self.samples = Samples()
        self.service_level = ServiceLevel()
        self.configs: dict[str, str] = {}

    @property
    def evidence(self) -> Evidence:
        return Evidence(
            history=self.history.operations,
            samples=self.samples,
            service_level=self.service_level,
            configs=self.configs,
        )

    def at(self, seconds: float) -> Story:
        self.now_us = int(seconds * SECOND_US)
        self.samples.ended_us = self.now_us
        return self

    def send(
        self,
        *records: int,
        tp: TopicPartition = TP,
        offset: int = -1,
        broker: int = 1,
        acks: int = -1,
        producer: ProducerRange | None = None,
        client: str = "writer",
        has_timestamps: bool = True,
    ) -> None:
        """Begin and acknowledge at once."""
        send = Send(tp, records, acks, producer, offset, broker, 0, has_timestamps=has_timestamps)
        self.history.begin(client, Function.SEND, send).ok(send)

    def begin_send(
        self, *records: int, tp: TopicPartition = TP, client: str = "writer"
    ) -> Invocation:
        return self.history.begin(client, Function.SEND, Send(tp, records, -1))

    def read(self, *records: tuple[int, int], tp: TopicPartition = TP, broker: int = 1) -> None:
        poll = Poll(broker, (Read(tp, 0, 0, records),))
        self.history.begin("reader", Function.POLL, poll).ok(poll)

    def order(self, function: Function, order: Order) -> None:
        self.history.begin("admin", function, order).ok(order)

    def replica(
        self,
        broker: int,
        role: Role = Role.FOLLOWER,
        *,
        tp: TopicPartition = TP,
        epoch: int = 0,
        log_dir: str = "d1",
        end: int = 0,
        high_watermark: int = 0,
        isr: tuple[int, ...] = (),
        boot: int = 1,
        start: int = 0,
        next_offset: int = -1,
        topic_id: bytes = b"",
        partition_epoch: int = -1,
    ) -> None:
        self.samples.replicas.append(
            ReplicaSample(
                self.now_us,
                broker,
                boot,
                tp,
                role,
                topic_id,
                log_dir=log_dir,
                leader_epoch=epoch,
                log_start_offset=start,
                log_end_offset=end,
                high_watermark=high_watermark,
                isr=isr,
                next_offset=next_offset,
                partition_epoch=partition_epoch,
            )
        )

    def partition(
        self,
        *,
        isr: tuple[int, ...] = (1, 2),
        leader: int = 1,
        epoch: int = 0,
        replicas: tuple[int, ...] = (1, 2),
        offline: tuple[int, ...] = (),
        tp: TopicPartition = TP,
        topic_id: bytes = b"",
        is_deleted: bool = False,
        is_recovering: bool = False,
        is_gone: bool = False,
        is_reassigned: bool = False,
    ) -> None:
        sample = PartitionSample(self.now_us, tp, topic_id, replicas, isr, leader, epoch, offline)
        self.samples.partitions.append(
            sample._replace(
                is_deleted=is_deleted or is_gone,
                is_recovering=is_recovering,
                is_gone=is_gone,
                is_reassigned=is_reassigned,
            )
        )

    def log(
        self,
        broker: int,
        *records: int,
        tp: TopicPartition = TP,
        log_dir: str = "d1",
        start: int = 0,
        is_leader: bool = False,
        is_future: bool = False,
        is_readable: bool = True,
        high_watermark: int | None = None,
    ) -> None:
        """A log with one record per batch, from offset ``start`` on."""
        batches = tuple(batch(offset, record) for offset, record in enumerate(records, start))
        self.samples.logs.append(
            LogSample(
                broker,
                log_dir,
                tp,
                is_future,
                is_readable,
                start + len(records) if high_watermark is None else high_watermark,
                start,
                is_leader,
                batches,
            )
        )


def batch(
    offset: int,
    *records: int,
    producer: tuple[int, int, int] = (-1, -1, -1),
    digest: int | None = None,
) -> BatchSample:
    return BatchSample(
        offset,
        offset + len(records),
        hash((offset, records)) if digest is None else digest,
        *producer,
        tuple(zip(count(offset), records, strict=False)),
    )
