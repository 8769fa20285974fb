"""Takes the throttles of reassignments off when the last one ends, as KIP-179 wanted.

Kafka's tool sets throttles first and asks for the reassignments then; taking them off is left to
whoever runs it again. Here a throttle is a reassignment's when a request to reassign comes and the
topic's lists name its partitions: an added replica as a follower, for at least one partition of the
request. ``*`` and lists of other partitions are somebody's permanent throttles and stay. With the
topics go the rates of the brokers concerned, but not those for all brokers. The journal knows what
is claimed, so that a throttle outlives no controller. It takes off no throttle of moves between log
dirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.core.alter_configs import change_broker_configs, change_topic_configs
from controller.core.reassignment_records import ThrottlesClaimed, ThrottlesReleased
from controller.core.reassignment_rules import Assignment
from controller.core.step import Step
from protocol.ids import TopicPartition

LEADERS: Final = "leader.replication.throttled.replicas"
FOLLOWERS: Final = "follower.replication.throttled.replicas"
RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


def claim(step: Step, wanted: Mapping[TopicPartition, Assignment]) -> None:
    """Find out which throttles are for these reassignments, before they begin."""
    if not any(
        f"{tp.partition}:{broker_id}" in _listed(step, tp.topic, FOLLOWERS)
        for tp, assignment in wanted.items()
        for broker_id in assignment.adding
    ):
        return
    named = [
        (tp, assignment)
        for tp, assignment in wanted.items()
        if any(
            f"{tp.partition}:{broker_id}" in _listed(step, tp.topic, config)
            for broker_id in assignment.replicas
            for config in (LEADERS, FOLLOWERS)
        )
    ]
    topics = dict.fromkeys(tp.topic for tp, _ in named)
    brokers = dict.fromkeys(b for _, assignment in named for b in assignment.replicas)
    new_topics = tuple(t for t in topics if t not in step.state.throttled_topics)
    new_brokers = tuple(
        b for b in brokers if b not in step.state.throttled_brokers and _has_rate(step, b)
    )
    if new_topics or new_brokers:
        step.change(ThrottlesClaimed(new_topics, new_brokers))


def release_when_over(step: Step) -> None:
    """Take off what was claimed, once nothing is reassigned any more."""
    state = step.state
    if state.reassigning or not (state.throttled_topics or state.throttled_brokers):
        return
    topics = [name for name in state.throttled_topics if name in state.topics]
    brokers = list(state.throttled_brokers)
    step.change(ThrottlesReleased())
    if not step.defaults.jbodlab_reassignment_throttles_remove:
        return
    for broker_id in brokers:
        change_broker_configs(step, str(broker_id), dict.fromkeys(RATES))
    for name in topics:
        lists = (c for c in (LEADERS, FOLLOWERS) if "*" not in _listed(step, name, c))
        change_topic_configs(step, name, dict.fromkeys(lists))


def _listed(step: Step, topic: str, config: str) -> list[str]:
    text = step.state.topics[topic].configs.get(config, "")
    return [entry.strip() for entry in text.split(",")]


def _has_rate(step: Step, broker_id: int) -> bool:
    own = step.state.dynamic_configs.get(str(broker_id), {})
    return any(rate in own for rate in RATES)
