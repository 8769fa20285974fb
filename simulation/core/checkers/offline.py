"""A replica that is offline neither leads nor stands in an Isr once the controller knows of it.

An Isr whose last member went offline stays as it is, without a leader: only from it may one come.
A broker whose log dir came back leads again in a later leader epoch: in the one in which it failed
readers and followers may have records that are lost, and others would get their offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.ids import NO_EPOCH
from simulation.core.checkers.evidence import Evidence, Violation
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


def check_offline(evidence: Evidence) -> list[Violation]:
    """Look at the controller's decisions, and at what brokers do with failed log dirs."""
    samples = evidence.samples
    decided = [
        Violation(NAME, sample.at_us, text)
        for sample in samples.partitions
        if not sample.is_deleted
        for text in _decided(sample)
    ]
    return [*decided, *_led_from_failed_dirs(evidence), *_led_again(samples)]


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
