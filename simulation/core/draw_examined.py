"""Draws somebody who asks what `jbodlab conform` asks, and clusters with an authorizer."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from protocol.configs.authorizer import STANDARD_AUTHORIZER
from simulation.core.dice import Dice
from simulation.core.plan import ClusterPlan, Workload

NAME: Final = "examiner"
AUTHORIZER: Final = "authorizer.class.name"
DELETES_TOPICS: Final = "delete.topic.enable"
_CASES: Final = (4, 14)
"""Each costs as much as a hundred records, and more where it makes a topic."""
_EVERY_MS: Final = (50, 200)
_KEEPS_TOPICS: Final = 0.25
"""Of examined clusters delete none."""


def with_examiner(
    dice: Dice, cluster: ClusterPlan, workloads: tuple[Workload, ...]
) -> tuple[ClusterPlan, tuple[Workload, ...]]:
    """Add an examiner, if there is none yet."""
    if any(one.kind == "examine" for one in workloads):
        return cluster, workloads
    examiner = Workload(
        name=NAME,
        kind="examine",
        interval_ms=dice.randint(*_EVERY_MS),
        records_max=dice.randint(*_CASES),
    )
    if dice.random() < _KEEPS_TOPICS:
        cluster = replace(cluster, configs={**cluster.configs, DELETES_TOPICS: "false"})
    return cluster, (*workloads, examiner)


def with_authorizer(
    dice: Dice, cluster: ClusterPlan, workloads: tuple[Workload, ...]
) -> tuple[ClusterPlan, tuple[Workload, ...]]:
    """Have an authorizer asked of everything, and somebody who gives and takes rights.

    Nobody logs in. What there are no rights on, everybody may do.
    """
    configs = {AUTHORIZER: STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    authorized = replace(cluster, configs={**cluster.configs, **configs})
    return with_examiner(dice, authorized, workloads)
