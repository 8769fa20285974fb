"""Holds a cluster that is well again against what Apache Kafka answered (``conformance``).

What stories ask of brokers is little of what a Kafka client may ask. Whatever befell the cluster
before, it answers as Kafka does, to the byte that is compared: these cases make topics and groups
of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import cache
from typing import Any, Final, TypeAlias, cast

from conformance.cluster_access import Access, find_cluster
from conformance.core.catalogue import Variant
from conformance.core.expectations import Expectations
from conformance.core.expectations import Observation as CaseSeen
from conformance.core.verdicts import KnownDifference, Outcome, judge
from conformance.errors import NotInTimeError
from conformance.known_differences import known_differences
from conformance.trial import Trial, askable, load_expectations
from protocol.errors import ErrorCode
from protocol.faults.model import NetworkMode
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core.health import lost_topics
from simulation.core.observation import Observation
from simulation.workload.examiner_orders import MARK
from simulation.workload.mover import RandomSource

RELEASE: Final = "kafka-4.3"
"""Whose features a cluster has that emulates none."""
TIMEOUT_MS: Final = 30_000
KNOWN: Final = "jbodlab"
NOT_ASKED: Final = (
    *("quotas/request-time", "groups/join-timeouts"),
    *("produce/largest", "groups/commit-bounds"),
)
"""Of the time that brokers work, which is none in a simulated world; session timeouts, which may be
shorter there; batches and metadata of offsets as large as may be, for which segments of a story are
too small (seed 758336)."""
_SUFFIXES: Final = ("77ab", "77ac")
"""In the names of what a case makes, when it is tried first, and again."""
_PASSING: Final = (
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)
"""Codes that may be of the moment. A group without members goes when its coordinator looks, every
300 ms in many stories: also in the middle of a case (seed 920066). Topics of coordinators may be
made for the first case that wants one (seed 987496), and another broker lead them (983807). A
leader's connection to a coordinator may have died unheard, and producers are told that there are
not enough replicas (1068695)."""
_JOBS: Final = 4
Observe: TypeAlias = "Callable[[Sequence[Variant]], Awaitable[dict[str, CaseSeen | str]]]"
"""Runs cases; a sentence stands for what could not be carried out. See ``Trial.observe``."""


def why_not_judged(seen: Observation, modes: Collection[Enum]) -> str:
    """Return what stands in the way of answers that are Kafka's; "" when nothing does.

    A connection that died unheard makes whoever uses it wait for 30 s, whatever became of the
    fault, and coordinators wait for 5 s (seed 987369). ``modes`` are those of all faults.
    """
    if NetworkMode.HALF_OPEN in modes:
        return "there may be connections that are dead"
    lost = lost_topics(seen).intersection((CONSUMER_OFFSETS, TRANSACTION_STATE))
    if lost:
        return f"{min(lost)} is lost"
    down = [name for name, node in seen.nodes.items() if node.state != "running"]
    if down:
        return f"{down[0]} is down"
    closed = [
        f"{name} of broker-{broker} is cordoned or offline"
        for (broker, name), log_dir in seen.log_dirs.items()
        if log_dir.is_cordoned or log_dir.error != "NONE"
    ]
    return closed[0] if closed else ""


async def differences(host: str, port: int, count: int, chance: RandomSource) -> list[str]:
    """Ask ``count`` cases that chance draws; return what no known difference excuses.

    What an examiner left that could not clean up goes first: cases ask for all users (seed 997553).

    Raises:
        ConformanceError, OSError: the cluster does not answer as a cluster of Kafka.
    """
    access = await find_cluster(f"{host}:{port}", TIMEOUT_MS)
    try:
        await access.clean_up(MARK)
        return await _differences(access, count, chance)
    finally:
        access.close()


async def _differences(access: Access, count: int, chance: RandomSource) -> list[str]:
    expected = _expectations()
    among = [each for each in askable(access, expected) if each.case.name not in NOT_ASKED]
    chosen = drawn(among, count, chance)
    seen = await observed(chosen, lambda suffix: Trial(access, suffix, _JOBS).observe)
    known = _known()
    verdicts = (
        judge(each.name, each.case.about, expected.seen[each.name], seen[each.name], known)
        for each in chosen
    )
    return [
        f"{each.name} ({each.about}): {'; '.join(map(str, each.differences))}"
        for each in verdicts
        if each.outcome is Outcome.VIOLATION
    ]


async def observed(
    chosen: Sequence[Variant], new_trial: Callable[[str], Observe]
) -> dict[str, CaseSeen | str]:
    """Run cases; those that could not be carried out, or saw a passing code, are tried once more.

    A connection from a broker to the controller may have died in the story without a word: the
    first request over it is lost, and answered with REQUEST_TIMED_OUT (seeds 746016, 146), or
    there is no coordinator for as long (seed 920025).
    """
    seen: dict[str, CaseSeen | str] = {}
    first, again = _SUFFIXES
    with suppress(NotInTimeError):
        seen |= await new_trial(first)(chosen)
    left = [each for each in chosen if _is_open(seen.get(each.name, ""))]
    if left:
        seen |= await new_trial(again)(left)
    return seen


def _is_open(seen: CaseSeen | str) -> bool:
    return isinstance(seen, str) or _has_passing_code(seen)


def _has_passing_code(part: Any) -> bool:
    """Tell whether a part of what a case saw has one of ``_PASSING``."""
    if isinstance(part, Mapping):
        rows = cast("Mapping[str, Any]", part)
        return rows.get("errorCode") in _PASSING or any(map(_has_passing_code, rows.values()))
    return isinstance(part, list) and any(map(_has_passing_code, cast("list[Any]", part)))


def drawn(among: Sequence[Variant], count: int, chance: RandomSource) -> list[Variant]:
    """Draw cases: a group first, so that small ones come as often as large ones.

    A case is drawn once at most, at one of its versions.
    """
    groups: dict[str, dict[str, list[Variant]]] = {}
    for each in among:
        groups.setdefault(each.case.group, {}).setdefault(each.case.name, []).append(each)
    found: list[Variant] = []
    while groups and len(found) < count:
        group = list(groups)[chance.randrange(len(groups))]
        cases = groups[group]
        versions = cases.pop(list(cases)[chance.randrange(len(cases))])
        found.append(versions[chance.randrange(len(versions))])
        if not cases:
            del groups[group]
    return found


@cache
def _expectations() -> Expectations:
    return load_expectations(RELEASE)


@cache
def _known() -> list[KnownDifference]:
    return known_differences(KNOWN, RELEASE)
