"""What records about topics, partitions and settings promise: each changes what it says."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.config_records import (
    BrokerConfigsChanged,
    GroupConfigsChanged,
    TopicConfigsChanged,
)
from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.reassignment_records import AssignmentChanged
from controller.core.records import (
    DeletionQueued,
    LeadershipChanged,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
)
from controller.core.scram_records import ScramCredentialDeleted, ScramCredentialStored
from controller.core.state import ClusterState, Partition
from controller.core.token_records import DelegationTokenRemoved, DelegationTokenStored
from protocol.ids import NO_LEADER, TopicPartition
from simulation.contracts.contract import Broken
from simulation.contracts.controller.cluster_facts import GONE, Facts, Path, exactly, gone
from simulation.contracts.controller.record_promises import of_record

Check = Generator[None, None, Broken]


def _added(
    state: ClusterState, name: str, first: int, assignment: tuple[tuple[int, ...], ...]
) -> Facts:
    """Return that partitions are there which nobody leads yet, and who hosts them."""
    wanted: Facts = {}
    for number, replicas in enumerate(assignment, first):
        tp = TopicPartition(name, number)
        wanted["topics", name, number] = Partition(replicas=replicas)
        wanted.update((("hosted", each, tp), None) for each in replicas)
        # What is made anew is not to be deleted.
        wanted.update((("removed", each, tp), GONE) for each in replicas)
    return wanted


@of_record(TopicCreated)
def topic_created(record: TopicCreated, state: ClusterState) -> Check:
    """A topic is there with all its partitions, which nobody leads yet."""
    wanted: Facts = {
        ("topics", record.name, "topic_id"): record.topic_id,
        ("topics", record.name, "is_deleting"): False,
        ("topics", record.name, "configs"): dict(record.configs),
        ("topics", record.name, "decision"): record.decision,
        ("topic_names", record.topic_id): record.name,
        **_added(state, record.name, 0, record.assignment),
    }
    return (yield from exactly(state, wanted))


@of_record(PartitionsAdded)
def partitions_added(record: PartitionsAdded, state: ClusterState) -> Check:
    """A topic grows at its end."""
    first = len(state.topics[record.name].partitions)
    return (yield from exactly(state, _added(state, record.name, first, record.assignment)))


@of_record(LeadershipChanged)
def leadership_changed(record: LeadershipChanged, state: ClusterState) -> Check:
    """A leadership is as decided: its epochs do not fall.

    The assignment stays.
    """
    wanted: Facts = {}
    for change in record.changes:
        before = state.topics[change.topic].partitions[change.partition]
        if len(frozenset(change.isr)) != len(change.isr):
            return f"{change} has a member twice"
        if (
            change.leader not in {before.leader, NO_LEADER}
            and change.leader_epoch <= before.leader_epoch
        ):
            return f"{change} has another leader than {before} by the same epoch"
        tp = TopicPartition(change.topic, change.partition)
        wanted["topics", change.topic, change.partition] = replace(
            before,
            leader=change.leader,
            leader_epoch=max(before.leader_epoch, change.leader_epoch),
            isr=change.isr,
            partition_epoch=max(before.partition_epoch, change.partition_epoch),
            controller_epoch=change.controller_epoch,
            is_recovering=change.is_recovering,
        )
        wanted.update((("unknown_replicas", each, tp), GONE) for each in before.replicas)
    return (yield from exactly(state, wanted))


@of_record(AssignmentChanged)
def assignment_changed(record: AssignmentChanged, state: ClusterState) -> Check:
    """Who is a replica no more has its log to delete, and nobody else."""
    tp = TopicPartition(record.topic, record.partition)
    before = state.topics[record.topic].partitions[record.partition]
    is_moving = bool(record.adding_replicas or record.removing_replicas)
    wanted: Facts = {
        ("topics", record.topic, record.partition): replace(
            before,
            replicas=record.replicas,
            adding_replicas=record.adding_replicas,
            removing_replicas=record.removing_replicas,
        ),
        ("reassigning", tp): None if is_moving else GONE,
    }
    for each in sorted({*before.replicas, *record.replicas}):
        stays = each in record.replicas
        wanted["hosted", each, tp] = None if stays else GONE
        wanted["removed", each, tp] = GONE if stays else None
        if not stays:
            wanted["offline", each, tp] = GONE
    return (yield from exactly(state, wanted))


@of_record(DeletionQueued)
def deletion_queued(record: DeletionQueued, state: ClusterState) -> Check:
    """A topic that is to be deleted is there until all its replicas are gone."""
    return (yield from exactly(state, {("topics", record.name, "is_deleting"): True}))


@of_record(TopicDeleted)
def topic_deleted(record: TopicDeleted, state: ClusterState) -> Check:
    """Of a topic that is deleted nothing is left, but for what brokers have still to delete."""
    wanted = {
        **gone(state, "topics", record.name),
        **gone(state, "topic_names", state.topics[record.name].topic_id),
        **gone(state, "throttled_topics", record.name),
    }
    for number, partition in enumerate(state.topics[record.name].partitions):
        tp = TopicPartition(record.name, number)
        wanted["reassigning", tp] = GONE
        for each in partition.replicas:
            wanted["hosted", each, tp] = wanted["offline", each, tp] = GONE
    return (yield from exactly(state, wanted))


def _set_texts(
    state: ClusterState, field: str, name: str, changes: Mapping[str, str | None]
) -> Check:
    wanted: Facts = {
        (field, name, k): GONE if text is None else text for k, text in changes.items()
    }
    before: Mapping[str, Mapping[str, str]] = getattr(state, field)
    kept = before.get(name)
    told = None if kept is None else dict(kept)
    broken = yield from exactly(state, wanted)
    if broken is None and kept is not None and dict(kept) != told:
        return f"{name} is changed in place: who has read it cannot see that it is another"
    return broken


@of_record(TopicConfigsChanged)
def topic_configs_changed(record: TopicConfigsChanged, state: ClusterState) -> Check:
    """Of a topic's configs those are set and unset that are named."""
    after = dict(state.topics[record.name].configs)
    for key, text in record.changes.items():
        after.pop(key, None)
        if text is not None:
            after[key] = text
    return (yield from exactly(state, {("topics", record.name, "configs"): after}))


