"""Draws what a hand does to the controller's journal: cuts its end, damages it, puts a copy back.

Nothing is promised of what the journal lost and no broker can tell. So such a story has no drawn
faults, and no orders that break something (``BREAKING``): everybody is heard, at the latest when
brokers come back that were down as the controller took over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from protocol.faults.model import CONTROLLER_NODE, broker_node
from simulation.core import actions
from simulation.core.actions import Action, EditJournal
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_cluster import draw_topic
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
STAYING: Final = ("alter_topic", "alter_broker", "elect_leaders", "delete_records", "move_replica")
"""Kinds of orders that leave replicas on their brokers."""
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


def draw_losses(dice: Dice, scope: FaultScope, edited: Sequence[TimedAction]) -> list[TimedAction]:
    """Draw orders that are decided after the copy and before the edit, which the journal may lose.

    Some come again once the controller is back, as from somebody who does not find them done.

    Args:
        dice: chance.
        scope: with those topics alone that orders may change.
        edited: what ``draw_journal`` drew.
    """
    copy_ms, end_ms = edited[0].at_ms, edited[1].at_ms
    if end_ms - copy_ms < _LOSS_MS_MIN:
        return []
    lost: list[TimedAction] = []
    for kind in dice.sample(sorted(_LOSSES), _LOSSES_OF_A_STORY):
        before, meanwhile, again = _LOSSES[kind](dice, scope)
        times_ms = sorted(dice.randint(0, copy_ms) for _ in before)
        lost += map(TimedAction, times_ms, before)
        # The last of it is answered, and with luck told, before the controller ends.
        times_ms = sorted(dice.randint(copy_ms + 20, end_ms - 100) for _ in meanwhile)
        lost += map(TimedAction, times_ms, meanwhile)
        back_ms = min(end_ms + skewed(dice, 200, 2_500), scope.length_ms)
        lost += [TimedAction(back_ms, each) for each in again]
    return sorted(lost, key=lambda each: each.at_ms)


class Absences(NamedTuple):
    """When brokers are down, in a lane for each, and whether some are as the controller begins."""

    lanes: list[list[TimedAction]]
    are_at_edit: bool


def draw_absences(dice: Dice, scope: FaultScope, edited: Sequence[TimedAction]) -> Absences:
    """Draw when brokers are down: all as the copy is made, one between, one at the edit.

    Who is down at the edit comes back while the controller listens, or after it took over. All are
    stopped: one that is killed may have heard what it has not written down. Where a process begins
    anew nobody may remember where replicas are, so then only ``STAYING`` are to be ordered. Were
    all down at the edit, one that led alone would not be heard, and nothing is promised of that.

    Args:
        dice: chance.
        scope: of the story.
        edited: what ``draw_journal`` drew.
    """
    copy_ms, end_ms = edited[0].at_ms, edited[1].at_ms
    brokers, session_ms = scope.cluster.node_names[1:], scope.cluster.session_timeout_ms
    absent = chosen(dice, {0: 7, 1: 3})
    spans: list[tuple[int, int, Sequence[str]]] = []
    dead_ms = copy_ms - session_ms - _COUNTS_AS_DEAD_MS
    is_long = end_ms - copy_ms >= _RESTART_MS_MIN
    if is_long and dead_ms >= 0 and dice.random() < 0.5:
        spans.append((dead_ms, copy_ms + dice.randint(1, 200), brokers))
    if is_long and absent:
        down_ms = dice.randint(copy_ms + 20, end_ms - _RESTART_MS_MIN + 20)
        spans.append((down_ms, down_ms + dice.randint(1, 200), [dice.choice(brokers)]))
    back_ms = end_ms + skewed(dice, 1, min(2 * session_ms, _BACK_MS_MAX))
    spans.append((max(0, end_ms - skewed(dice, 1, 500)), back_ms, dice.sample(brokers, absent)))
    lanes: dict[str, list[TimedAction]] = {}
    for down_ms, up_ms, down in spans:
        for node in down:
            up = TimedAction(up_ms + dice.randint(0, 100), actions.Start(node))
            lanes.setdefault(node, []).extend((TimedAction(down_ms, actions.Stop(node)), up))
    return Absences(list(lanes.values()), absent > 0)


_Loss: TypeAlias = tuple[tuple[Action, ...], tuple[Action, ...], tuple[Action, ...]]
"""What is asked before the copy, what between it and the edit, and what when all is back."""


def _growth(dice: Dice, scope: FaultScope) -> _Loss:
    topic = dice.choice(scope.cluster.topics)
    grow = actions.AddPartitions(topic=topic.name, to=topic.partitions + 1)
    return (), (grow,), (grow,)


def _new_topic(dice: Dice, _scope: FaultScope) -> _Loss:
    topic = draw_topic(dice, "lost")
    return (), (topic,), (topic,) if dice.random() < 0.5 else ()


def _deletion(dice: Dice, _scope: FaultScope) -> _Loss:
    topic = draw_topic(dice, "deleted-since")
    return (topic,), (actions.DeleteTopic(topic.name),), ()


def _reassignment(dice: Dice, scope: FaultScope) -> _Loss:
    return (), (_reassign(dice, scope),), ()


def _return(dice: Dice, scope: FaultScope) -> _Loss:
    """Have a replica taken away, and brought back after the copy."""
    first = _reassign(dice, scope)
    back = actions.Reassign(of=first.of, to=tuple(dice.sample(scope.cluster.broker_ids, 2)))
    return (first,), (back,), ()


def _return_beside_a_removal(dice: Dice, scope: FaultScope) -> _Loss:
    """Have a replica taken away whose broker is down, and brought back by when it is up again.

    The copy has an order to delete what is a replica since.
    """
    topic = dice.choice(scope.cluster.topics)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    first, second = dice.sample(scope.cluster.broker_ids, 2)
    node = broker_node(second)
    alone = actions.Reassign(of=partition, to=(first,))
    both = actions.Reassign(of=partition, to=(first, second))
    return (both, actions.Stop(node), alone), (actions.Start(node), both), ()


def _reassign(dice: Dice, scope: FaultScope) -> actions.Reassign:
    topic = dice.choice(scope.cluster.topics)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    count = dice.randint(1, 2)
    return actions.Reassign(of=partition, to=tuple(dice.sample(scope.cluster.broker_ids, count)))


_LOSSES: Final[dict[str, Callable[[Dice, FaultScope], _Loss]]] = {
    "growth": _growth,
    "new topic": _new_topic,
    "deletion": _deletion,
    "reassignment": _reassignment,
    "return": _return,
    "return beside a removal": _return_beside_a_removal,
}
_LOSSES_OF_A_STORY: Final = 2
_LOSS_MS_MIN: Final = 300
_RESTART_MS_MIN: Final = 400
_COUNTS_AS_DEAD_MS: Final = 300
"""So long after a session a broker is fenced, and that is written down."""
_BACK_MS_MAX: Final = 3_000
_EDITS: Final[dict[JournalEdit, int]] = {
    "cut": 2,
    "damage": 2,
    "restore": 4,
    "damage_middle": 1,
    "empty": 1,
}
_REFUSED: Final = ("damage_middle", "empty")
