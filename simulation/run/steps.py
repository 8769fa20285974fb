"""Plays the steps of a plan in order: times, conditions, and what each action does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from simulation.core.actions import (
    Action,
    EditJournal,
    Expect,
    Fault,
    Holds,
    Step,
    Until,
    Wait,
    When,
)
from simulation.core.conditions import Condition
from simulation.core.judging import Judgement, judge
from simulation.core.needs import needs_of
from simulation.core.observation import Observation
from simulation.core.plan_document import value_text
from simulation.core.plan_words import word_of
from simulation.run.acting import act, may_be_given_up
from simulation.run.patience import pause_s
from simulation.run.run_context import RunContext, StepError
from simulation.run.story import Story

LOOK_EVERY_MS: Final = 50
TRY_AGAIN_MS: Final = 500
TOO_LATE_MS: Final = 8_000
"""A step that may fail is left out when its time is over for so long: the ending does the rest.

An order that nobody answered by then, or a node that did not end, is given up: behind one that
takes two minutes each would wait as long once the story is over. Edits of the journal always
follow: one of them takes back what the one before it did.
"""
GIVEN_UP_MS_MIN: Final = 1_000
"""How long one that begins late is waited for at least."""
_CONDITIONAL: Final = (Until, Expect, Holds)


@dataclass(slots=True)
class _Watch:
    """One ``when`` that was reached."""

    condition: Condition
    task: asyncio.Task[None] | None = None
    has_begun: bool = False


class Player:
    """Plays one plan on one cluster; what goes wrong gathers in ``failures``."""

    def __init__(self, context: RunContext, story: Story) -> None:
        self.failures: list[str] = []
        self.faults: list[Fault] = []
        """Those that were set and must meet something."""
        self.done: dict[str, int] = {}
        """The word of an action -> how often it went as the plan says."""
        self.persists_ms: int | None = None
        """So long a step is tried that does not go as the plan says, as operators do around what
        just broke; then the next one follows. None: nothing may go otherwise."""
        self.on_step: Callable[[Step], None] = _as_it_comes
        """Called with each step before it is done."""
        self._context = context
        self._story = story
        self._watches: list[_Watch] = []

    async def play(self, steps: Sequence[Step]) -> None:
        """Do the steps, the first that goes wrong is the last; end every ``when`` with them."""
        async with asyncio.TaskGroup() as group:
            await self._sequence(steps, group)
            for watch in self._watches:
                if not watch.has_begun and watch.task is not None:
                    watch.task.cancel()
        if not self.failures and self.persists_ms is None:
            self.failures += [
                f"when: {value_text(watch.condition)}: it never was so"
                for watch in self._watches
                if not watch.has_begun
            ]

    async def _sequence(self, steps: Sequence[Step], group: asyncio.TaskGroup) -> None:
        for step in steps:
            if self.failures:
                return
            if self._comes_too_late(step):
                continue
            try:
                await self._step(step, group)
            except StepError as error:
                if self.persists_ms is not None:
                    await self._persist(step.action, self.persists_ms)
                    continue
                failure = f"{value_text(step.action)}: {error}"
                self._story.tell(failure if step.may_fail else f"WRONG: {failure}")
                if not step.may_fail:
                    self.failures.append(failure)

    def _comes_too_late(self, step: Step) -> bool:
        if not step.may_fail or step.at_ms is None or isinstance(step.action, EditJournal):
            return False
        return self._story.now_ms - step.at_ms > TOO_LATE_MS

    async def _persist(self, action: Action, persists_ms: int) -> None:
        """Do an action again and again, for so long; conditions had their time."""
        deadline_ms = self._story.now_ms + persists_ms
        while not isinstance(action, _CONDITIONAL) and self._story.now_ms < deadline_ms:
            await asyncio.sleep(TRY_AGAIN_MS / 1000)
            with suppress(StepError):
                await act(self._context, action)
                return

    async def _step(self, step: Step, group: asyncio.TaskGroup) -> None:
        if step.at_ms is not None:
            await asyncio.sleep(max(0, step.at_ms - self._story.now_ms) / 1000)
        self.on_step(step)
        if step.says is not None:
            self._story.tell(step.says)
        match step.action:
            case Wait(for_ms=for_ms):
                await asyncio.sleep(for_ms / 1000)
            case Until(condition=condition, within_ms=within_ms):
                await self._until(condition, within_ms)
            case Expect(condition=condition):
                await self._expect(condition)
            case Holds(condition=condition, for_ms=for_ms):
                await self._holds(condition, for_ms)
            case When(condition=condition, steps=steps):
                self._when(condition, steps, group)
            case action:
                self._story.tell(value_text(action))
                await self._act(step)
                word = word_of(type(action))
                self.done[word] = self.done.get(word, 0) + 1
                if isinstance(action, Fault):
                    self.faults.append(action)

    async def _act(self, step: Step) -> None:
        """Do an action; give it up in time if it may fail and waits for somebody's answer.

        Raises:
            StepError: as ``act``, or it was given up.
        """
        if step.at_ms is None or not step.may_fail or not may_be_given_up(step.action):
            await act(self._context, step.action)
            return
        left_ms = step.at_ms + TOO_LATE_MS - self._story.now_ms
        try:
            async with asyncio.timeout(max(left_ms, GIVEN_UP_MS_MIN) / 1000):
                await act(self._context, step.action)
        except TimeoutError as error:
            raise StepError("nobody answers, it is given up") from error

    async def _until(self, condition: Condition, within_ms: int) -> None:
        began_ms = self._story.now_ms
        since = await self._look(condition)
        judgement = judge(condition, since)
        while not judgement.holds:
            lasted_ms = self._story.now_ms - began_ms
            patience_ms = within_ms if self.persists_ms is None else self.persists_ms
            if lasted_ms > min(within_ms, patience_ms):
                raise StepError(f"not so after {lasted_ms} ms: {judgement.says}")
            is_quick = self.persists_ms is None
            await asyncio.sleep((LOOK_EVERY_MS if is_quick else TRY_AGAIN_MS) / 1000)
            judgement = judge(condition, await self._look(condition), since)
        self._story.tell(f"{judgement.says}, after {self._story.now_ms - began_ms} ms")

    async def _expect(self, condition: Condition) -> None:
        judgement = judge(condition, await self._look(condition))
        _demand(judgement)
        self._story.tell(judgement.says)

    async def _holds(self, condition: Condition, for_ms: int) -> None:
        began_ms = self._story.now_ms
        since = await self._look(condition)
        judgement = judge(condition, since)
        _demand(judgement)
        while self._story.now_ms - began_ms < for_ms:
            await asyncio.sleep(LOOK_EVERY_MS / 1000)
            judgement = judge(condition, await self._look(condition), since)
            _demand(judgement)
        self._story.tell(f"{judgement.says}, for {for_ms} ms")

    def _when(self, condition: Condition, steps: Sequence[Step], group: asyncio.TaskGroup) -> None:
        watch = _Watch(condition)
        self._watches.append(watch)
        watch.task = group.create_task(self._watch(watch, steps, group), name="when")

    async def _watch(self, watch: _Watch, steps: Sequence[Step], group: asyncio.TaskGroup) -> None:
        began_ms = self._story.now_ms
        since = await self._look(watch.condition)
        judgement = judge(watch.condition, since)
        while not judgement.holds:
            await asyncio.sleep(pause_s(self._story.now_ms - began_ms, LOOK_EVERY_MS))
            judgement = judge(watch.condition, await self._look(watch.condition), since)
        watch.has_begun = True
        self._story.tell(f"when: {judgement.says}")
        await self._sequence(steps, group)

    async def _look(self, condition: Condition) -> Observation:
        return await self._context.observer.observe(needs_of(condition))


def _as_it_comes(_step: Step) -> None:
    return None


def _demand(judgement: Judgement) -> None:
    if not judgement.holds:
        raise StepError(judgement.says)