@of_record(BrokerConfigsChanged)
def broker_configs_changed(record: BrokerConfigsChanged, state: ClusterState) -> Check:
    """Of a broker's configs, or of all brokers', those are set and unset that are named."""
    return (yield from _set_texts(state, "dynamic_configs", record.name, record.changes))


@of_record(GroupConfigsChanged)
def group_configs_changed(record: GroupConfigsChanged, state: ClusterState) -> Check:
    """Of a group's configs those are set and unset that are named."""
    return (yield from _set_texts(state, "group_configs", record.name, record.changes))


@of_record(AclsCreated)
def acls_created(record: AclsCreated, state: ClusterState) -> Check:
    """ACLs that are created are there, and whoever has read the others reads them again."""
    generation = state.acls_generation
    broken = yield from exactly(state, {("acls", each): None for each in record.acls})
    return broken or (None if state.acls_generation > generation else "nobody sees the change")


@of_record(AclsDeleted)
def acls_deleted(record: AclsDeleted, state: ClusterState) -> Check:
    """ACLs that are deleted are gone, and whoever has read them reads the others again."""
    generation = state.acls_generation
    broken = yield from exactly(state, {("acls", each): GONE for each in record.acls})
    return broken or (None if state.acls_generation > generation else "nobody sees the change")


@of_record(ScramCredentialStored)
def credential_stored(record: ScramCredentialStored, state: ClusterState) -> Check:
    """A user has one credential for each mechanism."""
    path: Path = ("scram_credentials", record.user, record.mechanism)
    return (yield from exactly(state, {path: record.credential}))


@of_record(ScramCredentialDeleted)
def credential_deleted(record: ScramCredentialDeleted, state: ClusterState) -> Check:
    """A credential that is deleted lets nobody in; the user's others stay."""
    path: Path = ("scram_credentials", record.user, record.mechanism)
    return (yield from exactly(state, {path: GONE}))


@of_record(DelegationTokenStored)
def token_stored(record: DelegationTokenStored, state: ClusterState) -> Check:
    """A token is as its broker wrote it last."""
    return (yield from exactly(state, {("delegation_tokens", record.token_id): record.text}))


@of_record(DelegationTokenRemoved)
def token_removed(record: DelegationTokenRemoved, state: ClusterState) -> Check:
    """A token that is removed is gone."""
    return (yield from exactly(state, {("delegation_tokens", record.token_id): GONE}))


@of_record(ClientQuotaSet)
def quota_set(record: ClientQuotaSet, state: ClusterState) -> Check:
    """An entity has the limit that was set last."""
    path: Path = ("client_quotas", record.entity, record.key)
    return (yield from exactly(state, {path: record.value}))


@of_record(ClientQuotaRemoved)
def quota_removed(record: ClientQuotaRemoved, state: ClusterState) -> Check:
    """An entity has no limit that was removed; its others stay."""
    return (yield from exactly(state, {("client_quotas", record.entity, record.key): GONE}))
