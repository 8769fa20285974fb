"""Draws deletions of records that take long: who has to follow is slow, moves, or ends meanwhile.

Where disks are quick a deletion is over before anything else happens, and whoever forgets one of
those that it waits for is never seen. Offsets lie anywhere: inside of a batch, and of a segment.
"""

from __future__ import annotations

from typing import Final

from protocol.faults.model import DiskFault, DiskMode, FileClass, Operation, broker_node
from simulation.core import actions
from simulation.core.actions import Action, Clear, CreateTopic, Fault
from simulation.core.dice import Dice, chosen
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.plan import ClusterPlan

_COPIES: Final = (Operation.APPEND,)
"""Of records: a copy learns where its log begins behind them."""
_NOTES: Final = (Operation.WRITE,)
"""Of where logs begin."""
_NAMES: Final = (Operation.RENAME,)
"""By which notes are put in place, and logs change places."""
DELETING: Final = (_COPIES, _NOTES, _NAMES)
"""What takes long while records are deleted."""
_FILES: Final = {
    _COPIES: (FileClass.LOG,),
    _NOTES: (FileClass.CHECKPOINT,),
    _NAMES: (FileClass.CHECKPOINT, FileClass.LOG, FileClass.OTHER),
}
_NAME: Final = "deletes-slowly"
_DELAY_MS: Final = (30, 500)
_FOLLOWER_DELAY_MS: Final = (300, 1_500)
_FEW: Final = 5
"""Records that one deletion takes more than the one before, at most."""


def draw_lasting_deletion(dice: Dice, scope: FaultScope, _rate: int) -> list[list[TimedAction]]:
    """Delete records of one or two partitions, several times, while something of it takes long.

    Mostly their replicas move meanwhile; otherwise a follower ends that the deletions wait for.
    Each order is somebody else's, and waits for no other one's answer.
    """
    cluster = scope.cluster
    topic = cluster.topics[0]
    at_ms = dice.randint(300, max(300, scope.length_ms // 4))  # Early, while most is whole.
    if dice.random() < 0.3:
        return _beside_an_end(dice, cluster, topic, at_ms)
    index = dice.randint(0, topic.partitions - 1)
    leader, *followers = topic.assignment[index]
    broker = leader if dice.random() < 0.7 else dice.choice(followers)
    beside = [
        one for one in range(topic.partitions) if one != index and broker in topic.assignment[one]
    ]
    names = [f"{topic.name}-{one}" for one in (index, *beside[:1])]
    node, target = broker_node(broker), dice.choice(cluster.log_dir_names[1:])
    operations = chosen(dice, {_COPIES: 3, _NOTES: 2, _NAMES: 1})
    slow = DiskFault(
        mode=DiskMode.SLOW,
        node=node,
        log_dir=target if operations == _COPIES or dice.random() < 0.3 else None,
        operations=operations,
        files=_FILES[operations],
        delay_ms=dice.randint(*_DELAY_MS),
    )
    end_ms = at_ms + dice.randint(2, 6) * slow.delay_ms
    moves = [
        TimedAction(at_ms, actions.MoveReplica(of=name, broker=node, to=target)) for name in names
    ]
    if dice.random() < 0.4:  # One comes back while another one goes: both log dirs have copies.
        back = dice.choice((cluster.log_dir_names[0], f"of {names[-1]}"))
        moves.append(TimedAction(end_ms, actions.MoveReplica(of=names[0], broker=node, to=back)))
    deletions = [
        lane for name in names for lane in _deletions(dice, name, at_ms, 2 * slow.delay_ms)
    ]
    return [moves, *deletions, _slow(slow, at_ms, end_ms)]


def _beside_an_end(
    dice: Dice, cluster: ClusterPlan, topic: CreateTopic, at_ms: int
) -> list[list[TimedAction]]:
    """Let a follower end, for longer than it counts as alive, that has not deleted yet."""
    index = dice.randint(0, topic.partitions - 1)
    node = broker_node(dice.choice(topic.assignment[index][1:]))
    slow = DiskFault(
        mode=DiskMode.SLOW,
        node=node,
        operations=_NOTES,
        files=_FILES[_NOTES],
        delay_ms=dice.randint(*_FOLLOWER_DELAY_MS),
    )
    name = f"{topic.name}-{index}"
    end = chosen(dice, {actions.Kill: 3, actions.PowerCut: 1, actions.Pause: 2})
    end_ms = at_ms + dice.randint(50, slow.delay_ms)
    back = actions.Resume(node) if end is actions.Pause else actions.Start(node)
    back_ms = end_ms + cluster.session_timeout_ms + dice.randint(200, 1_500)
    return [
        *_deletions(dice, name, at_ms, slow.delay_ms),
        [TimedAction(end_ms, end(node)), TimedAction(back_ms, back)],
        _slow(slow, at_ms, at_ms + slow.delay_ms),
    ]


def _deletions(dice: Dice, partition: str, at_ms: int, within_ms: int) -> list[list[TimedAction]]:
    """Draw two or three, each beside the others; who asks for the first record is told of none."""
    lanes: list[list[TimedAction]] = []
    before = 0
    for _ in range(dice.randint(2, 3)):
        before += dice.randint(1, _FEW)
        deleted_ms = at_ms + dice.randint(1, within_ms)
        delete: Action = actions.DeleteRecords(of=partition, before=before)
        asked = actions.Ask(
            api="ListOffsets", of=partition, broker=f"leader of {partition}", time_ms=0
        )
        lanes += [
            [TimedAction(deleted_ms, delete)],
            [TimedAction(deleted_ms + dice.randint(1, within_ms), asked)],
        ]
    return lanes


def _slow(slow: DiskFault, at_ms: int, end_ms: int) -> list[TimedAction]:
    return [
        TimedAction(max(0, at_ms - 50), Fault(name=_NAME, rule=slow)),
        TimedAction(end_ms + 1, Clear(_NAME, once_met=True)),
    ]
