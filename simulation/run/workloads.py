"""The clients of a run: begins, ends and counts them. What each does is in ``workload``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol, runtime_checkable

from protocol.ids import TopicPartition
from protocol.ports import WallClock
from protocol.records.batch import Compression
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core.history import History
from simulation.core.observation import ObservedOffsets, ObservedWorkload
from simulation.core.payload import record_number
from simulation.core.plan import Workload
from simulation.core.restless_producers import Book, Numbers
from simulation.workload.admin import Admin
from simulation.workload.clients import ClusterClient
from simulation.workload.committed_reader import CommittedReader
from simulation.workload.consumer import ANSWER_BYTES_MAX, ConsumerSettings, ConsumerWorkload
from simulation.workload.examiner import ExaminerSettings, ExaminerWorkload
from simulation.workload.group_administrator import (
    GroupAdministrator,
    GroupAdministratorSettings,
)
from simulation.workload.java_member import JavaMemberWorkload
from simulation.workload.java_transactions import JavaTransactionsWorkload
from simulation.workload.java_transformer import JavaTransformSettings, JavaTransformWorkload
from simulation.workload.mover import MoverSettings, MoverWorkload, RandomSource
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.workload.progress import Progress
from simulation.workload.record_formats import RecordFormat
from simulation.workload.restless_members import RestlessMembersWorkload, RestlessSettings
from simulation.workload.restless_producers import (
    RestlessProducerSettings,
    RestlessProducersWorkload,
)

_ACKS: Final = {"all": -1, "1": 1, "0": 0}
ENDS_WITHIN_MS: Final = 300_000
"""So long a client may take to end: several of its timeouts, one after the other."""


class _Client(Protocol):
    """One client at work."""

    progress: Progress

    async def run(self) -> None: ...

    def stop(self) -> None: ...


@runtime_checkable
class _Library(Protocol):
    """A library's reader."""

    group: str
    """"": none."""
    topic: str
    positions: dict[TopicPartition, int]


@dataclass(slots=True)
class _Running:
    """One beginning of a workload."""

    client: _Client
    connection: ClusterClient
    task: asyncio.Task[None]


