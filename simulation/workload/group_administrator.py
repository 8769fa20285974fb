"""Sets, reads and deletes the offsets of a group that has no members, and the group, by chance.

As `kafka-consumer-groups` does (--reset-offsets, --describe, --delete-offsets, --delete). Nobody
else changes that group, and each request waits for the answer to the one before: what it reads is
what it wrote last, whoever coordinates the group by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from protocol.admin.groups import (
    COMMIT_BY_NAME_VERSION_MAX,
    FETCH_ONE_VERSION_MAX,
    commit_request,
    committed_offsets,
    committed_request,
    delete_offsets_request,
)
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_LEADER, NO_OFFSET, TopicPartition
from protocol.messages.groups import DeleteGroupsRequest
from simulation.core.history import Commit, Function, History
from simulation.workload.clients import ClusterClient
from simulation.workload.coordinator import GROUP, Coordinator, code_in, first_code_in
from simulation.workload.mover import RandomSource
from simulation.workload.pause import pause
from simulation.workload.progress import Progress, code_of

OFFSET_MAX: Final = 1_000_000
"""Drawn from so many, each offset is another one; it is no matter where the topic ends."""
LAST_READ_WITHIN_MS: Final = 10_000
_DELETE_OFFSETS_VERSION: Final = 0
_DELETE_GROUPS_VERSION: Final = 2
_DID_NOTHING: Final = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.GROUP_ID_NOT_FOUND)


class _Change(NamedTuple):
    """A request that changes what offsets the group has."""

    function: Function
    offsets: tuple[tuple[TopicPartition, int], ...]
    request: Any
    version: int
    code_in: Callable[[Any], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdministratorSettings:
    """Whose offsets, of which topic."""

    topic: str
    group: str
    interval_ms: int = 50


class GroupAdministrator:
    """One administrator. ``run`` it once; ``stop`` ends it, after a last look at the offsets."""

    def __init__(
        self,
        client: ClusterClient,
        history: History,
        chance: RandomSource,
        settings: GroupAdministratorSettings,
    ) -> None:
        self.progress = Progress()
        """``acknowledged`` counts requests."""
        self._client = client
        self._history = history
        self._chance = chance
        self._settings = settings
        self._coordinator = Coordinator(client, settings.group, GROUP, self.progress)
        self._tps: list[TopicPartition] = []
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Change nothing more."""
        self._stopping.set()

    async def run(self) -> None:
        """Change and read offsets until stopped."""
        while not self._stopping.is_set():
            try:
                await self._ask_for_something()
            except (OSError, Malformed, KafkaError) as error:
                self.progress.count_error(code_of(error).name)
            await pause(self._stopping, self._settings.interval_ms)
        if self._tps:
            await self._read(for_ms=LAST_READ_WITHIN_MS)

    async def _ask_for_something(self) -> None:
        if not self._tps:
            await self._client.refresh(self._settings.topic)
            self._tps = self._client.partitions(self._settings.topic)
        if self._coordinator.broker is None:
            # What it does next would hide what the next coordinator has.
            await self._read()
            return
        match self._chance.randrange(10):
            case 0 | 1:
                await self._change(self._deleting_group())
            case 2 | 3:
                await self._change(self._deleting_offsets())
            case 4 | 5:
                await self._read()
            case _:
                await self._change(self._setting_offsets())

    def _setting_offsets(self) -> _Change:
        offsets = {tp: self._chance.randrange(OFFSET_MAX) for tp in self._tps}
        request = commit_request(self._settings.group, offsets)
        told = tuple(offsets.items())
        return _Change(Function.COMMIT, told, request, COMMIT_BY_NAME_VERSION_MAX, first_code_in)

    def _deleting_offsets(self) -> _Change:
        tp = self._tps[self._chance.randrange(len(self._tps))]
        request = delete_offsets_request(self._settings.group, [tp])
        return _Change(
            Function.DELETE_OFFSETS,
            ((tp, NO_OFFSET),),
            request,
            _DELETE_OFFSETS_VERSION,
            _code_of_offsets,
        )

    def _deleting_group(self) -> _Change:
        request = DeleteGroupsRequest(groups_names=[self._settings.group])
        offsets = tuple((tp, NO_OFFSET) for tp in self._tps)
        return _Change(
            Function.DELETE_GROUP,
            offsets,
            request,
            _DELETE_GROUPS_VERSION,
            _code_of_group,
        )

    async def _change(self, change: _Change) -> None:
        told = Commit(self._settings.group, change.offsets)
        with self._history.begin(self._client.client_id, change.function, told) as changing:
            try:
                await self._coordinator.ask(change.request, change.version, change.code_in)
            except (OSError, Malformed, KafkaError) as error:
                code = code_of(error)
                self.progress.count_error(code.name)
                if code in _DID_NOTHING or isinstance(error, ConnectionRefusedError):
                    changing.fail(code.name)
                else:
                    changing.unknown(code.name)
            else:
                self.progress.acknowledged += 1
                changing.ok(told)

    async def _read(self, for_ms: int = 0) -> None:
        """Ask for the offsets, again for so long while errors pass by themselves."""
        group = self._settings.group
        told = Commit(group, ())
        with self._history.begin(self._client.client_id, Function.FETCH_OFFSETS, told) as reading:
            read = await self._coordinator.insist(
                lambda: committed_request(group), FETCH_ONE_VERSION_MAX, code_in, for_ms=for_ms
            )
            if read.answer is None:
                reading.fail(read.code.name)
                return
            found = committed_offsets(read.answer)
            offsets = tuple((tp, found.get(tp, NO_OFFSET)) for tp in self._tps)
            asked = self._coordinator.broker
            self.progress.acknowledged += 1
            reading.ok(Commit(group, offsets, NO_LEADER if asked is None else asked))


def _code_of_offsets(answer: Any) -> int:
    """Return the code of the group, or of the first partition that has one."""
    return code_in(answer) or first_code_in(answer)


def _code_of_group(answer: Any) -> int:
    return answer.results[0].error_code
