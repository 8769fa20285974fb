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


class ThrottledLists:
    """The lists of topics' throttled replicas, as they are now; each is read once."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._read: dict[tuple[str, str], frozenset[str]] = {}
        self._partitions: dict[tuple[str, str], frozenset[str]] = {}

    def entries(self, topic: str, config: str) -> frozenset[str]:
        """Return the entries of a list."""
        key = topic, config
        if key not in self._read:
            text = self._step.state.topics[topic].configs.get(config, "")
            self._read[key] = frozenset(entry.strip() for entry in text.split(","))
        return self._read[key]

    def partitions(self, topic: str, config: str) -> frozenset[str]:
        """Return the numbers of the partitions of which a list has any replica, as written."""
        key = topic, config
        if key not in self._partitions:
            named = (each.partition(":") for each in self.entries(topic, config))
            self._partitions[key] = frozenset(number for number, colon, _ in named if colon)
        return self._partitions[key]


def claim(step: Step, wanted: Mapping[TopicPartition, Assignment]) -> None:
    """Find out which throttles are for these reassignments, before they begin."""
    lists = ThrottledLists(step)
    if not any(_is_throttled(step, lists, *each) for each in wanted.items()):
        return
    under_way = {tp: assignment_of(step.state.partition(tp)) for tp in step.state.reassigning}
    named = [
        (tp, assignment)
        for tp, assignment in {**under_way, **wanted}.items()
        if any(
            f"{tp.partition}:{broker_id}" in lists.entries(tp.topic, config)
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
    lists = ThrottledLists(step)
    for name in topics:
        claimed = [c for c in THROTTLED_REPLICAS if "*" not in lists.entries(name, c)]
        change_topic_configs(step, name, dict.fromkeys(claimed))


def _is_throttled(
    step: Step, lists: ThrottledLists, tp: TopicPartition, assignment: Assignment
) -> bool:
    """Tell whether the lists are those of somebody who throttles this reassignment."""
    followers = lists.entries(tp.topic, FOLLOWER_REPLICAS)
    if assignment.adding:
        return any(f"{tp.partition}:{broker_id}" in followers for broker_id in assignment.adding)
    named = lists.partitions(tp.topic, FOLLOWER_REPLICAS)
    is_set = FOLLOWER_REPLICAS in step.state.topics[tp.topic].configs
    if not is_set or "*" in followers or str(tp.partition) in named:
        return False
    leaders = lists.entries(tp.topic, LEADER_REPLICAS)
    return all(f"{tp.partition}:{broker_id}" in leaders for broker_id in assignment.replicas)


def _has_rate(step: Step, broker_id: int) -> bool:
    own = step.state.dynamic_configs.get(str(broker_id), {})
    return any(rate in own for rate in THROTTLED_RATES)
