"""From a seed to a plan: a cluster, its clients, what is asked of it and what breaks.

The plan is the whole story: written down and read again it runs the same, without the seed's draws.
What may be lost under which faults is said in ``draw_faults``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

from simulation.core.actions import StartWorkload, Step, Wait, When
from simulation.core.conditions import NodeIs
from simulation.core.dice import Dice, Streams
from simulation.core.draw_cluster import draw_cluster, draw_workloads
from simulation.core.draw_contenders import contenders_lanes
from simulation.core.draw_coordination import groups_lanes, plain_topics, transactions_lanes
from simulation.core.draw_faults import (
    FaultScope,
    FaultSpan,
    TimedAction,
    draw_faults,
    timed_steps,
)
from simulation.core.draw_journal import (
    BREAKING,
    STAYING,
    draw_absences,
    draw_journal,
    draw_losses,
)
from simulation.core.draw_judged import judged
from simulation.core.draw_orders import APART, ORDER_KINDS, draw_orders, draw_quiet_deletion
from simulation.core.draw_settings import Setting, settled
from simulation.core.draw_situations import Lane, draw_situations
from simulation.core.features import Features, Situation, draw_features
from simulation.core.plan import Ending, Plan, Workload

COORDINATION: Final = {
    Situation.GROUPS: groups_lanes,
    Situation.TRANSACTIONS: transactions_lanes,
    Situation.CONTENDERS: contenders_lanes,
}
LENGTHS_S: Final = (5, 10, 15, 20)
"""How long a story lasts before it is healed, where nobody says otherwise."""

SLOWER_AFTER_LENGTHS: Final = 2
"""After so many times the length of the story producers write less.

A story lasts longer than it was to be when orders wait for a controller that is not there, or
healing takes its time: at full rate a few such seeds would cost as much as all others together.
"""
_APART_FROM: Final = 1_000
"""Above the numbers of all other orders: names end in them."""
MET_WITHIN_MS: Final = 20_000
"""How long faults that met nothing in the story stay on, with what provokes them."""

HALF_OPEN_HEALS_WITHIN_MS: Final = 150_000
"""How soon all must be well after half-open connections.

