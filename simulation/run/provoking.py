"""Before the faults of a run end: those that met nothing stay, and are given something to meet.

Everything else is repaired meanwhile, so that nothing stands in their way. What is worth doing
says ``simulation.core.provocation``; what comes of it is judged by who calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle
from typing import Final

from simulation.core.actions import Action, Clear
from simulation.core.plan import Ending
from simulation.core.plan_document import value_text
from simulation.core.provocation import provocations
from simulation.run.acting import act
from simulation.run.healing import LOOK_EVERY_MS, NEEDS, Repair, end_breakage
from simulation.run.scene import Scene, StepError
from simulation.run.story import Story

PATIENCE_MS: Final = 500
"""Between two provocations."""
TOPIC: Final = "provoked"


async def provoke(scene: Scene, ending: Ending, story: Story) -> None:
    """Repair all but the faults that met nothing, and wait until these have met something.

    Ends after ``ending.met_within_ms`` at the latest, and at once where all have met something.
    """
    if not ending.met_within_ms or not await scene.unmet_faults():
        return
    await _end_all_else(scene, ending, story)
    repair = Repair(scene, ending, story)
    attempts = _Attempts(scene)
    began_ms = tried_ms = scene.stage.now_ms()
    while unmet := await scene.unmet_faults():
        now_ms = scene.stage.now_ms()
        if now_ms - began_ms > ending.met_within_ms:
            return
        await repair.go_on(await scene.lookout.look(NEEDS))
        if now_ms - tried_ms >= PATIENCE_MS:
            await _try(scene, story, attempts.following(unmet))
            tried_ms = scene.stage.now_ms()
        await asyncio.sleep(LOOK_EVERY_MS / 1000)
    story.tell(f"every fault has met something after {scene.stage.now_ms() - began_ms} ms")


class _Attempts:
    """What is tried for which fault next, over and over."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._by_fault: dict[str, Iterator[Action | None]] = {}
        self._turn = 0

    def following(self, unmet: tuple[str, ...]) -> Action | None:
        """Return what to try for the one whose turn it is; None: only patience helps that one."""
        self._turn += 1
        fault = unmet[self._turn % len(unmet)]
        if fault not in self._scene.active_faults:
            return None  # It met something meanwhile, and was taken off.
        if fault not in self._by_fault:
            topic = f"{TOPIC}{len(self._by_fault) + 1}"
            actions = provocations(self._scene.active_faults[fault], topic)
            self._by_fault[fault] = cycle(actions or (None,))
        return next(self._by_fault[fault])


async def _end_all_else(scene: Scene, ending: Ending, story: Story) -> None:
    unmet = await scene.unmet_faults()
    story.tell(f"all ends but {', '.join(unmet)}, which met nothing yet")
    for name in list(scene.active_faults):
        if name not in unmet:
            await act(scene, Clear(name))
    await end_breakage(scene, ending, story)


async def _try(scene: Scene, story: Story, action: Action | None) -> None:
    if action is None:
        return
    story.tell(value_text(action))
    try:
        await act(scene, action)
    except StepError as error:
        story.tell(f"{value_text(action)}: {error}")
