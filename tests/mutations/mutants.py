"""Parts of brokers and of the controller that break one promise each.

A part of a running node becomes a mutant by ``turn_into``; all its other code is the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from broker.client_gate import ClientGate
from broker.core.log_dirs import LogDirStates
from broker.core.log_positions import RaisedStart
from broker.core.metadata_image import MetadataChange, MetadataImage
from broker.core.partition import Leadership, Partition
from broker.core.producers import ProducerStates
from broker.core.retention import RetentionLimits
from broker.core.verification import VerificationGuard
from broker.engine.log.retention import Retention
from broker.engine.replica import Replica
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchResult
from broker.lifecycle.journal_knowledge import JournalKnowledge
from broker.storage.disk_queue import DiskQueue
from broker.storage.journal_checkpoint import JournalCheckpoint
from broker.storage.log_dir import FirstQueue
from broker.storage.partition_log import PartitionLog
from controller.app import Controller
from controller.core.decision import Decision, Durable
from controller.core.events import Event, RequestArrived, Tick
from controller.core.machine import Machine
from controller.core.state import ClusterState
from controller.journal import Journal
from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.configs import IncrementalAlterConfigsRequest
from protocol.messages.control import UpdateMetadataRequest
from protocol.messages.journal import JournalReport, put_report, report_of
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from simulation.world.sim_disk import SimDisk
from simulation.world.transport import SimTransport


def turn_into(mutant: type[Any], part: object) -> None:
    """Make ``part`` an object of ``mutant``, which is a subclass of what it was."""
    assert issubclass(mutant, type(part))
    part.__class__ = mutant


class HastyPartition(Partition):
    """Counts a record as committed when its leader has it."""

    __slots__ = ()

    def _raise_high_watermark(self, now_ms: int, lag_time_max_ms: int) -> bool:
        before, self.high_watermark = self.high_watermark, self.log_end_offset
        return self.high_watermark > before


class StuckPartition(Partition):
    """Commits nothing."""

    __slots__ = ()

    def _raise_high_watermark(self, now_ms: int, lag_time_max_ms: int) -> bool:
        return False


class CredulousFollower(Partition):
    """Takes the leader's high watermark for its own, whatever it has."""

    __slots__ = ()

    def follow_high_watermark(self, leader_high_watermark: int) -> bool:
        before, self.high_watermark = self.high_watermark, leader_high_watermark + 1
        return self.high_watermark > before


class HastyAnswer(Partition):
    """Answers acks=all when its leader has the records."""

    __slots__ = ()

    def replicated(self, required_offset: int) -> ErrorCode | None:
        return ErrorCode.NONE


class ContentLeader(Partition):
    """Takes any Isr for large enough."""

    __slots__ = ()

    @property
    def required_isr_count(self) -> int:
        return 1


class FallingPartition(Partition):
    """Lets its high watermark go back by one with every record."""

    __slots__ = ()

    def _raise_high_watermark(self, now_ms: int, lag_time_max_ms: int) -> bool:
        rose = super()._raise_high_watermark(now_ms, lag_time_max_ms)
        self.high_watermark = max(0, self.high_watermark - 2)
        return rose


class Usurper(Partition):
    """Leads when it is told to follow."""

    __slots__ = ()

    def become_follower(self, state: Leadership) -> None:
        super().become_follower(state)
        self.is_leader = True


class DeafFollower(Partition):
    """Does not hear where its leader's log begins."""

    __slots__ = ()

    def raise_log_start(self, offset: int) -> RaisedStart | None:
        return None


class ImpatientReplica(Replica):
    """Answers DeleteRecords when it alone has deleted them."""

    __slots__ = ()

    @property
    def low_watermark(self) -> int:
        return self.partition.log_start_offset


class EagerRetention(Retention):
    """Takes every record for an old one."""

    def _limits(self, replica: Replica, config: TopicConfig) -> RetentionLimits:
        return replace(super()._limits(replica, config), retention_ms=0)


class GenerousFetches(Fetches):
    """Gives readers all that followers get."""

    def _read(self, reading: Reading, replica: Replica, index: int) -> FetchResult:
        reading.is_follower = True
        return super()._read(reading, replica, index)


class Recluse(Partition):
    """Lets nobody come back into the Isr."""

    __slots__ = ()

    def propose_join(self, replica_id: BrokerId) -> bool:
        return False


class BitRotLog(PartitionLog):
    """Writes other bytes than it was given."""

    __slots__ = ()

    def append(self, buffers: Sequence[Buffer], *, now_ms: int) -> int:
        changed = [bytearray(buffer) for buffer in buffers]
        changed[-1][-1] ^= 1
        return super().append(changed, now_ms=now_ms)


class CoupledQueue(FirstQueue):
    """Waits for another log dir before it does anything."""

    other: DiskQueue

    def _start_hop(self) -> None:
        if self.other.queue_depth:
            self._loop.call_later(0.01, self._start_hop)
        else:
            super()._start_hop()


class GreedyQueue(FirstQueue):
    """Always has room."""

    def has_room(self) -> bool:
        return True


