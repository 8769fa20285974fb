"""After healing every partition with an online Isr member has a leader and a full Isr.

What was begun is over: no topic is about to be deleted, no replica about to be taken away.
How long that may take is the run's patience: what is not so when it ends is a violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.timeline import kept_topics, last_partitions
from simulation.core.checkers.unassigned import still_hosted
from simulation.core.samples import (
    HOSTED_ROLES,
    PartitionSample,
    ReplicaSample,
    Role,
    Samples,
)

NAME: Final = "liveness"


def check_liveness(evidence: Evidence) -> list[Violation]:
    """Look at the end of a run that was healed."""
    samples = evidence.samples
    if samples.healed_us is None:
        return []
    waited_s = (samples.ended_us - samples.healed_us) / 1_000_000
    return [
        Violation(NAME, samples.ended_us, f"{text}, {waited_s:.3f} s after everything was healed")
        for text in lacks(samples)
    ]


def lacks(samples: Samples) -> list[str]:
    """Return what the last samples leave to wait for, a sentence each."""
    replicas = {(sample.broker, sample.tp): sample for sample in samples.replicas}
    partitions = last_partitions(samples.partitions).values()
    wants = [text for partition in partitions for text in _wants(partition, replicas)]
    return [*wants, *_unfinished(samples), *still_hosted(samples)]


def _wants(
    partition: PartitionSample, replicas: Mapping[tuple[int, TopicPartition], ReplicaSample]
) -> Iterator[str]:
    tp = partition.tp
    if not any(member not in partition.offline for member in partition.isr):
        return
    if partition.leader < 0:
        yield f"{tp} has no leader, although its Isr {list(partition.isr)} has online members"
        return
    led = replicas.get((partition.leader, tp))
    if led is None or led.role is not Role.LEADER or led.leader_epoch != partition.leader_epoch:
        yield (
            f"{tp} is led by broker {partition.leader} at epoch {partition.leader_epoch} as the "
            f"controller has it, and that broker does not lead it"
        )
    out = [
        replica
        for replica in partition.replicas
        if replica not in partition.offline and replica not in partition.isr
    ]
    if out:
        yield f"online replicas {out} of {tp} are not in its Isr {list(partition.isr)}"


def _unfinished(samples: Samples) -> Iterator[str]:
    """Give what the controller began and need wait for nobody to end.

    What a journal forgot brokers keep, and it is not asked for.
    """
    last = {} if samples.journal_edits_us else {each.tp: each for each in samples.partitions}
    kept = kept_topics(samples.partitions)
    held_up = {tp.topic: None for tp, each in last.items() if each.is_deleted and each.offline}
    replicas = {(each.broker, each.tp): each for each in samples.replicas}
    hosted = {each.tp: None for each in replicas.values() if each.role in HOSTED_ROLES}
    for tp, partition in last.items():
        if partition.offline or partition.is_gone or tp.topic in kept:
            continue
        going = [broker for broker in partition.replicas if broker not in partition.target]
        if partition.is_deleted and tp.topic in held_up and tp not in hosted:
            continue  # Its logs are deleted; the topic waits for a replica of another partition.
        if partition.is_deleted:
            yield f"{tp} is about to be deleted, and all its replicas are online"
        elif partition.target and going:
            yield f"replicas {going} of {tp} are about to be taken away, and all are online"
