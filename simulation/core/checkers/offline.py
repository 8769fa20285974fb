"""A replica that is offline neither leads nor stands in an Isr once the controller knows of it.

An Isr whose last member went offline stays as it is, without a leader: only from it may one come.
A broker whose log dir came back leads again in a later leader epoch: in the one in which it failed
readers and followers may have records that are lost, and others would get their offsets. Who leads
meanwhile goes on in a later one, too: what was asked for the old log must not speak for the new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import NO_EPOCH, NO_LEADER, TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.checkers.timeline import merged, moments
from simulation.core.samples import (
    HOSTED_ROLES,
    LogDirSample,
    PartitionSample,
    ReplicaSample,
    Role,
    Samples,
)

NAME: Final = "offline replicas"
_FAILED_WITHIN_US: Final = 1_000_000
"""The controller hears of a failure so soon, if nothing stands between."""


def check_offline(evidence: Evidence) -> list[Violation]:
    """Look at the controller's decisions, and at what brokers do with failed log dirs."""
    samples = evidence.samples
    decided = [
        Violation(NAME, sample.at_us, text)
        for sample in samples.partitions
        if not sample.is_deleted
        for text in _decided(sample)
    ]
    return [
        *decided,
        *_led_from_failed_dirs(evidence),
        *_led_again(samples),
        *_went_on(samples),
    ]


def _decided(sample: PartitionSample) -> Iterator[str]:
    if sample.leader < 0:
        return
    if sample.leader in sample.offline:
        yield (
            f"the controller has {sample.tp} led by broker {sample.leader} at epoch "
            f"{sample.leader_epoch}, and knows that replica to be offline"
        )
    standing = [member for member in sample.isr if member in sample.offline]
    if standing:
        yield (
            f"the controller has replicas {standing} in the Isr {list(sample.isr)} of {sample.tp}, "
            f"and knows them to be offline"
        )


def _led_from_failed_dirs(evidence: Evidence) -> Iterator[Violation]:
    offline: dict[tuple[int, str], None] = {}
    leading: dict[tuple[int, str], dict[object, ReplicaSample]] = {}
    samples = evidence.samples
    for at_us, changed in moments(merged(samples.log_dirs, samples.replicas)):
        touched: dict[tuple[int, str], None] = {}
        for sample in changed:
            if isinstance(sample, LogDirSample):
                touched[sample.broker, sample.path] = None
                _note_log_dir(offline, sample)
            else:
                touched[sample.broker, sample.log_dir] = None
                _note_replica(leading, sample)
        for place in touched:
            if place in offline:
                for replica in leading.get(place, {}).values():
                    text = (
                        f"broker {place[0]} leads {replica.tp} at epoch {replica.leader_epoch} "
                        f"from {place[1]}, which is offline"
                    )
                    yield Violation(NAME, at_us, text)


def _led_again(samples: Samples) -> Iterator[Violation]:
    """Find brokers that lead once more in the leader epoch in which their log dir failed."""
    epochs: dict[tuple[object, ...], int] = {}
    failed: dict[tuple[object, ...], int] = {}
    for sample in samples.replicas:
        key = (sample.tp, sample.topic_id, sample.broker, sample.boot)
        if sample.role is Role.OFFLINE:
            failed[key] = epochs.get(key, NO_EPOCH)
        elif sample.role in HOSTED_ROLES:
            if sample.role is Role.LEADER and sample.leader_epoch <= failed.pop(key, NO_EPOCH):
                text = (
                    f"broker {sample.broker} leads {sample.tp} at epoch {sample.leader_epoch} "
                    f"again, and its log dir failed in that epoch or a later one"
                )
                yield Violation(NAME, sample.at_us, text)
            epochs[key] = sample.leader_epoch


def _went_on(samples: Samples) -> Iterator[Violation]:
    """Find leaders that stay in their epoch while a replica comes back in a living process.

    One that comes back with its process has another broker epoch, which is enough (KIP-903).
    """
    failed, returns = _failed_replicas(samples), _returns(samples)
    quiet = QuietTimes(samples)
    before: dict[tuple[TopicPartition, bytes, int], PartitionSample] = {}
    latest: dict[tuple[TopicPartition, bytes], PartitionSample] = {}
    for now in samples.partitions:
        earlier = latest.get((now.tp, now.topic_id), now)
        latest[now.tp, now.topic_id] = now
        for broker in now.replicas:
            key = (now.tp, now.topic_id, broker)
            if broker in now.offline:
                # One epoch is that of the failure of a member of the Isr, another one of a return
                # that nobody saw; the first look at it tells (seed 1061316).
                is_seen_first = earlier is now or broker not in earlier.offline
                has_returned = now.leader_epoch > earlier.leader_epoch + (broker in earlier.isr)
                if is_seen_first and not has_returned:
                    before[key] = now
                continue
            first = before.pop(key, None)
            if first is None or now.is_deleted or not _is_led_on(first, now, broker):
                continue
            at_us = failed.get(key, -1)
            if any(at_us <= back_us <= first.at_us for back_us in returns.get(broker, ())):
                continue  # It was back before anybody looked, and the epoch had risen by then.
            nodes = (CONTROLLER_NODE, broker_node(broker))
            since_us = first.at_us - _FAILED_WITHIN_US
            if since_us <= at_us <= now.at_us and quiet.lasts(nodes, since_us, now.at_us):
                text = (
                    f"the replica of {now.tp} on broker {broker}, whose log dir had failed, counts "
                    f"as online again, and broker {now.leader} leads on in epoch {now.leader_epoch}"
                )
                yield Violation(NAME, now.at_us, text)


def _failed_replicas(samples: Samples) -> dict[tuple[TopicPartition, bytes, int], int]:
    """Return when each replica was seen last to be on a failed log dir."""
    ids: dict[tuple[TopicPartition, int], bytes] = {}
    failed: dict[tuple[TopicPartition, bytes, int], int] = {}
    for sample in samples.replicas:
        if sample.role in HOSTED_ROLES:
            ids[sample.tp, sample.broker] = sample.topic_id
        elif sample.role is Role.OFFLINE:
            topic_id = ids.get((sample.tp, sample.broker), sample.topic_id)
            failed[sample.tp, topic_id, sample.broker] = sample.at_us
    return failed


def _returns(samples: Samples) -> dict[int, list[int]]:
    """Return when a log dir of each broker was seen to be online again, or at first."""
    returns: dict[int, list[int]] = {}
    for sample in samples.log_dirs:
        if sample.is_online:
            returns.setdefault(sample.broker, []).append(sample.at_us)
    return returns


def _is_led_on(first: PartitionSample, now: PartitionSample, broker: int) -> bool:
    """Tell whether another broker leads in the epoch in which the replica was offline first."""
    return now.leader not in (NO_LEADER, broker) and (
        (now.leader, now.leader_epoch) == (first.leader, first.leader_epoch)
    )


def _note_log_dir(offline: dict[tuple[int, str], None], sample: LogDirSample) -> None:
    if sample.is_online:
        offline.pop((sample.broker, sample.path), None)
    else:
        offline[sample.broker, sample.path] = None


def _note_replica(
    leading: dict[tuple[int, str], dict[object, ReplicaSample]], sample: ReplicaSample
) -> None:
    for (broker, _), replicas in leading.items():
        if broker == sample.broker:
            replicas.pop(sample.tp, None)
    if sample.role is Role.LEADER:
        leading.setdefault((sample.broker, sample.log_dir), {})[sample.tp] = sample
