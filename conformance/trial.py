"""Runs cases beside each other against one cluster, judges or records them, and cleans up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Final

from conformance import expectations as expectations_folder
from conformance.case_run import NOTHING_SHARED, CaseRun, Shared
from conformance.cluster_access import Access
from conformance.core.catalogue import PLAIN, SECURED, Variant, variants
from conformance.core.every_case import EVERY_CASE, SECURED_CASES
from conformance.core.expectations import Expectations, Observation, unpack
from conformance.core.script import Case, Coordinator, Topic
from conformance.core.verdicts import (
    KnownDifference,
    Outcome,
    Verdict,
    judge,
    judge_announced,
)
from conformance.errors import ConformanceError
from conformance.users import Users, take_away
from protocol.apis import BY_NAME

RELEASES: Final = ("kafka-3.9", "kafka-4.3")
CASES: Final = {PLAIN: EVERY_CASE, SECURED: SECURED_CASES}
"""By profile."""
JOBS: Final = 4
_INIT: Final = "InitProducerId"
_TIMEOUT_MS: Final = 60_000
_EDGES: Final = ("beyond", "below")
"""Groups about what is not announced: they mean the edges of the release."""
_FIRST_WITHOUT_OLD_FETCH: Final = 4
"""From 4.0 on Fetch begins at this version."""


@dataclass(slots=True)
class Trial:
    """One run of many cases; ``suffix`` is drawn by who starts it."""

    access: Access
    suffix: str
    jobs: int = JOBS
    on_done: Callable[[str], None] = lambda _: None
    """Called with the name of each variant that is over."""
    profile: str = PLAIN
    _seen: dict[str, Observation | str] = field(default_factory=dict[str, Observation | str])

    async def observe(self, chosen: Sequence[Variant]) -> dict[str, Observation | str]:
        """Run the variants; a sentence stands for what could not be carried out."""
        shared = await self.prepare()
        turns = asyncio.Semaphore(self.jobs)

        async def in_turn(number: int, variant: Variant) -> None:
            async with turns:
                await self._observe_one(number, variant, shared)

        async with asyncio.TaskGroup() as group:
            for number, variant in enumerate(chosen):
                group.create_task(in_turn(number, variant))
        return {each.name: self._seen[each.name] for each in chosen}

    async def prepare(self) -> Shared:
        """Make what all cases need, and return what those of a secured cluster share.

        Raises:
            ConformanceError: it is none, or whoever asks may not do everything.
        """
        await self._warm_up()
        return await self._what_is_shared() if self.profile == SECURED else NOTHING_SHARED

    async def clean_up(self) -> list[str]:
        """Take away what the run made; return what is left."""
        left = await take_away(self.access, self.suffix) if self.profile == SECURED else []
        return left + await self.access.clean_up(self.suffix)

    async def _warm_up(self) -> None:
        """Have the cluster make the topics of its coordinators before anything is compared.

        And have it give producer id 0 away: answers have it where there is no producer.
        """
        for key_type in (0, 1):
            await self.access.broker(Coordinator(f"conform-warm-up-{self.suffix}", key_type))
        if BY_NAME[_INIT].key in self.access.announced:
            for index in range(1, len(self.access.brokers) + 1):
                await self.access.until(partial(self._has_ids, index), f"broker {index} has ids")

    async def _what_is_shared(self) -> Shared:
        """Make users and a topic for all cases of a secured cluster."""
        if self.access.security.login is None:
            raise ConformanceError("a secured cluster is judged by a super user who logs in")
        name, suffix = f"conform-orders-{self.suffix}", self.suffix
        made = await self.access.create_topic(name, 2, (1,), {})
        return Shared(suffix, await Users(self.access).shared(suffix), Topic(name, made))

    async def _has_ids(self, index: int) -> bool:
        form = {"transactionalId": None, "transactionTimeoutMs": _TIMEOUT_MS}
        return (await self.access.request(_INIT, form, index))["errorCode"] == 0

    async def _observe_one(self, number: int, variant: Variant, shared: Shared) -> None:
        suffix = f"{self.suffix}{number:x}z"
        run = CaseRun(variant.case, variant.version, self.access, suffix, shared=shared)
        try:
            self._seen[variant.name] = await run.run()
        except (ConformanceError, OSError) as error:
            self._seen[variant.name] = str(error)
        self.on_done(variant.name)


async def judged(
    trial: Trial,
    expectations: Expectations,
    known: Sequence[KnownDifference] = (),
    pattern: str = "*",
) -> list[Verdict]:
    """Run what was recorded and return the verdicts, in the order of the catalogue."""
    access = trial.access
    recorded = _recorded(CASES[trial.profile], expectations, pattern)
    left_out = {
        each.name: reason
        for each in recorded
        if (reason := _why_not(each, access, expectations)) is not None
    }
    seen = await trial.observe([each for each in recorded if each.name not in left_out])
    found = [
        each
        for each in judge_announced(expectations, access.announced, known)
        if pattern in ("*", "announced", each.name)
    ]
    for each in recorded:
        about = each.case.about
        if each.name in left_out:
            found.append(Verdict(each.name, about, left_out[each.name]))
        else:
            expected = expectations.seen[each.name]
            found.append(judge(each.name, about, expected, seen[each.name], known))
    return found


def askable(access: Access, expectations: Expectations) -> Iterator[Variant]:
    """Give what was recorded and this cluster can be asked, in the order of the catalogue."""
    return (
        each
        for each in _recorded(EVERY_CASE, expectations)
        if _why_not(each, access, expectations) is None
    )


def _recorded(cases: list[Case], expectations: Expectations, pattern: str = "*") -> list[Variant]:
    return [
        each
        for each in variants(cases, expectations.announced, pattern)
        if each.name in expectations.seen
    ]


def _why_not(variant: Variant, access: Access, expectations: Expectations) -> Outcome | None:
    key = BY_NAME[variant.case.api].key
    low, high = access.announced.get(key, (0, -1))
    is_edge = variant.case.group in _EDGES
    if not low <= variant.version <= high or (
        is_edge and (low, high) != expectations.announced[key]
    ):
        return Outcome.NOT_ANNOUNCED
    return Outcome.TOO_FEW_BROKERS if len(access.brokers) < variant.case.brokers else None


def file_of(release: str, profile: str = PLAIN) -> str:
    """Return the name of a file of expectations."""
    return f"{release}.jsonl.gz" if profile == PLAIN else f"{release}-{profile}.jsonl.gz"


def load_expectations(release: str, profile: str = PLAIN) -> Expectations:
    """Return what comes with jbodlab for "kafka-3.9" or "kafka-4.3"."""
    return unpack((files(expectations_folder) / file_of(release, profile)).read_bytes())


def likely_release(access: Access) -> str:
    """Return the release to judge a cluster by when nobody names one: by its oldest Fetch."""
    low, _ = access.announced.get(BY_NAME["Fetch"].key, (0, 0))
    return RELEASES[1] if low >= _FIRST_WITHOUT_OLD_FETCH else RELEASES[0]


async def recorded(trial: Trial, release: str, pattern: str = "*") -> Expectations:
    """Run every case and return what came as the expectations of ``release``.

    Raises:
        ConformanceError: a case could not be carried out; says which and why.
    """
    access = trial.access
    cases = CASES[trial.profile]
    seen = await trial.observe(list(variants(cases, access.announced, pattern)))
    failed = {name: each for name, each in seen.items() if isinstance(each, str)}
    if failed:
        name, why = next(iter(failed.items()))
        words = f"{len(failed)} case(s) could not be carried out, the first is {name}: {why}"
        raise ConformanceError(words)
    kept = {name: each for name, each in seen.items() if not isinstance(each, str)}
    return Expectations(release, len(access.brokers), access.announced, kept)
