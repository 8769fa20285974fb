"""Asks by chance what `jbodlab conform` asks, while everything else happens.

What stories ask of brokers is little of what a client of Kafka may ask. Nobody compares what is
answered here, for nobody knows what it must be while things break: contracts look at the rules that
answer, and checkers at what becomes of the cluster. Where there is an authorizer the examiner, who
is anonymous, orders rights on the topics, groups and transactions that its cases make; brokers then
refuse what others may be told at the same moment.
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
from conformance.core.script import CONTROLLER
from conformance.core.security_forms import ALLOW, DENY, PREFIXED, matching, rule
from conformance.errors import ConformanceError
from protocol.acls.model import OPERATIONS, AclResourceType
from protocol.errors import ErrorCode, Malformed
from simulation.core.plan import EXAMINED
from simulation.workload.clients import ClusterClient
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
_RIGHTS_ONCE_OF: Final = 2
_RIGHTS_MAX: Final = 4
_WORDS: Final[Mapping[AclResourceType, tuple[str, ...]]] = {
    AclResourceType.TOPIC: ("", "topic1", "topic2", "none"),
    AclResourceType.GROUP: ("", "group", "none"),
    AclResourceType.TRANSACTIONAL_ID: ("", "txn"),
}
"""Kind -> how the names go on that a right is about; "": however they do."""
_ANYBODY: Final = "User:*"
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
        self._rights = 0
        self._may_have_authorizer = True
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Ask for no more cases."""
        self._stopping.set()

    async def run(self) -> None:
        """Ask one case after the other until stopped."""
        access = await self._find()
        if access is None:
            return
        try:
            await self._examine(access)
            with suppress(*_FAILS):
                await self._leave_nothing(access)
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
        count = 0
        while not self._stopping.is_set() and count != self._settings.cases_max:
            if self._may_have_authorizer and not self._chance.randrange(_RIGHTS_ONCE_OF):
                await self._carry_out(self._order_rights(access))
            await self._carry_out(self._ask(self._drawn(groups), access, count))
            count += 1
            await pause(self._stopping, self._settings.interval_ms)

    def _drawn(self, groups: Sequence[Sequence[Variant]]) -> Variant:
        """Draw a group first: small ones come as often as large ones."""
        return self._one_of(self._one_of(groups))

    def _one_of(self, among: Sequence[T]) -> T:
        return among[self._chance.randrange(len(among))]

    async def _ask(self, variant: Variant, access: Access, count: int) -> None:
        suffix = f"ex{count:x}z"
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

    async def _order_rights(self, access: Access) -> None:
        """Allow or deny something to everybody, or take all of that back."""
        if self._rights == _RIGHTS_MAX:
            self._rights = 0
            await self._take_rights_back(access)
            return
        self._rights += 1
        kind = self._one_of(tuple(_WORDS))
        name, operation = EXAMINED + self._one_of(_WORDS[kind]), self._one_of(OPERATIONS[kind])
        permission = self._one_of((DENY, ALLOW))
        right = rule(kind, name, operation, resourcePatternType=PREFIXED, permissionType=permission)
        right["principal"] = _ANYBODY
        answer = await access.request("CreateAcls", {"creations": [right]}, CONTROLLER)
        code = answer["results"][0]["errorCode"]
        self._may_have_authorizer = code != ErrorCode.SECURITY_DISABLED

    async def _take_rights_back(self, access: Access) -> None:
        everything = matching(patternTypeFilter=PREFIXED)
        await access.request("DeleteAcls", {"filters": [everything]}, CONTROLLER)

    async def _leave_nothing(self, access: Access) -> None:
        if self._may_have_authorizer:
            await self._take_rights_back(access)
        await access.clean_up("ex")


def _groups(announced: Mapping[int, tuple[int, int]]) -> list[list[Variant]]:
    groups: dict[str, list[Variant]] = {}
    for each in variants(EVERY_CASE, announced):
        if each.case.group not in RESTED and each.case.name not in NOT_ASKED:
            groups.setdefault(each.case.group, []).append(each)
    return list(groups.values())
