"""Draws changes of an Isr, and of roles, whose words arrive when the world has gone on.

A leader epoch, a life of a broker, a life of its log dir or the controller is another one by then:
what was asked or answered before that must not count any more, and what still waits is asked anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from protocol.faults.model import (
    CONTROLLER_NODE,
    DiskFault,
    DiskMode,
    NetworkFault,
    NetworkMode,
    broker_node,
)
from simulation.core import actions
from simulation.core.actions import Action, Clear, Fault
from simulation.core.dice import Dice, chosen
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.plan import ClusterPlan

Lanes = list[list[TimedAction]]
_LATE_MS: Final = (300, 2_500)
_LOADED_MS: Final = 150
"""By then a broker that began fetches again, where nothing is broken."""


class _IsrChange(NamedTuple):
    """One partition of the first topic, and when and in whose names something happens to it."""

    partition: str
    brokers: tuple[int, ...]
    at_ms: int
    number: int

    @property
    def leader(self) -> str:
        """Who leads it, most likely."""
        return broker_node(self.brokers[0])

    @property
    def follower(self) -> str:
        """Who follows."""
        return broker_node(self.brokers[1])


def draw_isr_changes(dice: Dice, scope: FaultScope, _rate: int) -> Lanes:
    """Draw two of them, one after the other."""
    topic = scope.cluster.topics[0]
    begins_ms = (300, scope.length_ms // 2)
    lanes: Lanes = []
    for number, (begin_ms, plot) in enumerate(zip(begins_ms, dice.sample(_PLOTS, 2), strict=True)):
        index = dice.randint(0, topic.partitions - 1)
        at_ms = begin_ms + dice.randint(0, scope.length_ms // 5)
        place = _IsrChange(f"{topic.name}-{index}", topic.assignment[index], at_ms, number)
        lanes += plot(dice, scope.cluster, place)
    return lanes


def _answered_late(dice: Dice, cluster: ClusterPlan, place: _IsrChange) -> Lanes:
    """Let a follower come back whose leader hears late that the Isr has it, in a later epoch.

    What the controller tells after that is quick again: replicas that are added, or taken away,
    make a new leader epoch.
    """
    late = _late(dice, cluster, place, CONTROLLER_NODE, place.leader)
    back_ms = place.at_ms + dice.randint(200, 500)
    quick_ms = back_ms + _LOADED_MS + dice.randint(0, 1_200)
    others = [one for one in cluster.broker_ids if one not in place.brokers]
    to = (*place.brokers, dice.choice(others)) if others else place.brokers[:-1]
    anew = actions.Reassign(of=place.partition, to=to)
    return [
        [
            TimedAction(place.at_ms, actions.Stop(place.follower)),
            TimedAction(back_ms, late),
            TimedAction(back_ms, actions.Start(place.follower)),
            TimedAction(quick_ms, Clear(late.name, once_met=True)),
        ],
        [
            TimedAction(quick_ms + dice.randint(1, 50), anew),
            TimedAction(quick_ms + 300, actions.Reassign(of=place.partition, to=place.brokers)),
        ],
    ]


def _asked_of_nobody(dice: Dice, cluster: ClusterPlan, place: _IsrChange) -> Lanes:
    """Let an Isr change while there is no controller, or while the leader is none of its brokers.

    It is refused as a whole then: the leader is to register anew first.
    """
    end = dice.choice((actions.Kill, actions.Stop))
    ended = [
        TimedAction(place.at_ms, end(place.follower)),
        TimedAction(place.at_ms + dice.randint(500, 2_500), actions.Start(place.follower)),
    ]
    if dice.random() < 0.5:
        away_ms = cluster.session_timeout_ms + dice.randint(200, 1_000)
        begin_ms = place.at_ms + dice.randint(0, 300)
        return [
            ended,
            [
                TimedAction(begin_ms, actions.Pause(place.leader)),
                TimedAction(begin_ms + away_ms, actions.Resume(place.leader)),
            ],
        ]
    return [ended, _without_controller(dice, place.at_ms + dice.randint(0, 300), 500)]


def _unheard_failure(dice: Dice, _cluster: ClusterPlan, place: _IsrChange) -> Lanes:
    """Let a leader's log dir fail and come back before a controller can decide anything by that.

    The next one, or the same one, may give it the role that it had, in the epoch that it had.
    """
    fails = Fault(
        name=f"fails-unheard-{place.number}",
        rule=DiskFault(
            mode=DiskMode.EIO,
            node=f"leader of {place.partition}",
            log_dir=f"of {place.partition}",
        ),
    )
    broken_ms = place.at_ms + dice.randint(1, 100)
    whole_ms = broken_ms + dice.randint(200, 1_000)
    log_dir = actions.RestartLogDir(broker=place.leader, log_dir=f"of {place.partition}")
    return [
        [
            TimedAction(broken_ms, fails),
            TimedAction(whole_ms, Clear(fails.name, once_met=True)),
            TimedAction(whole_ms + 1, log_dir),
        ],
        _without_controller(dice, place.at_ms, whole_ms - place.at_ms),
    ]


def _fetch_of_an_earlier_life(dice: Dice, cluster: ClusterPlan, place: _IsrChange) -> Lanes:
    """Let a follower's fetch arrive at its leader after that of its next life (KIP-903)."""
    late = _late(dice, cluster, place, place.follower, place.leader)
    end = chosen(dice, {actions.Kill: 3, actions.Stop: 1})
    end_ms = place.at_ms + dice.randint(100, 600)
    return [
        [
            TimedAction(place.at_ms, late),
            TimedAction(end_ms, end(place.follower)),
            TimedAction(end_ms + 1, Clear(late.name, once_met=True)),
            TimedAction(end_ms + dice.randint(1, 100), actions.Start(place.follower)),
        ]
    ]


_PLOTS: Final[tuple[Callable[[Dice, ClusterPlan, _IsrChange], Lanes], ...]] = (
    _answered_late,
    _asked_of_nobody,
    _unheard_failure,
    _fetch_of_an_earlier_life,
)


def _without_controller(dice: Dice, at_ms: int, away_ms: int) -> list[TimedAction]:
    """Let the controller be away from ``at_ms`` on, for so long at least, or stand still."""
    pair: tuple[Action, Action] = dice.choice(
        (
            (actions.Kill(CONTROLLER_NODE), actions.Start(CONTROLLER_NODE)),
            (actions.Stop(CONTROLLER_NODE), actions.Start(CONTROLLER_NODE)),
            (actions.Pause(CONTROLLER_NODE), actions.Resume(CONTROLLER_NODE)),
        )
    )
    end, back = pair
    return [
        TimedAction(at_ms, end),
        TimedAction(at_ms + away_ms + dice.randint(50, 1_000), back),
    ]


def _late(dice: Dice, cluster: ClusterPlan, place: _IsrChange, source: str, target: str) -> Fault:
    """Return what makes one way late: nobody is taken for dead by that."""
    least_ms, most_ms = _LATE_MS
    if CONTROLLER_NODE in (source, target):
        most_ms = max(least_ms, min(most_ms, cluster.session_timeout_ms * 3 // 4))
    rule = NetworkFault(
        mode=NetworkMode.LATENCY,
        source=source,
        target=target,
        both_ways=False,
        latency_ms=dice.randint(least_ms, most_ms),
    )
    return Fault(name=f"words-late-{place.number}", rule=rule)