class ClingingDisk(SimDisk):
    """Says that it has renamed what is to be deleted, and has not."""

    def rename(self, old: str, new: str) -> None:
        if not new.endswith("-delete"):
            super().rename(old, new)


class GullibleProducers(ProducerStates):
    """Takes every batch for a new one."""

    __slots__ = ()

    def check(self, header: BatchHeader, guard: VerificationGuard | None = None) -> None:
        return None


class LossyJournal(Journal):
    """Says that decisions are durable, and has not written them."""

    async def append(self, decisions: Sequence[Decision]) -> Durable:
        return Durable(decisions[-1].journal_number)


class HastyJournal(Journal):
    """Says that decisions are durable, and has only begun to write them."""

    async def append(self, decisions: Sequence[Decision]) -> Durable:
        loop = asyncio.get_running_loop()
        self.writing = loop.create_task(super().append(decisions))
        return Durable(decisions[-1].journal_number)


class ForgetfulState(ClusterState):
    """Does not remember what a broker hosts."""

    __slots__ = ()

    def hosted_by(self, broker_id: int) -> list[TopicPartition]:
        return []


class StutteringTransport(SimTransport):
    """Says everything twice."""

    def write(self, data: Buffer) -> None:
        super().write(data)
        super().write(data)


class MuteTransport(SimTransport):
    """Says nothing."""

    def write(self, data: Buffer) -> None:
        return None


class DeafMachine(Machine):
    """Acts by its journal at once, and hears no broker before."""

    def step(self, event: Event, now_ms: int) -> Decision:
        decision = super().step(event, now_ms)
        hearing = self.run.hearing
        if hearing is None:
            return decision
        assert not decision.records
        hearing.awaited.clear()
        hearing.deadline_ms = now_ms
        return super().step(Tick(now_ms), now_ms)


class ReportReader(Machine):
    """Reads what brokers report of the journal in a way of its own."""

    def step(self, event: Event, now_ms: int) -> Decision:
        if isinstance(event, RequestArrived):
            report = report_of(event.request)
            if report is not None:
                self.read(report)
                put_report(event.request, report)
        return super().step(event, now_ms)

    def read(self, report: JournalReport) -> None:
        raise NotImplementedError


class MutantController(Controller):
    """A controller with another machine."""

    machine: type[Machine]

    async def _serve(self) -> None:
        turn_into(self.machine, self._machine)
        await super()._serve()


class EpochMachine(ReportReader):
    """Begins its epoch above those of its journal only."""

    def read(self, report: JournalReport) -> None:
        report.controller_epoch = min(report.controller_epoch, self.state.controller_epoch)


class BlockMachine(ReportReader):
    """Does not heed which blocks of producer ids brokers were given."""

    def read(self, report: JournalReport) -> None:
        report.producer_ids_end = 0


class GaplessMachine(Machine):
    """Leaves no gap for blocks of producer ids that nobody could be asked about."""

    def step(self, event: Event, now_ms: int) -> Decision:
        self.run.has_jumped = True
        return super().step(event, now_ms)


class PromisingMachine(Machine):
    """Answers orders for configurations, and carries none out."""

    def step(self, event: Event, now_ms: int) -> Decision:
        if isinstance(event, RequestArrived):
            request = event.request
            if isinstance(request, IncrementalAlterConfigsRequest):
                for resource in request.resources:
                    resource.configs = []
        return super().step(event, now_ms)


class RashMachine(Machine):
    """Takes any online replica for a leader when the whole Isr is gone, whatever is configured."""

    def step(self, event: Event, now_ms: int) -> Decision:
        defaults = replace(self._settings.defaults, unclean_leader_election_enable=True)
        self._settings = replace(self._settings, defaults=defaults)
        return super().step(event, now_ms)


class ForgetfulKnowledge(JournalKnowledge):
    """Uses a block of producer ids before it is on disk that it was given."""

    async def take_block(self, producer_ids_end: int) -> None:
        self._known = replace(self._known, producer_ids_end=producer_ids_end)


class BlankKnowledge(JournalKnowledge):
    """Does not read what its disks have of the controller's journal."""

    def load(self, found: Iterable[JournalCheckpoint]) -> None:
        return None


class OpenGate(ClientGate):
    """Serves clients before the controller has told of the cluster."""

    __slots__ = ()

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        return True

    @is_open.setter
    def is_open(self, _is_open: bool) -> None: ...


class HeedlessLogDirs(LogDirStates):
    """Puts new logs where the fewest are, cordoned or not."""

    __slots__ = ()

    def _emptiest(self) -> str:
        return min(self._online, key=self._log_counts.__getitem__)


class StaleImage(MetadataImage):
    """Takes over nothing of topics that it knows."""

    __slots__ = ()

    def update(self, request: UpdateMetadataRequest) -> MetadataChange:
        request.topic_states = [
            row for row in request.topic_states if not self.has_topic(row.topic_name)
        ]
        return super().update(request)


class SweepingImage(MetadataImage):
    """Forgets all topics when it hears of brokers alone."""

    __slots__ = ()

    def update(self, request: UpdateMetadataRequest) -> MetadataChange:
        if not request.topic_states:
            self._topics.clear()
        return super().update(request)
