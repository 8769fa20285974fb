"""Draws which clusters are held against Apache Kafka's answers when all is well again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from simulation.core.dice import Dice
from simulation.core.draw_examined import AUTHORIZER, DELETES_TOPICS
from simulation.core.plan import Plan

SHARE: Final = 0.5
CASES: Final = 12
"""They take a tenth of a seed's time, and a minute of seeds has asked most of what there is."""
CONFIGS: Final[Mapping[str, str]] = {
    "auto.create.topics.enable": "false",
    "socket.request.max.bytes": "20000000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "max.incremental.fetch.session.cache.slots": "1000",
    "group.max.size": "2147483647",
    "group.consumer.max.size": "2147483647",
    "transactional.id.expiration.ms": "604800000",
    "offsets.retention.check.interval.ms": "600000",
    DELETES_TOPICS: "true",
}
"""Those under which Apache Kafka was recorded, or its defaults: answers hang on most of them."""


def judged(dice: Dice, plan: Plan) -> Plan:
    """Return the plan, with cases at its end or not; Apache Kafka had no authorizer there."""
    if dice.random() >= SHARE or AUTHORIZER in plan.cluster.configs:
        return plan
    return replace(
        plan,
        cluster=replace(plan.cluster, configs={**plan.cluster.configs, **CONFIGS}),
        ending=replace(plan.ending, judged_cases=CASES),
    )
