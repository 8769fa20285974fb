"""Brings topics into being: new ones, more partitions, the cluster file's. Answers nobody.

Source: KafkaController.processTopicChange, onNewPartitionCreation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.core.partition_moves import bring_online, move_partitions
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.placement import UsableBroker, check_counts, place, start_for_new_topic
from controller.core.records import TopicCreated
from controller.core.replica_moves import Replica, move_replicas
from controller.core.run_state import WantedTopic
from controller.core.step import Step
from controller.core.topic_rules import check_name
from protocol.configs.parsing import check_topic_configs
from protocol.errors import KafkaError
from protocol.ids import ZERO_UUID, TopicPartition


def usable_brokers(step: Step) -> list[UsableBroker]:
    """Return the brokers that may take new replicas, by id."""
    brokers = step.state.brokers
    return [UsableBroker(b, brokers[b].rack) for b in sorted(brokers) if brokers[b].is_usable]


def add_topic(
    step: Step, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
) -> None:
    """Decide a new topic; ``start_partitions`` brings it to life."""
    topic_id = step.chance.randbytes(16)
    while topic_id == ZERO_UUID or topic_id in step.state.topic_names:
        topic_id = step.chance.randbytes(16)
    # Nobody writes the number into ZooKeeper, and nothing is lost there.
    decision = 0 if step.settings.has_zookeeper else step.state.journal_number + 1
    replicas = tuple(map(tuple, assignment))
    step.change(TopicCreated(name, topic_id, dict(configs), replicas, decision))
    step.note(f"topic {name} created: {len(assignment)} partitions")


def start_partitions(step: Step, tps: Sequence[TopicPartition]) -> None:
    """Give new partitions their first leaders: one batch for all of them."""
    replicas = [Replica(tp, b) for tp in tps for b in step.state.partition(tp).replicas]
    move_partitions(step, tps, PartitionPhase.NEW)
    move_replicas(step, replicas, ReplicaPhase.NEW)
    bring_online(step, tps)
    move_replicas(step, replicas, ReplicaPhase.ONLINE)


def create_wanted_topics(step: Step) -> None:
    """Create the topics of the cluster file once its brokers are there.

    Waits for all brokers of the file, or, when enough for every topic are there, for one session
    timeout.
    """
    run = step.run
    run.wanted_topics = [t for t in run.wanted_topics if t.name not in step.state.topics]
    if not run.wanted_topics:
        return
    candidates = usable_brokers(step)
    if len(candidates) < max(topic.replication_factor for topic in run.wanted_topics):
        run.wanted_since_ms = None
        return
    if run.wanted_since_ms is None:
        run.wanted_since_ms = step.now_ms
    present = [candidate.broker_id for candidate in candidates]
    is_complete = all(broker_id in present for broker_id in step.settings.broker_ids)
    if is_complete or step.now_ms - run.wanted_since_ms >= step.settings.session_timeout_ms:
        wanted, run.wanted_topics = run.wanted_topics, []
        _create(step, wanted, candidates)


def _create(step: Step, wanted: list[WantedTopic], candidates: list[UsableBroker]) -> None:
    tps: list[TopicPartition] = []
    for topic in wanted:
        try:
            check_name(topic.name, step.state.topics)
            check_counts(topic.partitions, topic.replication_factor, len(candidates))
            check_topic_configs(topic.configs, step.defaults)
            start = start_for_new_topic(candidates, step.chance)
            assignment = place(candidates, topic.partitions, topic.replication_factor, start)
        except KafkaError as error:
            step.warn(f"topic {topic.name} of the cluster file cannot be created: {error}")
            continue
        add_topic(step, topic.name, assignment, topic.configs)
        tps.extend(step.state.topics[topic.name].keys)
    start_partitions(step, tps)
