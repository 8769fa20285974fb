"""From a seed to a plan: a cluster, its clients, what is asked of it and what breaks.

The plan is the whole story: written down and read again it runs the same, without the seed's draws.
What may be lost under which faults is said in ``draw_faults``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from simulation.core.actions import StartWorkload, Step, Wait, When
from simulation.core.conditions import NodeIs
from simulation.core.dice import Dice, Streams, some
from simulation.core.draw_cluster import draw_cluster, draw_workloads
from simulation.core.draw_faults import (
    DISK_KINDS,
    NETWORK_KINDS,
    NODE_KINDS,
    FaultScope,
    FaultSpan,
    TimedAction,
    draw_faults,
    timed_steps,
)
from simulation.core.draw_journal import BREAKING, draw_journal
from simulation.core.draw_orders import ORDER_KINDS, draw_orders
from simulation.core.plan import Ending, Plan, Workload

LENGTHS_S: Final = (5, 10, 15, 20)
"""How long a story lasts before it is healed, where nobody says otherwise."""

MET_WITHIN_MS: Final = 60_000
"""How long faults that met nothing in the story stay on, with what provokes them."""


def draw_plan(seed: int, streams: Streams, length_s: int | None = None) -> Plan:
    """Draw a plan.

    Args:
        seed: names the plan.
        streams: of this seed; ``topology``, ``workload``, ``orders``, ``faults``, ``journal`` and
            ``length`` are drawn from.
        length_s: of the story before the healing.
    """
    cluster = draw_cluster(streams("topology"))
    length = length_s or streams("length").choice(LENGTHS_S)
    scope = FaultScope(cluster, length * 1000)
    journal = draw_journal(streams("journal"), scope)
    spans = [] if journal else _faults(streams("faults"), scope)
    orders = _orders(streams("orders"), scope, BREAKING if journal else ())
    clients = streams("workload")
    workloads = draw_workloads(clients, cluster)
    return Plan(
        name=f"seed-{seed}",
        shows=f"What seed {seed} draws.",
        worlds=("simulated",),
        cluster=cluster,
        workloads=workloads,
        steps=(
            *_beside(orders),
            *_beside(journal),
            *_in_time([*timed_steps(spans), *_late(clients, scope, workloads)]),
            _until(scope.length_ms),
        ),
        ending=Ending(replace_log_dirs=True, met_within_ms=MET_WITHIN_MS, empty_faults="count"),
    )


def _faults(dice: Dice, scope: FaultScope) -> list[FaultSpan]:
    families = some(dice, (DISK_KINDS, NETWORK_KINDS, NODE_KINDS), 0.7)
    kinds = [kind for family in families for kind in some(dice, family, 0.35)]
    per_10_s = dice.randint(1, 6)
    return draw_faults(dice, scope, kinds, 1 + per_10_s * scope.length_ms // 10_000)


def _orders(dice: Dice, scope: FaultScope, without: Collection[str]) -> list[TimedAction]:
    possible = [kind for kind in ORDER_KINDS if kind not in without]
    kinds = some(dice, possible, 0.35)
    per_10_s = dice.randint(0, 20)
    return draw_orders(dice, scope, kinds, per_10_s * scope.length_ms // 10_000)


def _in_time(timed: list[TimedAction]) -> list[Step]:
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


def _beside(orders: list[TimedAction]) -> list[Step]:
    """Let orders go on beside all else: waiting for an answer delays no fault's end."""
    if not orders:
        return []
    steps = tuple(Step(action=one.action, at_ms=one.at_ms, may_fail=True) for one in orders)
    at_once = NodeIs(node="controller", state="running")
    return [Step(action=When(condition=at_once, steps=steps))]


def _until(length_ms: int) -> Step:
    return Step(action=Wait(0), at_ms=length_ms)
