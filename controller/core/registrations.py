"""What others wrote into ZooKeeper: who is alive, whose log dirs failed, what was set.

Source: KafkaController.processBrokerChange, processLogDirEventNotification.
"""

from __future__ import annotations

from controller.core import failures
from controller.core.events import (
    ConfigsRead,
    LogDirEventsRead,
    Registration,
    RegistrationsRead,
)
from controller.core.phases import ReplicaPhase
from controller.core.records import BrokerRegistered, ConfigsReplaced
from controller.core.replica_moves import move_replicas
from controller.core.step import Step
from protocol.configs.types import ResourceType


def take(step: Step, event: RegistrationsRead) -> None:
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


def ask_after_failures(step: Step, event: LogDirEventsRead) -> None:
    """Ask brokers which of their replicas are offline: LeaderAndIsr for all, as it is known."""
    for broker_id in event.broker_ids:
        if step.state.is_reachable(broker_id):
            step.warn(f"a log dir of broker {broker_id} is offline")
            move_replicas(step, failures.replicas_on(step, broker_id), ReplicaPhase.ONLINE)


def take_configs(step: Step, event: ConfigsRead) -> None:
    """Go on with what is set now; of a topic that is not there any more it does not matter."""
    if event.kind is ResourceType.TOPIC:
        topic = step.state.topics.get(event.name)
        before = None if topic is None else topic.configs
    else:
        before = step.state.dynamic_configs.get(event.name, {})
    if before is not None and before != event.configs:
        step.change(ConfigsReplaced(event.kind, event.name, dict(event.configs)))
