"""Draws plots about a leader that changes at a bad moment, while others lag or do not hear.

Leaders change by hand: the order of a partition's replicas is given anew, and the first one is
elected. That costs no restart, and the old leader lives on with what it alone has.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final, NamedTuple

from protocol.configs.names import UNCLEAN_ELECTION
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
from simulation.core.dice import Dice, chosen
from simulation.core.plan import ClusterPlan

_KNOWN_MS: Final = 1_100
"""By then a leader has surely heard of a decision, and a broker that is paused counts as alive."""
_RECORDS_MAX: Final = 20
"""So many a partition has soon."""
_WRITTEN_MS_MAX: Final = 600
"""By then somebody has written to most partitions."""
_HEARD_AGAIN_MS: Final = 1_200
"""By then most followers fetch again from which their leader was cut off: TCP has sent again."""
_SLOW_MS: Final = 1_500
"""Of each append of a move: a log dir takes 2 s at least for one that it fails by."""


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


def _place(dice: Dice, cluster: ClusterPlan, count_max: int, *, is_busy: bool = False) -> _Place:
    """Draw a partition and brokers; a busy one has few beside it that writers take turns with."""
    topic = dice.choice(cluster.topics)
    if is_busy:
        topic = min(cluster.topics, key=lambda each: each.partitions)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    count = min(count_max, cluster.brokers, max(2, topic.replication_factor))
    return _Place(partition, tuple(dice.sample(cluster.broker_ids, count)))


def diverging_logs(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Let a leader write what nobody fetches, elect another one, perhaps the first one again.

    And the other one after that: then each has leader epochs that the other one never heard of. At
    times the first one moves its replica meanwhile, and is cut in the middle of that.
    """
    place = _place(dice, cluster, 3, is_busy=dice.random() < 0.7)
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
    written = actions.Wait(dice.randint(200, _WRITTEN_MS_MAX))
    here, slowly, quickly = _slow_move(dice, cluster, place, number)
    again = (written, place.order(first, second), place.elect)
    back = (written, place.order(second, first), place.elect)
    rounds = chosen(dice, {(): 5, again: 1, (*again, *back): 3})
    return (
        place.order(first, second),
        place.elect,
        *here,
        place.order(second, first),
        *slowly,
        *cuts,
        written,
        place.elect,
        *rounds,
        *(Clear(each.name, once_met=True) for each in cuts),
        *quickly,
    )


def _slow_move(
    dice: Dice, cluster: ClusterPlan, place: _Place, number: int
) -> tuple[tuple[Action, ...], tuple[Action, ...], tuple[Action, ...]]:
    """Return what moves the first replica at times: where it is to begin, slowly on, and quickly.

    A rate would hold a move up better, but stays where the order to take it off is not heard.
    """
    if cluster.log_dirs < 2 or dice.random() < 0.2:
        return (), (), ()
    node = broker_node(place.brokers[0])
    here, there = (
        actions.MoveReplica(of=place.partition, broker=node, to=log_dir)
        for log_dir in dice.sample(cluster.log_dir_names, 2)
    )
    slow = DiskFault(
        mode=DiskMode.SLOW,
        node=node,
        log_dir=there.to,
        operations=(Operation.APPEND,),
        files=(FileClass.LOG,),
        delay_ms=_SLOW_MS,
    )
    name = f"moves-apart-{number}"
    quick = (actions.Wait(_HEARD_AGAIN_MS), Clear(name, once_met=True))
    return (here,), (Fault(name=name, rule=slow), there), quick


def _heard_late(name: str, node: str, latency_ms: int) -> Fault:
    """Return a fault by which the controller hears a broker late; the other way is quick."""
    rule = NetworkFault(
        mode=NetworkMode.LATENCY,
        source=node,
        target=CONTROLLER_NODE,
        both_ways=False,
        latency_ms=latency_ms,
    )
    return Fault(name=name, rule=rule)


def replacement_before_it_is_told(
    dice: Dice, cluster: ClusterPlan, number: int
) -> tuple[Action, ...]:
    """Replace the disk of a member of the Isr whose broker the controller hears late.

    A new leader epoch begins before that: in its order the broker still stands in the Isr. The only
    disk of a broker is left as it is.
    """
    topic = dice.choice(cluster.topics)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    place = _Place(partition, tuple(dice.sample(cluster.broker_ids, 2)))
    first, second = place.brokers
    third = dice.choice([each for each in cluster.broker_ids if each not in place.brokers])
    node, log_dir = broker_node(second), dice.choice(cluster.log_dir_names)
    late = _heard_late(f"tells-late-{number}", node, dice.randint(200, 900))
    replace = actions.ReplaceLogDir(broker=node, log_dir=log_dir)
    replaced = (replace,) if cluster.log_dirs > 1 else ()
    return (
        place.order(first, second),
        place.elect,
        actions.MoveReplica(of=partition, broker=node, to=log_dir),
        actions.Wait(dice.randint(50, _WRITTEN_MS_MAX)),
        late,
        *replaced,
        actions.Reassign(of=partition, to=(first, second, third)),
        Clear(late.name, once_met=True),
        place.order(first, second),
    )


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

    Or let its broker end and begin another life (KIP-903). What the leader asks reaches the
    controller late, after the news of that.
    """
    first, second = dice.sample(cluster.broker_ids, 2)
    topic = actions.CreateTopic(name=f"extra{number}", assignment=((first, second),))
    node = broker_node(second)
    latency_ms = dice.randint(300, max(300, cluster.session_timeout_ms // 2))
    late = _heard_late(f"asks-late-{number}", broker_node(first), latency_ms)
    log_dir = f"of {topic.name}-0"
    fails = Fault(
        name=f"fails-again-{number}", rule=DiskFault(mode=DiskMode.EIO, node=node, log_dir=log_dir)
    )
    quick = Clear(late.name, once_met=True)
    ends: tuple[Action, ...] = (fails, quick, Clear(fails.name, once_met=True))
    if dice.random() < 0.5:
        end = dice.choice((actions.Kill, actions.PowerCut, actions.Stop))
        ends = (end(node), actions.Start(node), quick)
    return topic, actions.Stop(node), late, actions.Start(node), *ends


def loss_that_is_allowed_later(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Leave a partition without a leader beside a replica that lags, and allow the loss then."""
    first, second = dice.sample(cluster.broker_ids, 2)
    topic = actions.CreateTopic(
        name=f"extra{number}",
        assignment=((first, second),),
        configs=dice.choice(({}, {UNCLEAN_ELECTION: "false"})),
    )
    end = dice.choice((actions.Kill, actions.PowerCut))
    return (
        topic,
        actions.Stop(broker_node(second)),
        end(broker_node(first)),
        actions.Start(broker_node(second)),
        actions.Wait(cluster.session_timeout_ms),
        actions.AlterConfigs(topic=topic.name, set={UNCLEAN_ELECTION: "true"}),
        actions.Start(broker_node(first)),
    )