class Workloads:
    """All workloads of a plan."""

    def __init__(
        self,
        workloads: Mapping[str, Workload],
        connect: Callable[[str], ClusterClient],
        history: History,
        chance: RandomSource,
        clock: WallClock,
        group: asyncio.TaskGroup,
    ) -> None:
        """``connect`` makes a client of a name; ``group`` runs them."""
        self._workloads = workloads
        self._connect = connect
        self._history = history
        self._chance = chance
        self._clock = clock
        self._group = group
        self._begun: dict[str, list[_Running]] = {name: [] for name in workloads}
        self._count = 0

    def begin(self, name: str) -> None:
        """Let a workload begin, as a new client each time."""
        self._count += 1
        connection = self._connect(name)
        workload = self._workloads[name]
        make = {"plain": self._client, "aiokafka": self._library, "java": self._java}[
            workload.client
        ]
        client = make(workload, connection)
        task = self._group.create_task(client.run(), name=f"workload {name}")
        self._begun[name].append(_Running(client, connection, task))

    async def end(self, *names: str) -> list[str]:
        """End workloads, all at once; what they have sent is waited for.

        Returns:
            Those that did not end, and were cancelled.
        """
        ending = [(name, running) for name in names for running in self._begun[name]]
        for _, running in ending:
            running.client.stop()
        tasks = [running.task for _, running in ending]
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN_MS / 1000):
                for task in tasks:
                    if not task.done():  # Who did not end before was cancelled.
                        await asyncio.shield(task)  # It ends though who waits may give up.
        for task in tasks:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        for _, running in ending:
            running.connection.close()
        return [name for name, running in ending if running.task.cancelled()]

    async def end_writers(self) -> list[str]:
        """End all that write or order something, as ``end``."""
        return await self.end(
            *self._of("produce", "move", "administer", "regroup", "contend", "examine")
        )

    async def end_transformers(self) -> list[str]:
        """End those that write what they read, with their transactions, as ``end``."""
        return await self.end(*self._of("transform"))

    async def end_readers(self) -> list[str]:
        """End all that read, as ``end``."""
        return await self.end(*self._of("consume"))

    def unread(
        self, offsets: Mapping[TopicPartition, ObservedOffsets], lost_topics: Collection[str]
    ) -> list[str]:
        """Return what readers that run have yet to read, in words.

        Those whose coordinator's topic is among ``lost_topics`` come no further.
        """
        able = {name for name in self._begun if not self._needs(name).intersection(lost_topics)}
        return [
            f"{who} is at offset {offset} of {tp}, which ends at {offsets[tp].latest}"
            for who, positions in self._positions(offsets, able).items()
            for tp, offset in positions.items()
            if tp in offsets and offset < offsets[tp].latest
        ]

    def library_group(self, name: str) -> str:
        """Return the group of a library's member, "" for other clients.

        While a group of it rebalances, the library has its members wait for their coordinator, for
        ever and whatever they are told. All others have timeouts.
        """
        workload = self._workloads[name]
        return workload.group or "" if workload.client == "aiokafka" else ""

    def _reads_all(self, name: str) -> bool:
        return self._workloads[name].group is not None or self._workloads[name].read_committed

    def _needs(self, name: str) -> set[str]:
        """Return the topics without which a reader waits: its coordinators', what it writes to."""
        workload = self._workloads[name]
        offsets = {CONSUMER_OFFSETS} if workload.group is not None else set[str]()
        is_in_transactions = workload.kind == "transform" or workload.read_committed
        written = {workload.into} if workload.kind == "transform" and workload.into else set[str]()
        return offsets | written | ({TRANSACTION_STATE} if is_in_transactions else set())

    def _of(self, *kinds: str) -> list[str]:
        return [name for name, one in self._workloads.items() if one.kind in kinds]

    def _positions(
        self, offsets: Mapping[TopicPartition, ObservedOffsets], able: Collection[str]
    ) -> dict[str, dict[TopicPartition, int]]:
        """Return where those of the readers that run are which must come to the end.

        A group reads all of its topic, whoever of it.
        """
        found: dict[str, dict[TopicPartition, int]] = {}
        for name in (name for name in self._begun if name in able):
            begun = self._begun[name]
            for client in (running.client for running in begun if not running.task.done()):
                if isinstance(client, ConsumerWorkload):
                    reached, reads_whole = client.reached, bool(client.group)
                elif isinstance(client, _Library) and self._reads_all(name):
                    reached, reads_whole = client.positions, True
                else:
                    continue
                who = f"group {client.group}" if client.group else name
                whole = {tp: 0 for tp in offsets if reads_whole and tp.topic == client.topic}
                places = found.setdefault(who, whole)
                for tp, offset in reached.items():
                    places[tp] = max(offset, places.get(tp, 0))
        return found

    def seen(self) -> dict[str, ObservedWorkload]:
        """Return what each has done, all its beginnings together."""
        return {
            name: _sum([running.client.progress for running in begun])
            for name, begun in self._begun.items()
        }

    def _library(self, workload: Workload, connection: ClusterClient) -> _Client:
        # A large library, loaded only by runs in which it takes part.
        from simulation.run.library_workloads import (  # noqa: PLC0415
            LibraryClient,
            library_workload,
        )

        client = LibraryClient(connection.addresses, connection.client_id, self._history)
        return library_workload(workload, self._count, client, _producer_settings(workload))

    def _java(self, workload: Workload, connection: ClusterClient) -> _Client:
        reading = ConsumerSettings(
            topic=workload.topic,
            group=workload.group or "",
            is_read_committed=workload.read_committed or workload.kind == "transform",
            max_bytes=workload.fetch_bytes or ANSWER_BYTES_MAX,
        )
        if workload.kind == "consume" and workload.group is None:
            return CommittedReader(connection, self._history, reading)
        if workload.group is None:
            return JavaTransactionsWorkload(
                self._count,
                connection,
                self._history,
                _producer_settings(workload),
                self._clock,
                aborts_every=workload.aborts_every,
            )
        if workload.kind == "transform":
            assert workload.into is not None
            writing = replace(_producer_settings(workload), topic=workload.into)
            transforming = JavaTransformSettings(reading, writing, workload.aborts_every)
            return JavaTransformWorkload(
                self._count, connection, self._history, transforming, self._clock
            )
        member_id = f"{connection.client_id}-{self._count}"
        return JavaMemberWorkload(member_id, connection, self._history, reading)

    def _client(self, workload: Workload, connection: ClusterClient) -> _Client:
        match workload.kind:
            case "produce":
                return ProducerWorkload(
                    self._count,
                    connection,
                    self._history,
                    _producer_settings(workload),
                    self._clock,
                )
            case "consume":
                settings = ConsumerSettings(
                    topic=workload.topic,
                    message_format=workload.message_format,
                    rack=workload.rack or "",
                )
                return ConsumerWorkload(connection, self._history, settings)
            case "transform":
                raise AssertionError("plain clients do not transform")
            case "administer":
                assert workload.group is not None
                group = GroupAdministratorSettings(
                    topic=workload.topic, group=workload.group, interval_ms=workload.interval_ms
                )
                return GroupAdministrator(connection, self._history, self._chance, group)
            case "regroup" | "contend":
                return self._restless(workload, connection.client_id)
            case "examine":
                examining = ExaminerSettings(
                    interval_ms=workload.interval_ms,
                    cases_max=workload.records_max,
                )
                return ExaminerWorkload(connection, self._chance, examining)
            case "move":
                return MoverWorkload(
                    connection,
                    Admin(connection, self._history),
                    self._chance,
                    MoverSettings(topic=workload.topic, interval_ms=workload.interval_ms),
                )

    def _restless(self, workload: Workload, client_id: str) -> _Client:
        """Make several clients at once, of a group or of transactional ids."""
        assert workload.group is not None
        if workload.into is not None:
            restless = RestlessSettings(
                group=workload.group,
                topics=(workload.topic, workload.into),
                interval_ms=workload.interval_ms,
                requests_max=workload.records_max,
                is_transactional=any(one.transactional for one in self._workloads.values()),
            )
            return RestlessMembersWorkload(self._connect, self._chance, restless)
        first = record_number(self._count, 0)
        book = Book(self._history, client_id, Numbers(first), self._clock.now_ms)
        contending = RestlessProducerSettings(
            topic=workload.topic,
            group=workload.group,
            interval_ms=workload.interval_ms,
            record_bytes=workload.record_bytes,
            keys=workload.keys,
            requests_max=workload.records_max,
        )
        return RestlessProducersWorkload(self._connect, book, self._chance, contending)


def _producer_settings(workload: Workload) -> ProducerSettings:
    return ProducerSettings(
        topic=workload.topic,
        acks=_ACKS[workload.acks],
        is_idempotent=workload.idempotent,
        interval_ms=workload.interval_ms,
        record_bytes=workload.record_bytes,
        batch_records=workload.batch_records,
        keys=workload.keys,
        record_format=RecordFormat(
            message_format=workload.message_format,
            compression=Compression[workload.compression.upper()],
        ),
        records_max=workload.records_max,
        slower_after_ms=workload.slower_after_ms,
    )


def _sum(parts: list[Progress]) -> ObservedWorkload:
    names = dict.fromkeys(name for part in parts for name in part.errors)
    return ObservedWorkload(
        acknowledged=sum(part.acknowledged for part in parts),
        read=sum(part.read for part in parts),
        errors={name: sum(part.errors.get(name, 0) for part in parts) for name in names},
    )
