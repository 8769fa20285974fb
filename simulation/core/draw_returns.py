"""Draws log dirs that fail, are replaced or cannot be read, and come back beside what was made.

Whoever makes logs meanwhile must not lose what the log dir still has, nor have a replica twice, and
what is made anew must not count before it has everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from protocol.faults.model import (
    CONTROLLER_NODE,
    DiskFault,
    DiskMode,
    FileClass,
    NetworkFault,
    NetworkMode,
    Operation,
    broker_node,
)
from simulation.core import actions
from simulation.core.actions import Action, Clear, CreateTopic, Fault
from simulation.core.dice import Dice, chosen
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.plan import ClusterPlan

Lanes = list[list[TimedAction]]
_BEGIN_MS: Final = (200, 700)
"""Early, while most is whole, but not before somebody has written."""
_LATE_MS: Final = (300, 900)
_LOGS: Final = (3, 6)
"""That are made at once: some share a turn of their disk."""


class _Returning(NamedTuple):
    """One partition of the first topic, and when and in whose names something happens to it."""

    partition: str
    brokers: tuple[int, ...]
    at_ms: int
    number: int
    rate: int
    """Bytes per second, faster than clients write."""

    def order(self, *brokers: int) -> Action:
        """Have the partition on these."""
        return actions.Reassign(of=self.partition, to=brokers)


def draw_returning_log_dirs(dice: Dice, scope: FaultScope, rate: int) -> Lanes:
    """Draw two of them, beside each other."""
    topic = scope.cluster.topics[0]
    lanes: Lanes = []
    for number, plot in enumerate(dice.sample(_PLOTS, 2)):
        index = dice.randint(0, topic.partitions - 1)
        at_ms = dice.randint(*_BEGIN_MS)
        name = f"{topic.name}-{index}"
        place = _Returning(name, topic.assignment[index], at_ms, number, rate)
        lanes += plot(dice, scope.cluster, place)
    return lanes


def _made_beside_an_unread_log(dice: Dice, cluster: ClusterPlan, place: _Returning) -> Lanes:
    """Give a broker a replica anew whose old log lies on a log dir that it could not read.

    The partition leaves the broker while that is down, or nobody could take the log for deleted.
    """
    broker = dice.choice(place.brokers)
    node, others = broker_node(broker), [one for one in place.brokers if one != broker]
    end = chosen(dice, {actions.Kill: 2, actions.Stop: 2, actions.PowerCut: 1})
    away_ms = place.at_ms + cluster.session_timeout_ms + dice.randint(50, 400)
    start_ms = away_ms + dice.randint(100, 300)
    back_ms = start_ms + dice.randint(-100, 700)
    read_ms = max(back_ms, start_ms) + dice.randint(300, 1_000)
    log_dir = cluster.log_dir_names[0]
    unread = Fault(
        name=f"unread-{place.number}",
        rule=DiskFault(mode=DiskMode.EIO, node=node, log_dir=log_dir),
    )
    return [
        [
            TimedAction(place.at_ms, end(node)),
            TimedAction(place.at_ms + 50, unread),
            TimedAction(start_ms, actions.Start(node)),
            TimedAction(read_ms, Clear(unread.name, once_met=True)),
            TimedAction(read_ms + 20, actions.RestartLogDir(broker=node, log_dir=log_dir)),
        ],
        [
            TimedAction(away_ms, place.order(*others)),
            TimedAction(back_ms, place.order(*others, broker)),
        ],
    ]


def _fails_while_logs_are_made(dice: Dice, cluster: ClusterPlan, place: _Returning) -> Lanes:
    """Let one of several logs that are made at once be the one that its log dir fails by.

    Or let the disk be full when a segment begins.
    """
    broker = dice.choice(place.brokers)
    others = [one for one in cluster.broker_ids if one != broker]
    node, log_dir = broker_node(broker), dice.choice(cluster.log_dir_names)
    mode, operation = chosen(
        dice, {(DiskMode.EIO, Operation.MAKE_DIR): 2, (DiskMode.ENOSPC, Operation.CREATE): 1}
    )
    fails = Fault(
        name=f"fails-making-{place.number}",
        rule=DiskFault(
            mode=mode,
            node=node,
            log_dir=log_dir,
            operations=(operation,),
            from_nth=dice.randint(1, 3),
        ),
    )
    on_both = (broker, dice.choice(others)) if dice.random() < 0.7 else (broker,)
    assignment = (on_both,) * dice.randint(*_LOGS)
    topic = CreateTopic(
        name=f"beside{place.number}",
        assignment=assignment,
        log_dir=log_dir if dice.random() < 0.3 else None,
    )
    made_ms = place.at_ms + dice.randint(1, 100)
    whole_ms = made_ms + dice.randint(200, 1_500)
    return [
        [
            TimedAction(place.at_ms, fails),
            TimedAction(whole_ms, Clear(fails.name, once_met=True)),
            TimedAction(whole_ms + 20, actions.RestartLogDir(broker=node, log_dir=log_dir)),
        ],
        [
            TimedAction(made_ms, topic),
            TimedAction(whole_ms + dice.randint(100, 1_500), actions.DeleteTopic(topic.name)),
        ],
    ]


def _replaced_by_the_last(dice: Dice, cluster: ClusterPlan, place: _Returning) -> Lanes:
    """Replace the disk of the last member of an Isr, at a rate; it leads what begins empty.

    Or of a follower that is to lead as soon as it has everything.
    """
    broker, *others = place.brokers
    node = broker_node(broker)
    if dice.random() < 0.5:
        replace = actions.ReplaceLogDir(
            broker=node, log_dir=f"of {place.partition}", throttle_bytes_per_second=place.rate
        )
        led_ms = place.at_ms + dice.randint(50, 1_500)
        return [
            [TimedAction(place.at_ms, replace)],
            [TimedAction(led_ms, actions.ElectLeaders(place.partition))],
        ]
    alone_ms = place.at_ms + cluster.session_timeout_ms + dice.randint(300, 700)
    replace = actions.ReplaceLogDir(
        broker=node,
        log_dir=f"of {place.partition}",
        accept_loss=True,
        throttle_bytes_per_second=place.rate,
    )
    made_ms = alone_ms + dice.randint(100, 700)
    return [
        [TimedAction(place.at_ms, actions.Stop(broker_node(one))) for one in others],
        [TimedAction(alone_ms, replace)],
        [TimedAction(made_ms, actions.Start(broker_node(one))) for one in others],
        [
            TimedAction(alone_ms - 100, place.order(broker)),
            TimedAction(made_ms + 500, place.order(*place.brokers)),
        ],
    ]


def _replaced_unheard(dice: Dice, cluster: ClusterPlan, place: _Returning) -> Lanes:
    """Replace the disk of a follower, and begin leader epochs before the controller hears of it.

    In what it orders the broker still stands in the Isr, beside others who have everything.
    """
    leader, follower, *_ = place.brokers
    node = broker_node(follower)
    latency_ms = min(dice.randint(*_LATE_MS), cluster.session_timeout_ms * 3 // 4)
    late = Fault(
        name=f"loss-unheard-{place.number}",
        rule=NetworkFault(
            mode=NetworkMode.LATENCY,
            source=node,
            target=CONTROLLER_NODE,
            both_ways=False,
            latency_ms=latency_ms,
        ),
    )
    replaced_ms = place.at_ms + dice.randint(20, 200)
    replace = actions.ReplaceLogDir(broker=node, log_dir=f"of {place.partition}")
    epoch_ms = replaced_ms + dice.randint(1, latency_ms // 2)
    others = [one for one in cluster.broker_ids if one not in place.brokers]
    more = (dice.choice(others),) if others and dice.random() < 0.7 else ()
    return [
        [
            TimedAction(place.at_ms, late),
            TimedAction(replaced_ms, replace),
            TimedAction(replaced_ms + latency_ms, Clear(late.name, once_met=True)),
        ],
        [
            TimedAction(epoch_ms, place.order(leader, follower, *more)),
            TimedAction(epoch_ms + 5, actions.ElectLeaders(place.partition)),
            TimedAction(epoch_ms + dice.randint(5, 300), place.order(*place.brokers)),
        ],
    ]


def _closed_cleanly_in_part(dice: Dice, cluster: ClusterPlan, place: _Returning) -> Lanes:
    """Let a broker begin after an end that was clean for some log dirs, and lose power right then.

    What says that a log dir was closed cleanly must not be there any more at the next start.
    """
    node = broker_node(dice.choice(place.brokers))
    badly = Fault(
        name=f"closed-badly-{place.number}",
        rule=DiskFault(
            mode=chosen(dice, {DiskMode.TORN_WRITE: 2, DiskMode.EIO: 1, DiskMode.ENOSPC: 1}),
            node=node,
            log_dir=dice.choice(cluster.log_dir_names),
            operations=(Operation.WRITE,),
            files=dice.choice(((FileClass.CHECKPOINT,), (FileClass.SNAPSHOT,), (FileClass.OTHER,))),
        ),
    )
    end_ms = place.at_ms + dice.randint(10, 100)
    start_ms = end_ms + dice.randint(150, 400)
    lost_ms = start_ms + dice.randint(20, 500)
    return [
        [
            TimedAction(place.at_ms, badly),
            TimedAction(end_ms, actions.Stop(node)),
            TimedAction(end_ms + 100, Clear(badly.name, once_met=True)),
            TimedAction(start_ms, actions.Start(node)),
            TimedAction(lost_ms, actions.PowerCut(node)),
            TimedAction(lost_ms + dice.randint(50, 300), actions.Start(node)),
        ]
    ]


_PLOTS: Final[tuple[Callable[[Dice, ClusterPlan, _Returning], Lanes], ...]] = (
    _made_beside_an_unread_log,
    _fails_while_logs_are_made,
    _replaced_by_the_last,
    _replaced_unheard,
    _closed_cleanly_in_part,
)
