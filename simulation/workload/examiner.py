"""Asks by chance what `jbodlab conform` asks, while everything else happens.

What stories ask of brokers is little of what a client of Kafka may ask. Nobody compares what is
answered here, for nobody knows what it must be while things break: contracts look at the rules that
answer, and checkers at what becomes of the cluster. Between cases the examiner orders something
(``examiner_orders``). Where there is an authorizer it, who is anonymous, orders rights on the
topics, groups and transactions that its cases make; brokers then refuse what others may be told at
the same moment. Of the cluster it takes rights from itself alone, by the host that it comes from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from conformance.case_run import CaseRun
from conformance.cluster_access import Access, Broker
from conformance.core.catalogue import Variant, variants
from conformance.core.every_case import EVERY_CASE
from conformance.errors import ConformanceError
from protocol.errors import Malformed
from simulation.client_host import CLIENT_HOST, EXAMINER_HOST
from simulation.workload.clients import ClusterClient
from simulation.workload.examiner_orders import MARK, ExaminerOrders
from simulation.workload.mover import RandomSource
from simulation.workload.pause import pause
from simulation.workload.progress import Progress, code_of

TIMEOUT_MS: Final = 1_500
"""Of one request, and of what a case waits for."""
CASE_S: Final = 4.0
QUIET_S: Final = 0.5
"""Where no answer is to come, it is waited for as long."""
RESTED: Final = ("frames", "cut", "beyond", "below", "tags", "order")
"""Groups about bytes and not about what brokers know: they are asked when all is well again."""
NOT_ASKED: Final = ("produce/largest",)
"""A batch as large as brokers take, which segments of a story are too small for."""
T = TypeVar("T")
_FAILS: Final = (ConformanceError, OSError, LookupError, Malformed)
"""What comes of a case whose cluster does not do what it asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminerSettings:
    """How often it asks, and for how long."""

    interval_ms: int
    cases_max: int | None = None
    """It ends after so many; None: with the run."""


class ExaminerWorkload:
    """One examiner. ``run`` it once; ``stop`` ends it, and what it made is deleted if it can be."""

    def __init__(
        self, client: ClusterClient, chance: RandomSource, settings: ExaminerSettings
    ) -> None:
        """``client`` knows where the brokers are; cases have connections of their own."""
        self.progress = Progress()
        """``acknowledged`` counts cases that were carried out."""
        self._client = client
        self._chance = chance
        self._settings = settings
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Ask for no more cases."""
        self._stopping.set()

    async def run(self) -> None:
        """Ask one case after the other until stopped; rights may be about the examiner alone."""
        CLIENT_HOST.set(EXAMINER_HOST)
        access = await self._find()
        if access is None:
            return
        try:
            await self._examine(access)
        finally:
            access.close()

    async def _find(self) -> Access | None:
        """Look for somebody who says what can be asked; None: stopped before."""
        brokers = {each: Broker(each, *at) for each, at in self._client.addresses.items()}
        while not self._stopping.is_set():
            access = Access(brokers, {}, TIMEOUT_MS)
            try:
                index = 1 + self._chance.randrange(len(brokers))
                await access.hear_versions(index)
            except OSError as error:
                self.progress.count_error(code_of(error).name)
            else:
                return access
            await pause(self._stopping, self._settings.interval_ms)
        return None

    async def _examine(self, access: Access) -> None:
        groups = _groups(access.announced)
        orders = ExaminerOrders(access, self._chance)
        count = 0
        while not self._stopping.is_set() and count != self._settings.cases_max:
            await self._carry_out(orders.order())
            await self._carry_out(self._ask(self._drawn(groups), access, count))
            count += 1
            await pause(self._stopping, self._settings.interval_ms)
        with suppress(*_FAILS):
            await orders.end()
            await access.clean_up(MARK)

    def _drawn(self, groups: Sequence[Sequence[Variant]]) -> Variant:
        """Draw a group first: small ones come as often as large ones."""
        return self._one_of(self._one_of(groups))

    def _one_of(self, among: Sequence[T]) -> T:
        return among[self._chance.randrange(len(among))]

    async def _ask(self, variant: Variant, access: Access, count: int) -> None:
        suffix = f"{MARK}{count:x}z"
        run = CaseRun(variant.case, variant.version, access, suffix, quiet_s=QUIET_S)
        await run.run()

    async def _carry_out(self, asked: Coroutine[Any, Any, None]) -> None:
        try:
            async with asyncio.timeout(CASE_S):
                await asked
        except _FAILS as error:
            self.progress.count_error(code_of(error).name)
        else:
            self.progress.acknowledged += 1


def _groups(announced: Mapping[int, tuple[int, int]]) -> list[list[Variant]]:
    groups: dict[str, list[Variant]] = {}
    for each in variants(EVERY_CASE, announced):
        if each.case.group not in RESTED and each.case.name not in NOT_ASKED:
            groups.setdefault(each.case.group, []).append(each)
    return list(groups.values())
