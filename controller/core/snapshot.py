"""The records that rebuild a state from nothing: what a compacted journal begins with.

They are ordinary records (``controller.core.records``), in an order that can be replayed.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.core.acl_records import AclsCreated
from controller.core.config_records import BrokerConfigsChanged, GroupConfigsChanged
from controller.core.journal_records import (
    BrokerEpochsRaised,
    DecisionsLost,
    EpochsRecalled,
    JournalBegun,
    UnknownReplicasReported,
)
from controller.core.quota_records import stored_quotas
from controller.core.reassignment_records import (
    AssignmentChanged,
    RemovalsPending,
    ThrottlesClaimed,
)
from controller.core.records import (
    BrokerRegistered,
    BrokerUnfenced,
    ControllerStarted,
    DeletionQueued,
    LeadershipChanged,
    LogDirsCordoned,
    LogDirsFailed,
    ProducerIdsAllocated,
    Record,
    ReplicasProbed,
    ShutdownBegun,
    TopicCreated,
    leadership_of,
)
from controller.core.scram_records import stored_credentials
from controller.core.state import Broker, ClusterState, Topic
from controller.core.token_records import stored_tokens


def snapshot(state: ClusterState) -> list[Record]:
    """Return records that rebuild ``state`` from an empty one."""
    return [
        ControllerStarted(state.cluster_id, state.controller_epoch, state.journal_number),
        EpochsRecalled(tuple(state.epoch_starts.items())),
        JournalBegun(state.journal_id),
        *([DecisionsLost(state.lost_after)] if state.lost_after else []),
        BrokerEpochsRaised(state.next_broker_epoch),
        ProducerIdsAllocated(state.next_producer_id),
        *(record for broker in state.brokers.values() for record in _broker_records(broker)),
        *(record for topic in state.topics.values() for record in _topic_records(topic)),
        *(
            BrokerConfigsChanged(name, dict(configs))
            for name, configs in state.dynamic_configs.items()
        ),
        *(
            GroupConfigsChanged(name, dict(configs))
            for name, configs in state.group_configs.items()
        ),
        *([AclsCreated(tuple(state.acls))] if state.acls else []),
        *stored_credentials(state),
        *stored_tokens(state),
        *stored_quotas(state),
        *(ReplicasProbed(broker_id, tuple(tps), ()) for broker_id, tps in state.offline.items()),
        *(RemovalsPending(broker_id, tuple(tps)) for broker_id, tps in state.removed.items()),
        *(
            UnknownReplicasReported(broker_id, tuple(found.items()))
            for broker_id, found in state.unknown_replicas.items()
        ),
        ThrottlesClaimed(tuple(state.throttled_topics), tuple(state.throttled_brokers)),
    ]


def _broker_records(broker: Broker) -> Iterator[Record]:
    broker_id = broker.broker_id
    yield BrokerRegistered(
        broker_id,
        broker.broker_epoch,
        broker.incarnation,
        broker.endpoints,
        broker.rack,
        broker.log_dirs,
    )
    if not broker.is_fenced:
        yield BrokerUnfenced(broker_id)
    if broker.is_shutting_down:
        yield ShutdownBegun(broker_id)
    if broker.offline_log_dirs:
        yield LogDirsFailed(broker_id, broker.offline_log_dirs)
    if broker.cordoned_log_dirs is not None:
        yield LogDirsCordoned(broker_id, broker.cordoned_log_dirs)


def _topic_records(topic: Topic) -> Iterator[Record]:
    assignment = tuple(p.replicas for p in topic.partitions)
    yield TopicCreated(topic.name, topic.topic_id, topic.configs, assignment, topic.decision)
    led = [
        leadership_of(tp, p)
        for tp, p in zip(topic.keys, topic.partitions, strict=True)
        if p.has_leadership
    ]
    if led:
        yield LeadershipChanged(tuple(led))
    for number, partition in enumerate(topic.partitions):
        if partition.is_reassigning:
            yield AssignmentChanged(
                topic.name,
                number,
                partition.replicas,
                partition.adding_replicas,
                partition.removing_replicas,
            )
    if topic.is_deleting:
        yield DeletionQueued(topic.name)
