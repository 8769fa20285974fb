"""Draws plots about a leader that changes at a bad moment, while others lag or do not hear.

Leaders change by hand: the order of a partition's replicas is given anew, and the first one is
elected. That costs no restart, and the old leader lives on with what it alone has.
"""

from __future__ import annotations

from itertools import combinations
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
from simulation.core.actions import Action, Clear, Fault
from simulation.core.dice import Dice, skewed
from simulation.core.plan import ClusterPlan

_KNOWN_MS: Final = 1_100
"""By then a leader has surely heard of a decision, and a broker that is paused counts as alive."""
_RECORDS_MAX: Final = 20
"""So many a partition has soon."""


class _Place(NamedTuple):
    """A partition and brokers that it is to lie on."""

    partition: str
    brokers: tuple[int, ...]

    def order(self, *first: int) -> Action:
        """Have the replicas in this order; those that are not named come last."""
        rest = (each for each in self.brokers if each not in first)
        return actions.Reassign(of=self.partition, to=(*first, *rest))

    @property
    def elect(self) -> Action:
        """Have the first replica lead."""
        return actions.ElectLeaders(self.partition)


def _place(dice: Dice, cluster: ClusterPlan, count_max: int) -> _Place:
    topic = dice.choice(cluster.topics)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    count = min(count_max, cluster.brokers, max(2, topic.replication_factor))
    return _Place(partition, tuple(dice.sample(cluster.broker_ids, count)))


def diverging_logs(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Let a leader write what nobody fetches, elect another one, perhaps the first one again.

    At times the first one moves its replica slowly meanwhile, and is cut in the middle of that.
    """
    place = _place(dice, cluster, 3)
    first, second = place.brokers[:2]
    cuts = [
        Fault(
            name=f"apart-{number}-{one}-{other}",
            rule=NetworkFault(
                mode=NetworkMode.CUT, source=broker_node(one), target=broker_node(other)
            ),
        )
        for one, other in combinations(place.brokers, 2)
    ]
    slowly, quickly = _slow_move(dice, cluster, place, number)
    again = (place.order(first, second), place.elect) if dice.random() < 0.5 else ()
    return (
        place.order(first, second),
        place.elect,
        place.order(second, first),
        *slowly,
        *cuts,
        place.elect,
        *again,
        *(Clear(each.name, once_met=True) for each in cuts),
        *quickly,
    )


def _slow_move(
    dice: Dice, cluster: ClusterPlan, place: _Place, number: int
) -> tuple[tuple[Action, ...], tuple[Action, ...]]:
    """Return what begins a slow move of the first replica, at times, and what lets it go on."""
    if cluster.log_dirs < 2 or dice.random() < 0.5:
        return (), ()
    node, to = broker_node(place.brokers[0]), dice.choice(cluster.log_dir_names)
    slow = DiskFault(
        mode=DiskMode.SLOW,
        node=node,
        log_dir=to,
        operations=(Operation.APPEND,),
        files=(FileClass.LOG,),
        delay_ms=skewed(dice, 50, 800),
    )
    name = f"moves-apart-{number}"
    move = actions.MoveReplica(of=place.partition, broker=node, to=to)
    return (Fault(name=name, rule=slow), move), (Clear(name, once_met=True),)


def deletion_beside_an_unheard_follower(
    dice: Dice, cluster: ClusterPlan, _number: int
) -> tuple[Action, ...]:
    """Delete records while a follower stands still that its leader has not heard in this epoch."""
    place = _place(dice, cluster, 2)
    first, second = place.brokers
    node = broker_node(second)
    return (
        place.order(first),
        place.elect,
        actions.Pause(node),
        place.order(second),
        actions.Wait(_KNOWN_MS),
        actions.DeleteRecords(of=place.partition, before=dice.randint(1, _RECORDS_MAX)),
        actions.Resume(node),
    )


def failure_before_joining(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Let a log dir fail whose replica its leader has asked the controller to take into the Isr.

    What the leader asks reaches the controller late, after the news of the failure.
    """
    place = _place(dice, cluster, 2)
    first, second = place.brokers
    node = broker_node(second)
    late = Fault(
        name=f"asks-late-{number}",
        rule=NetworkFault(
            mode=NetworkMode.LATENCY,
            source=broker_node(first),
            target=CONTROLLER_NODE,
            both_ways=False,
            latency_ms=dice.randint(300, 1_500),
        ),
    )
    log_dir = f"of {place.partition}"
    fails = Fault(
        name=f"fails-again-{number}", rule=DiskFault(mode=DiskMode.EIO, node=node, log_dir=log_dir)
    )
    return (
        place.order(first),
        actions.Stop(node),
        late,
        actions.Start(node),
        fails,
        Clear(late.name, once_met=True),
        Clear(fails.name, once_met=True),
    )
