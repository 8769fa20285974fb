"""When all is well and nobody writes any more, leaders and followers have the same.

Everything is committed that a full Isr can commit, and every member of it knows. What a replica
that is never told of anything would break is broken nowhere else: clients just wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.outcomes import is_state_forgiven
from simulation.core.checkers.timeline import last_partitions
from simulation.core.samples import PartitionSample, ReplicaSample, Role, Samples, SampleSource

NAME: Final = "settled"
UNMARKED: Final = "nobody writes its markers"
"""How it ends what is said of a transaction that never ends."""

_Replicas = Mapping[tuple[int, TopicPartition], ReplicaSample]


def check_settled(evidence: Evidence) -> list[Violation]:
    """Look at the end of a run that was healed, and at what coordinators would load on the way."""
    samples = evidence.samples
    found = [Violation(NAME, at_us, text) for at_us, text in samples.misloads]
    if samples.healed_us is None or SampleSource.COMMITS not in samples.sources:
        return found
    # Who lost its log may decide ends of long ago once more; leaders with later ones refuse them.
    has_forgotten = is_state_forgiven(evidence)
    texts = [text for text in unsettled(samples) if not (has_forgotten and text.endswith(UNMARKED))]
    return [*found, *(Violation(NAME, samples.ended_us, text) for text in texts)]


def unsettled(samples: Samples) -> list[str]:
    """Return in what the last samples of leaders and followers, or of one node, differ."""
    replicas = {(sample.broker, sample.tp): sample for sample in samples.replicas}
    partitions = last_partitions(samples.partitions).values()
    differing = [text for partition in partitions for text in _differs(partition, replicas)]
    return [*differing, *samples.contradictions]


def _differs(partition: PartitionSample, replicas: _Replicas) -> Iterator[str]:
    led = replicas.get((partition.leader, partition.tp))
    if led is None or led.role is not Role.LEADER or led.leader_epoch != partition.leader_epoch:
        return  # it is no leader, or knows nothing of it: liveness tells
    if sorted(led.isr) != sorted(partition.isr):
        yield (
            f"broker {led.broker} leads {led.tp} with the Isr {list(led.isr)}, and the controller "
            f"has {list(partition.isr)}"
        )
        return
    if not all(replica in partition.isr for replica in partition.replicas):
        return  # too small an Isr commits nothing
    if led.high_watermark < led.log_end_offset:
        yield (
            f"broker {led.broker} leads {led.tp} with a full Isr, and of its records up to offset "
            f"{led.log_end_offset - 1} those from {led.high_watermark} on are not committed"
        )
        return
    for member in partition.isr:
        if member != led.broker and member not in partition.offline:
            yield from _lags(replicas.get((member, partition.tp)), member, led)


def _lags(log: ReplicaSample | None, member: int, led: ReplicaSample) -> Iterator[str]:
    if log is None or log.role is not Role.FOLLOWER or log.leader_epoch != led.leader_epoch:
        yield (
            f"broker {member} is in the Isr of {led.tp} at leader epoch {led.leader_epoch}, and "
            f"does not follow it there"
        )
        return
    has = (log.log_end_offset, log.high_watermark)
    if has != (led.log_end_offset, led.high_watermark) or log.log_start_offset < (
        led.log_start_offset
    ):
        yield (
            f"broker {member} is in the Isr of {led.tp} with log start, high watermark and log end "
            f"{_offsets(log)}, and its leader {led.broker} has {_offsets(led)}"
        )


def _offsets(sample: ReplicaSample) -> str:
    return f"{sample.log_start_offset}, {sample.high_watermark}, {sample.log_end_offset}"
