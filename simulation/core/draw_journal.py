"""Draws what a hand does to the controller's journal: cuts its end, damages it, puts a copy back.

Nothing is promised of what the journal lost and no broker can tell. So such a story has no drawn
faults, and no orders that break something (``BREAKING``): everybody is heard.
"""

from __future__ import annotations

from typing import Final

from protocol.faults.model import CONTROLLER_NODE
from simulation.core import actions
from simulation.core.actions import Action, EditJournal
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.journal_edits import JournalEdit

BREAKING: Final = (
    "restart_log_dir",
    "replace_log_dir",
    "topic_of_a_dead_broker",
    "deletion_that_waits",
    "cordon_and_back",
    "slow_move",
    "topics_beside_a_failed_log_dir",
    "one_brought_back_alone",
    "diverging_logs",
    "deletion_beside_an_unheard_follower",
    "failure_before_joining",
    "loss_that_is_allowed_later",
    "half_done_reassignment",
    "replacement_before_it_is_told",
    "replica_that_comes_and_goes",
)
"""Kinds of orders after which a broker, or a log dir, may not be heard."""
_REFUSES_AFTER_MS: Final = 8_000
"""By then a controller has ended that cannot begin with its journal."""
_START: Final = actions.Start(CONTROLLER_NODE)


def draw_journal(dice: Dice, scope: FaultScope) -> list[TimedAction]:
    """Draw what is done to the journal, in order of time."""
    length_ms = scope.length_ms
    copy_ms = dice.randint(0, length_ms // 2)
    at_ms = min(copy_ms + skewed(dice, 200, length_ms), length_ms * 9 // 10)
    end = chosen(dice, {actions.Kill: 3, actions.Stop: 1, actions.PowerCut: 2})
    down = (EditJournal("copy"), end(CONTROLLER_NODE))
    edit = chosen(dice, _EDITS)
    steps: tuple[Action, ...] = (EditJournal(edit), _START)
    if edit in _REFUSED:
        steps = (*steps, actions.Wait(_REFUSES_AFTER_MS), EditJournal("restore"), _START)
    copy, *others = (*down, *steps)
    return [TimedAction(copy_ms, copy), *(TimedAction(at_ms, action) for action in others)]


_EDITS: Final[dict[JournalEdit, int]] = {
    "cut": 2,
    "damage": 2,
    "restore": 4,
    "damage_middle": 1,
    "empty": 1,
}
_REFUSED: Final = ("damage_middle", "empty")
