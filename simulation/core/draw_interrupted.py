"""Draws moves whose steps take long, and what comes between: the end of the broker, another order.

A start finds what a process had begun: two logs of a replica and a note which one counts, segments
under other names, a copy that nobody works on. Where disks are quick no chance meets that moment.
"""

from __future__ import annotations

from typing import Final

from protocol.faults.model import DiskFault, DiskMode, FileClass, Operation, broker_node
from simulation.core import actions
from simulation.core.actions import Clear, Fault
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_faults import FaultScope, TimedAction

RENAMES: Final = (Operation.RENAME, Operation.REMOVE)
"""By which a move ends, a log goes, and compaction puts segments in place."""
_MAKING: Final = (Operation.MAKE_DIR,)
MOVING: Final = (RENAMES, _MAKING)
"""What takes long while a replica moves."""
_NAME: Final = "takes-long"
_UNREAD: Final = "moves-out-of-sight"
_DELAY_MS: Final = (60, 300)
_BEGINS_TWICE: Final = 0.4


def draw_interrupted_move(dice: Dice, scope: FaultScope, _rate: int) -> list[list[TimedAction]]:
    """Let something come between what a move begins and what it ends with.

    While its new log is made that is another order, from somebody who waits for no answer, and
    records may be deleted while the two logs change places.
    """
    cluster = scope.cluster
    topic = cluster.topics[0]
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    index = int(partition.rpartition("-")[2])
    node = broker_node(dice.choice(topic.assignment[index]))
    target, other = dice.sample(cluster.log_dir_names[1:], 2)
    at_ms = dice.randint(200, max(200, scope.length_ms // 5))  # Early, while most is whole.
    delay_ms = dice.randint(*_DELAY_MS)
    is_made_slowly = dice.random() < 0.3
    slow = DiskFault(
        mode=DiskMode.SLOW,
        node=node,
        operations=_MAKING if is_made_slowly else RENAMES,
        files=(FileClass.OTHER, FileClass.LOG),
        delay_ms=delay_ms,
    )
    move = actions.MoveReplica(of=partition, broker=node, to=target)
    lanes = [[TimedAction(at_ms, move)]]
    if is_made_slowly:
        to = dice.choice((other, f"of {partition}"))
        again = actions.MoveReplica(of=partition, broker=node, to=to)
        lanes.append([TimedAction(at_ms + skewed(dice, 5, delay_ms), again)])
    elif dice.random() < 0.5:
        delete = actions.DeleteRecords(of=partition, before=dice.randint(1, 30))
        lanes.append([TimedAction(at_ms + skewed(dice, 1, 4 * delay_ms), delete)])
    return [*lanes, _ended(dice, slow, target, at_ms)]


def _ended(dice: Dice, slow: DiskFault, target: str, at_ms: int) -> list[TimedAction]:
    """Let the broker end while its disks are slow, and begin again when they are not.

    At times it begins without the log dir that the replica moves to, and goes on writing where that
    was; both logs are there when it begins once more.
    """
    end = chosen(dice, {actions.Kill: 3, actions.PowerCut: 2})
    end_ms = at_ms + dice.randint(slow.delay_ms, 4 * slow.delay_ms)
    start_ms = end_ms + skewed(dice, 100, 1_500)
    ended = [
        TimedAction(max(0, at_ms - 50), Fault(name=_NAME, rule=slow)),
        TimedAction(end_ms, end(slow.node)),
        TimedAction(end_ms + 1, Clear(_NAME, once_met=True)),
        TimedAction(start_ms, actions.Start(slow.node)),
    ]
    if dice.random() < _BEGINS_TWICE:
        ended += _begun_again(dice, slow.node, target, start_ms)
    return sorted(ended, key=lambda timed: timed.at_ms)


def _begun_again(dice: Dice, node: str, target: str, start_ms: int) -> list[TimedAction]:
    """Let nobody read the log dir that the replica moves to at the first start, but at the next."""
    unread = Fault(name=_UNREAD, rule=DiskFault(mode=DiskMode.EIO, node=node, log_dir=target))
    end = chosen(dice, {actions.Kill: 2, actions.Stop: 1})
    again_ms = start_ms + dice.randint(500, 1_500)
    return [
        TimedAction(start_ms - 1, unread),
        TimedAction(again_ms, end(node)),
        TimedAction(again_ms + 50, Clear(unread.name, once_met=True)),
        TimedAction(again_ms + 60, actions.Start(node)),
    ]
