"""What others wrote into ZooKeeper: who is alive, whose log dirs failed, new topics, what was set.

Source: KafkaController.processBrokerChange, processLogDirEventNotification, processTopicChange.
"""

from __future__ import annotations

from typing import assert_never

from controller.core import failures
from controller.core.acls import acls_read
from controller.core.events import (
    AclsRead,
    ClientConfigsRead,
    ConfigsRead,
    FromStore,
    LogDirEventsRead,
    Registration,
    RegistrationsRead,
    TopicsRead,
)
from controller.core.own_writes import misses_own_write
from controller.core.phases import ReplicaPhase
from controller.core.records import BrokerRegistered, ConfigsReplaced, TopicFound
from controller.core.replica_moves import move_replicas
from controller.core.state import ClusterState
from controller.core.step import Step
from controller.core.topics import start_partitions
from controller.core.znode_clients import replaced, written
from protocol.configs.types import ResourceType


def take(step: Step, event: FromStore) -> None:
    """Go on with what was seen."""
    match event:
        case RegistrationsRead():
            _take_brokers(step, event)
        case LogDirEventsRead():
            _ask_after_failures(step, event)
        case TopicsRead():
            _take_topics(step, event)
        case ConfigsRead() | ClientConfigsRead() | AclsRead():
            if not misses_own_write(step.run, event):
                _take_settings(step, event)
        case _:
            assert_never(event)


def _take_settings(step: Step, event: ConfigsRead | ClientConfigsRead | AclsRead) -> None:
    match event:
        case ConfigsRead():
            _take_configs(step, event)
        case ClientConfigsRead():
            _take_client_configs(step, event)
        case AclsRead(acls):
            acls_read(step, acls)


def _take_brokers(step: Step, event: RegistrationsRead) -> None:
    """Take brokers in and out; one that is registered anew was gone in between."""
    alive = {each.broker_id: each for each in event.registrations}
    for broker_id, found in alive.items():
        known = step.state.brokers.get(broker_id)
        if known is not None and not known.is_fenced:
            if known.broker_epoch == found.broker_epoch:
                continue
            failures.brokers_failed(step, (broker_id,), "it is registered anew")
        step.change(registered(found))
        failures.broker_started(step, broker_id)
    gone = [each for each in step.state.reachable_brokers() if each not in alive]
    if gone:
        failures.brokers_failed(step, gone, "its registration is gone")


def registered(found: Registration) -> BrokerRegistered:
    """Return the decision to know a broker; ZooKeeper does not tell of its log dirs."""
    return BrokerRegistered(
        found.broker_id, found.broker_epoch, b"", found.endpoints, found.rack, ()
    )


def _ask_after_failures(step: Step, event: LogDirEventsRead) -> None:
    """Ask brokers which of their replicas are offline: LeaderAndIsr for all, as it is known."""
    for broker_id in event.broker_ids:
        if step.state.is_reachable(broker_id):
            step.warn(f"a log dir of broker {broker_id} is offline")
            move_replicas(step, failures.replicas_on(step, broker_id), ReplicaPhase.ONLINE)


def _take_topics(step: Step, event: TopicsRead) -> None:
    """Have topics led that brokers of Apache Kafka made, as they do with a topic's first use.

    The controller's own are known, and so are those that it is about to take away.
    """
    for found in event.topics:
        is_gone = found.topic_id in step.run.deleted_topic_ids
        if is_gone or found.name in step.state.topics:
            continue
        other = step.state.topic_names.get(found.topic_id)
        if other is not None:
            step.warn(f"topic {found.name} stays without leaders: it has the id of topic {other}")
            continue
        step.change(TopicFound(found.name, found.topic_id, dict(found.configs), found.replicas))
        step.note(f"topic {found.name} found: {len(found.replicas)} partitions")
        start_partitions(step, list(step.state.topics[found.name].keys))


def _take_configs(step: Step, event: ConfigsRead) -> None:
    """Go on with what is set now; of a topic that is not there any more it does not matter."""
    if event.kind is ResourceType.TOPIC:
        topic = step.state.topics.get(event.name)
        before = None if topic is None else topic.configs
    else:
        before = step.state.dynamic_configs.get(event.name, {})
    if before is not None and before != event.configs:
        step.change(ConfigsReplaced(event.kind, event.name, dict(event.configs)))


def _take_client_configs(step: Step, event: ClientConfigsRead) -> None:
    """Go on with the quotas and credentials that are set now, be they the controller's own."""
    found = replaced(event.path, event.configs)
    if found is not None:
        before = written(step.state, found.entity)
        after = ClusterState()
        found.apply(after)
        if written(after, found.entity) != before:
            step.change(found)
