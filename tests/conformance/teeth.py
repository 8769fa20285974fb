"""How many wrong answers the judge reports: one change at a time, before an Apache Kafka.

Logins are changed in the cases that ask them: what brings the judge in is not what it looks at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

from conformance.case_run import CaseRun, Shared
from conformance.cluster_access import Access, Broker
from conformance.connection import Connection
from conformance.core.catalogue import Variant, variants
from conformance.core.expectations import Expectations, Observation
from conformance.core.script import As
from conformance.core.verdicts import Outcome, judge
from conformance.errors import ConformanceError
from conformance.trial import CASES, Trial
from tests.conformance.mutating_proxy import mutating_proxy
from tests.conformance.mutations import Mutation, Mutator

JOBS: Final = 4
TRIES_MAX: Final = 40
"""So many cases are tried until one has an answer that the change fits."""
LOGINS: Final = frozenset({"SaslHandshake", "SaslAuthenticate"})


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
    trial: Trial, expectations: Expectations, mutations: Sequence[Mutation]
) -> list[Bite]:
    """Carry mutations out, each in a case of its own, and tell what was reported."""
    bench = _Bench(trial, expectations, await trial.prepare())
    turns = asyncio.Semaphore(JOBS)

    async def in_turn(number: int, mutation: Mutation) -> Bite:
        async with turns:
            return await bench.bite(mutation, f"{trial.suffix}{number:x}")

    return await asyncio.gather(*(in_turn(number, each) for number, each in enumerate(mutations)))


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where mutations are carried out, and what an Apache Kafka answered there before."""

    trial: Trial
    expectations: Expectations
    shared: Shared

    async def bite(self, mutation: Mutation, suffix: str) -> Bite:
        """Draw cases until the mutation fits an answer of one."""
        expected = self.expectations
        cases = variants(CASES[self.trial.profile], expected.announced)
        every = [each for each in cases if each.name in expected.seen]
        order = Random(mutation.seed)
        for attempt in range(TRIES_MAX):
            found = await self._bite(order.choice(every), mutation, f"{suffix}y{attempt:x}z")
            if found is not None:
                return found
        return Bite(mutation.kind, "fits no case", "", is_reported=False)

    async def _bite(self, variant: Variant, mutation: Mutation, suffix: str) -> Bite | None:
        """Run one case with one mutation; None when no answer fitted it."""
        left_alone = set[str]() if variant.case.api in LOGINS else LOGINS
        mutator = Mutator(mutation, left_alone)
        with _detour(self.trial.access, mutator) as detour:
            run = CaseRun(variant.case, variant.version, detour, suffix, shared=self.shared)
            got: Observation | str
            try:
                got = await run.run()
            except (ConformanceError, OSError) as error:
                got = str(error)
            detour.close()
        if not mutator.did:
            return None
        verdict = judge(variant.name, "", self.expectations.seen[variant.name], got)
        return Bite(mutation.kind, mutator.did, variant.name, verdict.outcome is Outcome.VIOLATION)


@contextmanager
def _detour(access: Access, mutator: Mutator) -> Generator[Detour]:
    with ExitStack() as stack:
        brokers: dict[int, Broker] = {}
        for each in access.brokers.values():
            proxy = stack.enter_context(mutating_proxy(each.host, each.port))
            proxy.change = mutator.change
            brokers[each.id] = Broker(each.id, "127.0.0.1", proxy.port)
        yield Detour(
            brokers, access.announced, access.timeout_ms, access.security, real=access.brokers
        )
