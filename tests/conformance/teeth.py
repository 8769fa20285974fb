"""How many wrong answers the judge reports: one change at a time, before an Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

from conformance.case_run import CaseRun
from conformance.cluster_access import Access, Broker, find_cluster
from conformance.connection import Connection
from conformance.core.catalogue import Variant, variants
from conformance.core.every_case import EVERY_CASE
from conformance.core.expectations import Expectations, Observation
from conformance.core.script import As
from conformance.core.verdicts import Outcome, judge
from conformance.errors import ConformanceError
from tests.conformance.mutating_proxy import mutating_proxy
from tests.conformance.mutations import Mutation, Mutator, drawn

TIMEOUT_MS: Final = 10_000
JOBS: Final = 4
TRIES_MAX: Final = 40
"""So many cases are tried until one has an answer that the change fits."""


@dataclass(frozen=True, slots=True)
class Bite:
    """What came of one mutation."""

    kind: str
    what: str
    case: str
    is_reported: bool


@dataclass(slots=True)
class Detour(Access):
    """Cases are led through proxies; what is prepared for them goes to the brokers themselves."""

    real: dict[int, Broker] = field(default_factory=dict[int, Broker])

    async def _idle_connection(self, broker: Broker, who: As | None) -> Connection:
        return await Access._idle_connection(self, self.real[broker.id], who)


async def bites(
    server: str, expectations: Expectations, count: int, seed: int, suffix: str
) -> list[Bite]:
    """Carry ``count`` mutations out, each in a case of its own, and tell what was reported."""
    access = await find_cluster(server, TIMEOUT_MS)
    every = [
        each
        for each in variants(EVERY_CASE, expectations.announced)
        if each.name in expectations.seen
    ]

    turns = asyncio.Semaphore(JOBS)

    async def bite(number: int, mutation: Mutation) -> Bite:
        order = Random(mutation.seed)
        for attempt in range(TRIES_MAX):
            name = f"{suffix}{number:x}y{attempt:x}z"
            found = await _bite(access, expectations, order.choice(every), mutation, name)
            if found is not None:
                return found
        return Bite(mutation.kind, "fits no case", "", is_reported=False)

    async def in_turn(number: int, mutation: Mutation) -> Bite:
        async with turns:
            return await bite(number, mutation)

    try:
        numbered = enumerate(drawn(count, seed))
        return await asyncio.gather(*(in_turn(number, each) for number, each in numbered))
    finally:
        await access.clean_up(suffix)
        access.close()


async def _bite(
    access: Access, expectations: Expectations, variant: Variant, mutation: Mutation, suffix: str
) -> Bite | None:
    """Run one case with one mutation; None when no answer fitted it."""
    mutator = Mutator(mutation)
    with _detour(access, mutator) as detour:
        run = CaseRun(variant.case, variant.version, detour, suffix)
        got: Observation | str
        try:
            got = await run.run()
        except (ConformanceError, OSError) as error:
            got = str(error)
        detour.close()
    if not mutator.did:
        return None
    verdict = judge(variant.name, "", expectations.seen[variant.name], got)
    return Bite(mutation.kind, mutator.did, variant.name, verdict.outcome is Outcome.VIOLATION)


@contextmanager
def _detour(access: Access, mutator: Mutator) -> Generator[Detour]:
    with ExitStack() as stack:
        brokers: dict[int, Broker] = {}
        for each in access.brokers.values():
            proxy = stack.enter_context(mutating_proxy(each.host, each.port))
            proxy.change = mutator.change
            brokers[each.id] = Broker(each.id, "127.0.0.1", proxy.port)
        yield Detour(brokers, access.announced, access.timeout_ms, real=access.brokers)