The controller takes 30 s to find one (``controller.socket.timeout.ms``), a leader 5 s more whose
AlterPartition is lost, and the controller tells the new Isr over another one: 30 s again. A library
that reads, writes and ends transactions finds three by the timeouts of its requests, one after the
other, in 100 s (seed 1060777).
"""


def draw_plan(seed: int, streams: Streams, length_s: int | None = None) -> Plan:
    """Draw a plan.

    Args:
        seed: names the plan.
        streams: of this seed; drawn from are ``features``, ``topology``, ``workload``, ``orders``,
            ``faults``, ``journal``, ``journal_losses``, ``journal_absences``, ``length``,
            ``judged`` and those that bear a feature's name.
        length_s: of the story before the healing.
    """
    features = draw_features(streams("features"))
    cluster = draw_cluster(streams("topology"))
    clients = streams("workload")
    drawn = Setting(cluster, draw_workloads(clients, cluster))
    cluster, workloads = settled(drawn, features, streams)
    length = length_s or streams("length").choice(LENGTHS_S)
    scope = FaultScope(cluster, length * 1000)
    ordered = replace(scope, cluster=plain_topics(cluster))
    lanes: list[Lane]
    if Situation.JOURNAL_EDITS in features:
        spans: list[FaultSpan] = []
        edited = draw_journal(streams("journal"), scope)
        absences = draw_absences(streams("journal_absences"), scope, edited)
        if absences.are_at_edit:
            features = features.without(kind for kind in ORDER_KINDS if kind not in STAYING)
            lanes = [edited, *absences.lanes]
        else:
            losses = draw_losses(streams("journal_losses"), ordered, edited)
            lanes = [edited, losses, *absences.lanes]
        lanes = [*_ordered(streams, ordered, features), *lanes]
    else:
        lanes = _ordered(streams, ordered, features)
        spans = _faults(streams("faults"), scope, features)
        lanes += draw_situations(features, ordered, workloads, streams)
        if "delete_records" in features:
            lanes.append(draw_quiet_deletion(streams("quiet_deletion"), ordered, workloads))
        for situation, draw in COORDINATION.items():
            if situation in features:
                lanes += draw(streams(f"{situation}_lanes"), scope, workloads)
    plan = Plan(
        name=f"seed-{seed}",
        shows=f"What seed {seed} draws.",
        worlds=("simulated",),
        cluster=cluster,
        workloads=tuple(
            replace(each, slower_after_ms=SLOWER_AFTER_LENGTHS * scope.length_ms)
            for each in workloads
        ),
        steps=(
            *(step for lane in lanes for step in _beside(lane)),
            *_in_time([*timed_steps(spans), *_late(clients, scope, workloads)]),
            _until(scope.length_ms),
        ),
        ending=_ending(features),
    )
    return judged(streams("judged"), plan)


def _ordered(streams: Streams, scope: FaultScope, features: Features) -> list[Lane]:
    return [
        *_orders(streams("orders"), scope, features),
        _apart(streams("orders_apart"), scope, features),
    ]


def _ending(features: Features) -> Ending:
    ending = Ending(replace_log_dirs=True, met_within_ms=MET_WITHIN_MS, empty_faults="count")
    if "half_open" not in features.fault_kinds:
        return ending
    return replace(ending, heals_within_ms=HALF_OPEN_HEALS_WITHIN_MS)


def _faults(dice: Dice, scope: FaultScope, features: Features) -> list[FaultSpan]:
    kinds = features.fault_kinds
    per_10_s = dice.randint(1, 6)
    return draw_faults(dice, scope, kinds, 1 + per_10_s * scope.length_ms // 10_000 if kinds else 0)


def _orders(dice: Dice, scope: FaultScope, features: Features) -> list[Lane]:
    """Draw what each administrator asks for; none waits for another one's answers."""
    kinds = [kind for kind in _order_kinds(features) if kind not in APART]
    count = dice.randint(0, 20) * scope.length_ms // 10_000 if kinds else 0
    lane_count = dice.randint(2, 3) if Situation.ORDERS_AT_ONCE in features else 1
    ends = [count * lane // lane_count for lane in range(lane_count + 1)]
    numbers = [range(begin + 1, end + 1) for begin, end in pairwise(ends)]
    return [draw_orders(dice, scope, kinds, each) for each in numbers]


def _apart(dice: Dice, scope: FaultScope, features: Features) -> Lane:
    """Draw what somebody asks for who begins early and does little, but all of it."""
    kinds = [kind for kind in _order_kinds(features) if kind in APART]
    count = dice.randint(1, 2) if kinds else 0
    early = replace(scope, length_ms=scope.length_ms // 2)
    return draw_orders(dice, early, kinds, range(_APART_FROM, _APART_FROM + count))


def _order_kinds(features: Features) -> list[str]:
    without = BREAKING if Situation.JOURNAL_EDITS in features else ()
    return [kind for kind in features.of(ORDER_KINDS) if kind not in without]


def _in_time(timed: Lane) -> list[Step]:
    """Put everything in order; what has the same time stays in the order it is in."""
    ordered = sorted(timed, key=lambda each: each.at_ms)
    return [Step(action=each.action, at_ms=each.at_ms, may_fail=True) for each in ordered]


def _late(dice: Dice, scope: FaultScope, workloads: tuple[Workload, ...]) -> list[TimedAction]:
    """Let those begin that do not begin by themselves."""
    return [
        TimedAction(
            dice.randint(scope.length_ms // 4, scope.length_ms), StartWorkload(workload.name)
        )
        for workload in workloads
        if not workload.begins
    ]


def _beside(lane: Lane) -> list[Step]:
    """Let a lane go on beside all else: waiting for an answer delays nothing in another one."""
    if not lane:
        return []
    steps = tuple(_in_time(lane))
    at_once = NodeIs(node="controller", state="running")
    return [Step(action=When(condition=at_once, steps=steps))]


def _until(length_ms: int) -> Step:
    return Step(action=Wait(0), at_ms=length_ms)
