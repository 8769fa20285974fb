"""Takes the throttles of reassignments off when the last one ends, as KIP-179 wanted.

Kafka's tool sets throttles first and asks for the reassignments then; taking them off is left to
whoever runs it again. Here a throttle is a reassignment's when a request to reassign comes and the
lists of a topic name its partitions as the tool does: an added replica as a follower, or, where
none is added, all replicas as leaders beside a list of followers that names none. Then all that the
lists name of this request and of what is under way already is claimed: with ``--additional`` the
tool throttles that, too. ``*`` and lists of other partitions are somebody's permanent throttles and
stay. With the topics go the rates of the brokers concerned, but not those for all brokers. The
journal knows what is claimed, so that a throttle outlives no controller. It takes off no throttle
of moves between log dirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.alter_configs import change_broker_configs, change_topic_configs
from controller.core.reassignment_records import ThrottlesClaimed, ThrottlesReleased
from controller.core.reassignment_rules import Assignment, assignment_of
from controller.core.step import Step
from protocol.configs.names import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    THROTTLED_RATES,
    THROTTLED_REPLICAS,
)
from protocol.ids import TopicPartition


def claim(step: Step, wanted: Mapping[TopicPartition, Assignment]) -> None:
    """Find out which throttles are for these reassignments, before they begin."""
    if not any(_is_throttled(step, tp, assignment) for tp, assignment in wanted.items()):
        return
    under_way = {tp: assignment_of(step.state.partition(tp)) for tp in step.state.reassigning}
    named = [
        (tp, assignment)
        for tp, assignment in {**under_way, **wanted}.items()
        if any(
            f"{tp.partition}:{broker_id}" in listed(step, tp.topic, config)
            for broker_id in assignment.replicas
            for config in THROTTLED_REPLICAS
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
        change_broker_configs(step, str(broker_id), dict.fromkeys(THROTTLED_RATES))
    for name in topics:
        lists = (c for c in THROTTLED_REPLICAS if "*" not in listed(step, name, c))
        change_topic_configs(step, name, dict.fromkeys(lists))


def listed(step: Step, topic: str, config: str) -> list[str]:
    """Return the entries of a topic's list of throttled replicas."""
    text = step.state.topics[topic].configs.get(config, "")
    return [entry.strip() for entry in text.split(",")]


def _is_throttled(step: Step, tp: TopicPartition, assignment: Assignment) -> bool:
    """Tell whether the lists are those of somebody who throttles this reassignment."""
    followers = listed(step, tp.topic, FOLLOWER_REPLICAS)
    if assignment.adding:
        return any(f"{tp.partition}:{broker_id}" in followers for broker_id in assignment.adding)
    if FOLLOWER_REPLICAS not in step.state.topics[tp.topic].configs or any(
        entry == "*" or entry.startswith(f"{tp.partition}:") for entry in followers
    ):
        return False
    leaders = listed(step, tp.topic, LEADER_REPLICAS)
    return all(f"{tp.partition}:{broker_id}" in leaders for broker_id in assignment.replicas)


def _has_rate(step: Step, broker_id: int) -> bool:
    own = step.state.dynamic_configs.get(str(broker_id), {})
    return any(rate in own for rate in THROTTLED_RATES)
