"""Before the faults of a run end: those that met nothing stay, and are given something to meet.

Everything else is repaired meanwhile, so that nothing stands in their way. What is worth doing
says ``simulation.core.fault_triggers``; what comes of it is judged by who calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Final

from simulation.core.actions import Action, Clear
from simulation.core.fault_triggers import fault_triggers
from simulation.core.plan import Ending
from simulation.core.plan_document import value_text
from simulation.run.acting import act
from simulation.run.healing import LOOK_EVERY_MS, NEEDS, Repair, end_breakage
from simulation.run.patience import pause_s
from simulation.run.run_context import RunContext, StepError
from simulation.run.story import Story

PATIENCE_MS: Final = 500
"""Between two provocations."""
TOPIC: Final = "provoked"


async def trigger_unmet_faults(context: RunContext, ending: Ending, story: Story) -> None:
    """Repair all but the faults that met nothing, and wait until these have met something.

    Ends after ``ending.met_within_ms`` at the latest, and at once where all have met something.
    """
    if not ending.met_within_ms or not await context.unmet_faults():
        return
    await _end_all_else(context, ending, story)
    repair = Repair(context, ending, story)
    attempts = _Attempts(context)
    began_ms = tried_ms = context.cluster.now_ms()
    while unmet := await context.unmet_faults():
        now_ms = context.cluster.now_ms()
        if now_ms - began_ms > ending.met_within_ms:
            return
        await _end_met(context, unmet)
        await repair.go_on(await context.observer.observe(NEEDS))
        if now_ms - tried_ms >= PATIENCE_MS:
            await _try(context, story, attempts.following(unmet))
            tried_ms = context.cluster.now_ms()
        await asyncio.sleep(pause_s(now_ms - began_ms, LOOK_EVERY_MS))
    story.tell(f"every fault has met something after {context.cluster.now_ms() - began_ms} ms")


class _Attempts:
    """What is tried for which fault next, over and over."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._by_fault: dict[str, Iterator[Action | None]] = {}
        self._turn = 0

    def following(self, unmet: tuple[str, ...]) -> Action | None:
        """Return what to try for the one whose turn it is; None: only patience helps that one."""
        self._turn += 1
        fault = unmet[self._turn % len(unmet)]
        if fault not in self._context.active_faults:
            return None  # It met something meanwhile, and was taken off.
        if fault not in self._by_fault:
            topic = f"{TOPIC}{len(self._by_fault) + 1}"
            actions = fault_triggers(self._context.active_faults[fault], topic)
            self._by_fault[fault] = cycle(actions or (None,))
        return next(self._by_fault[fault])


async def _end_met(context: RunContext, unmet: Sequence[str]) -> None:
    """Take off what has met something: it may keep others from meeting anything."""
    for name in list(context.active_faults):
        if name not in unmet:
            await act(context, Clear(name))


async def _end_all_else(context: RunContext, ending: Ending, story: Story) -> None:
    unmet = await context.unmet_faults()
    story.tell(f"all ends but {', '.join(unmet)}, which met nothing yet")
    await _end_met(context, unmet)
    await end_breakage(context, ending, story)


async def _try(context: RunContext, story: Story, action: Action | None) -> None:
    if action is None:
        return
    story.tell(value_text(action))
    try:
        await act(context, action)
    except StepError as error:
        story.tell(f"{value_text(action)}: {error}")
