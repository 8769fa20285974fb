"""What a broker keeps for its next start is true when it is written: offsets are not too large.

A high watermark that begins too high lets readers have what may be cut off yet; a log that is
compacted beyond what is committed and decided may lose records for others that are cut off.
Source: ReplicaManager.scala checkpointHighWatermarks, LogCleanerManager.scala cleanableOffsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence
from simulation.core.samples import HOSTED_ROLES, AheadSample, ReplicaSample


def ahead(evidence: Evidence) -> Iterator[tuple[int, str]]:
    """Give when an offset was seen that was never reached, and a sentence.

    What a replica had reached before its high watermark fell, under a leader that knew less, it may
    have written down.
    """
    if not evidence.samples.ahead:
        return
    replicas: dict[TopicPartition, list[ReplicaSample]] = {}
    for sample in evidence.samples.replicas:
        if sample.role in HOSTED_ROLES:
            replicas.setdefault(sample.tp, []).append(sample)
    for each in evidence.samples.ahead:
        if _reached(each, replicas) < each.offset:
            yield each.at_us, _text(each)


def _reached(each: AheadSample, replicas: Mapping[TopicPartition, Sequence[ReplicaSample]]) -> int:
    """Return the most that can have been the bound: any replica's high watermark, if that fell."""
    seen = [one for one in replicas.get(each.tp, ()) if one.at_us <= each.at_us]
    most = max((one.high_watermark for one in seen), default=0)
    if each.what == "high watermark":
        return each.offset if _has_fallen_since(each, seen) else max(most, each.bound)
    own = max((one.high_watermark for one in seen if one.broker == each.broker), default=0)
    return each.bound if own <= each.high_watermark else max(own, each.bound)


def _has_fallen_since(each: AheadSample, seen: Sequence[ReplicaSample]) -> bool:
    """Tell whether it may have risen since the look before, and fallen under another leader.

    Nobody saw how far (seed 744023), nor that it fell, if it is where it was (1156457).
    """
    own = [one for one in seen if one.broker == each.broker]
    if len(own) < 2 or own[-1].at_us < each.at_us:
        return False
    before, now = own[-2:]
    return before.leader_epoch < now.leader_epoch and now.high_watermark <= before.high_watermark


def _text(each: AheadSample) -> str:
    if each.what == "high watermark":
        return (
            f"of {each.tp} is {each.offset} in the checkpoint of broker {each.broker}, and was "
            f"{each.bound} in its memory, and never more on any broker"
        )
    return (
        f"of {each.tp} is {each.high_watermark}, its last stable offset {each.bound} on broker "
        f"{each.broker}, and its log there is compacted up to {each.offset}"
    )
