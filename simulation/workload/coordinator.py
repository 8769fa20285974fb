"""Whoever coordinates a group or a transactional id, as one client finds and asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from protocol.errors import RETRIABLE, ErrorCode, KafkaError, Malformed
from protocol.messages.coordinators import FindCoordinatorRequest
from simulation.workload.backoff import Backoff
from simulation.workload.clients import ClusterClient
from simulation.workload.progress import Progress, code_of

GROUP: Final = 0
TRANSACTION: Final = 1
_SOMEBODY_ELSE: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class Insisted(NamedTuple):
    """What became of a request that was sent until it was answered for good."""

    code: ErrorCode
    answer: Any = None
    """None: none came."""
    may_be_done: bool = False
    """Some attempt was not answered."""


class Coordinator:
    """One client's coordinator of one key."""

    def __init__(self, client: ClusterClient, key: str, key_type: int, progress: Progress) -> None:
        """``progress`` counts what is answered but for success."""
        self._client = client
        self._finding = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        self._progress = progress
        self._broker: int | None = None

    @property
    def broker(self) -> int | None:
        """The broker that answered last; None: another one is to be found."""
        return self._broker

    async def ask(self, message: Any, version: int, code_in: Callable[[Any], int]) -> Any:
        """Send a request once.

        Raises:
            OSError, Malformed: as ``ClusterClient.ask``.
            KafkaError: no coordinator is found, or the code that ``code_in`` finds in the answer.
        """
        if self._broker is None:
            self._broker = await self._found()
        try:
            answer = await self._client.ask(self._broker, message, version)
        except (OSError, Malformed):
            self._broker = None
            raise
        code = ErrorCode(code_in(answer))
        self.heed(code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
        return answer

    def heed(self, code: ErrorCode) -> None:
        """Look for the coordinator anew where an answer says that it is another one."""
        if code in _SOMEBODY_ELSE:
            self._broker = None

    async def insist(
        self,
        make: Callable[[], Any],
        version: int,
        code_in: Callable[[Any], int],
        *,
        for_ms: int,
        retried: Collection[ErrorCode] = (),
    ) -> Insisted:
        """Send a request, made anew each time, while its errors pass by themselves."""
        backoff, may_be_done = Backoff(), False
        end_s = asyncio.get_running_loop().time() + for_ms / 1000
        while True:
            try:
                answer = await self.ask(make(), version, code_in)
            except (OSError, Malformed, KafkaError) as error:
                code = code_of(error)
                may_be_done |= not isinstance(error, ConnectionRefusedError | KafkaError)
            else:
                return Insisted(ErrorCode.NONE, answer, may_be_done)
            self._progress.count_error(code.name)
            is_over = asyncio.get_running_loop().time() >= end_s
            if is_over or (code not in RETRIABLE and code not in retried):
                return Insisted(code, None, may_be_done)
            await asyncio.sleep(backoff.next_ms() / 1000)

    async def _found(self) -> int:
        (row,) = (await self._client.ask_any(self._finding, 4)).coordinators
        if row.error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode(row.error_code))
        return row.node_id


def code_in(answer: Any) -> int:
    """Return the code of an answer that has one for all."""
    return answer.error_code


def first_code_in(answer: Any) -> int:
    """Return the first error of an answer with a code for each partition; NONE without one."""
    codes = (row.error_code for topic in answer.topics for row in topic.partitions)
    return next((code for code in codes if code != ErrorCode.NONE), ErrorCode.NONE)
