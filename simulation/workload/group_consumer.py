"""aiokafka's consumer as a member of a group: it reads what it is assigned, and commits.

What it is assigned, reads and commits is written into the history, so that a checker can say
whether two members had one partition, or a commit that was answered was forgotten.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import ConsumerRebalanceListener
from aiokafka.errors import IllegalStateError
from aiokafka.errors import KafkaError as AiokafkaError
from aiokafka.protocol.commit import OffsetCommitRequest

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from simulation.core.history import NO_GENERATION, Assignment, Commit, Function, Read
from simulation.workload.aiokafka_clients import AiokafkaReader, library_offsets
from simulation.workload.aiokafka_start import error_name

SESSION_TIMEOUT_MS: Final = 10_000
HEARTBEAT_INTERVAL_MS: Final = 1_000
COMMIT_S_MAX: Final = 10.0
"""The library would ask for as long as no coordinator answers, and a member never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConsumerSettings:
    """What is read, by which group."""

    topic: str
    group: str
    is_read_committed: bool = False
    retry_backoff_ms: int = 100
    metadata_max_age_ms: int = 1_000


class GroupConsumerWorkload(AiokafkaReader[GroupConsumerSettings]):
    """One member, which leaves its group when it is stopped."""

    _may_commit_late = False
    """Whether it was assigned partitions, and has committed none of them since."""

    async def run(self) -> None:
        """Read until stopped, and write down that it has left its group."""
        try:
            await super().run()
        finally:
            left = Assignment(self._settings.group, NO_GENERATION, ())
            with self._history.begin(self._client_id, Function.ASSIGN, left) as leaving:
                leaving.ok(left)

    def _subscribed(self) -> Any:
        consumer = self._consumer(
            group_id=self._settings.group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        )
        consumer.subscribe([self._settings.topic], listener=_Listener(self, consumer))
        return consumer

    def assigned(self, consumer: Any, partitions: Iterable[Any]) -> None:
        """Write down what it was assigned, and in which generation."""
        self.positions.clear()
        self._may_commit_late = True
        # The library has no public way to ask for it.
        generation = consumer._coordinator.generation  # noqa: SLF001
        tps = sorted(TopicPartition(tp.topic, tp.partition) for tp in partitions)
        told = Assignment(self._settings.group, generation, tuple(tps))
        with self._history.begin(self._client_id, Function.ASSIGN, told) as assigning:
            assigning.ok(told)

    async def revoked(self) -> None:
        """Return when the group may go on from what this member has committed."""

    async def _after_read(self, consumer: Any, reads: Sequence[Read]) -> None:
        """Commit what was read; somebody else may have the partitions by now."""
        offsets = tuple((read.tp, read.records[-1][0] + 1) for read in reads)
        commit = Commit(self._settings.group, offsets)
        with self._history.begin(self._client_id, Function.COMMIT, commit) as committing:
            try:
                async with asyncio.timeout(COMMIT_S_MAX):
                    await consumer.commit(library_offsets(dict(offsets)))
            except IllegalStateError as error:
                committing.fail(error_name(error))
            except (AiokafkaError, TimeoutError) as error:
                self.progress.count_error(error_name(error))
                committing.unknown(error_name(error))
            else:
                committing.ok(commit)
        if self._may_commit_late:
            self._may_commit_late = False
            await self._commit_late(consumer, commit._replace(offsets=offsets[:1], is_late=True))

    async def _commit_late(self, consumer: Any, commit: Commit) -> None:
        """Commit under a generation before all others, as a late client might."""
        # The library has no way to do what it never does.
        coordinator = consumer._coordinator  # noqa: SLF001
        request = OffsetCommitRequest(
            commit.group,
            0,
            coordinator.member_id,
            OffsetCommitRequest.DEFAULT_RETENTION_TIME,
            [(tp.topic, [(tp.partition, at, "")]) for tp, at in commit.offsets],
        )
        with self._history.begin(self._client_id, Function.COMMIT, commit) as committing:
            try:
                answer = await coordinator._send_req(request)  # noqa: SLF001
            except AiokafkaError as error:
                committing.fail(error_name(error))
                return
            codes = [ErrorCode(code) for _, rows in answer.topics for _, code in rows]
            if ErrorCode.NONE in codes:
                committing.ok(commit)
            else:
                committing.fail(codes[0].name)


class _Listener(ConsumerRebalanceListener):
    """What the library calls in a rebalance."""

    def __init__(self, workload: GroupConsumerWorkload, consumer: Any) -> None:
        self._workload = workload
        self._consumer = consumer

    # The library awaits what is a coroutine; its annotation does not say so.
    async def on_partitions_revoked(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, revoked: Iterable[Any]
    ) -> None:
        """Nothing is written down: the next assignment says it."""
        if revoked:
            await self._workload.revoked()

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Write it down."""
        self._workload.assigned(self._consumer, assigned)
