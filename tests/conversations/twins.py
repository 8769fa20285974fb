"""Has the same conversation with two clusters, and cuts one that they answer differently short."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.case_run import CaseRun
from conformance.cluster_access import Access
from conformance.core.differences import Difference, differences
from conformance.core.script import Case, Given, Request, Script, Talk
from conformance.errors import ConformanceError
from protocol.apis import BY_NAME
from tests.conversations.conversation import conversation
from tests.conversations.likeness import alike

ENDED_WITHIN_S: Final = 60
"""A conversation of a hundred steps takes a second or two."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one conversation."""

    asked: Sequence[Request]
    """What ours was asked, without what waits for something."""
    ours: Sequence[Mapping[str, Any]]
    theirs: Sequence[Mapping[str, Any]]

    @property
    def difference(self) -> Difference | None:
        """The first place at which they differ."""
        return next(differences(self.theirs, self.ours), None)


@dataclass(slots=True)
class Twins:
    """Two clusters in which the same was said so far, and is said under the same names."""

    ours: Access
    theirs: Access
    suffix: str
    now_and_then: int = 0
    """Conversations that differed once, and not again in the same way."""
    _count: int = 0
    versions: Mapping[str, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        """Take the versions that both serve."""
        self.versions = common_versions(self.ours.announced, self.theirs.announced)

    async def talk(self, seed: int, steps: Sequence[int]) -> Heard:
        """Have a conversation with both, beside each other."""
        self._count += 1
        case = conversation(seed, steps, self.versions)
        suffix = f"{self.suffix}{self._count:x}z"
        asked: list[Request] = []
        ours, theirs = await asyncio.gather(
            _heard(_noted(case, asked), self.ours, suffix), _heard(case, self.theirs, suffix)
        )
        return Heard(asked, ours, theirs)

    async def shortest(self, seed: int, steps: Sequence[int]) -> tuple[list[int], Heard] | None:
        """Return the steps without which they would not differ, and what came of them.

        None: they are alike, or differ only now and then, which is a matter of time. How often is
        in ``now_and_then``.
        """
        heard = await self.talk(seed, steps)
        if heard.difference is None:
            return None
        again = await self.talk(seed, steps)
        if not _is_same(heard.difference, again.difference):
            self.now_and_then += 1
            return None
        left, size = list(steps), max(len(steps) // 2, 1)
        while size:
            at = 0
            while at < len(left):
                shorter = left[:at] + left[at + size :]
                tried = await self.talk(seed, shorter)
                if _is_same(tried.difference, heard.difference):
                    left, heard = shorter, tried
                else:
                    at += size
            size //= 2
        return left, heard


def common_versions(
    one: Mapping[int, tuple[int, int]], other: Mapping[int, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest version that both announce, of the APIs that are known."""
    found: dict[str, tuple[int, int]] = {}
    for name, api in BY_NAME.items():
        if api.key in one and api.key in other:
            low = max(one[api.key][0], other[api.key][0], api.versions.low)
            found[name] = (low, min(one[api.key][1], other[api.key][1], api.versions.high))
    return found


def talked(heard: Heard) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the answers of both up to the first in which they differ: theirs, ours."""
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    for theirs, ours in zip(heard.theirs, heard.ours, strict=False):
        pairs.append((theirs, ours))
        if theirs != ours:
            break
    return pairs


def _noted(case: Case, asked: list[Request]) -> Case:
    """Return the same case, which notes what it asks."""

    def script(given: Given) -> Script:
        steps, came = case.script(given), None
        while True:
            try:
                step = steps.send(came)
            except StopIteration:
                return
            if isinstance(step, Talk):
                asked.extend(each for each in step.requests if isinstance(each, Request))
            came = yield step

    return replace(case, script=script)


async def _heard(case: Case, access: Access, suffix: str) -> list[dict[str, Any]]:
    run = CaseRun(case, 0, access, suffix)
    try:
        async with asyncio.timeout(ENDED_WITHIN_S):
            return alike(await run.run())
    except (ConformanceError, OSError, TimeoutError) as error:
        return [*alike(run.seen), {"ended": f"{type(error).__name__}: {error}"}]


def _is_same(one: Difference | None, other: Difference | None) -> bool:
    """Whether they are of one kind: of one field, and the same values where these are short."""
    return _kind(one) == _kind(other)


def _kind(difference: Difference | None) -> tuple[str, str, str] | None:
    if difference is None:
        return None
    path = "".join(each for each in difference.path if not each.isdigit())
    return path, str(difference.expected)[:12], str(difference.got)[:12]
