"""All logs of a partition hold the same bytes below the high watermark.

Logs that are compacted are cleaned by each broker at its own time: of them the same records are
there, but for those that gave way to newer ones of their key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.ids import TopicPartition
from simulation.core.checkers.compaction import Compaction
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import EVER, is_damaged
from simulation.core.checkers.timeline import last_partitions
from simulation.core.samples import BatchSample, LogSample, Samples

NAME: Final = "logs agree"


def check_agreement(evidence: Evidence) -> list[Violation]:
    """Compare each replica at the end with its leader, batch by batch."""
    samples = evidence.samples
    compaction = Compaction(evidence)
    forgiven = evidence.forgiven
    logs: dict[TopicPartition, list[LogSample]] = {}
    assigned = last_partitions(samples.partitions)
    for log in samples.logs:
        if log.tp in assigned and log.broker not in assigned[log.tp].replicas:
            continue  # of another topic of this name, which the journal lost
        is_known = log.is_readable and not log.is_future
        is_promised = forgiven.get(log.tp) != EVER
        if is_known and is_promised and not is_damaged(samples, log):
            logs.setdefault(log.tp, []).append(log)
    return [
        violation
        for found in logs.values()
        for leader in found
        if leader.is_leader
        for log in found
        if log is not leader
        for violation in (
            _compacted_differences(
                leader, log, compaction, samples, is_whole=leader.tp not in forgiven
            )
            if leader.tp.topic in compaction.topics
            else _differences(leader, log, samples)
        )
    ]


def _differences(leader: LogSample, log: LogSample, samples: Samples) -> Iterator[Violation]:
    """Tell the first one."""
    end = min(leader.high_watermark, log.high_watermark)
    start = max(leader.log_start_offset, log.log_start_offset)
    ours, theirs = (_between(each, start, end) for each in (leader, log))
    for offset in sorted({**ours, **theirs}):
        if _bytes(ours.get(offset)) != _bytes(theirs.get(offset)):
            yield Violation(
                NAME,
                samples.ended_us,
                f"{leader.tp} differs from offset {offset} on, below the high watermark {end}: "
                f"leader {leader.broker} has {_told(ours.get(offset))}, broker {log.broker} "
                f"({log.log_dir}) has {_told(theirs.get(offset))}",
            )
            return


def _compacted_differences(
    leader: LogSample,
    log: LogSample,
    compaction: Compaction,
    samples: Samples,
    *,
    is_whole: bool,
) -> Iterator[Violation]:
    """Tell the first one.

    Unless it ``is_whole``, records may have given way on one replica to newer ones that were cut
    off since, by an unclean election: Kafka does not bring them back.
    """
    end = min(leader.high_watermark, log.high_watermark)
    start = max(leader.log_start_offset, log.log_start_offset)
    ours, theirs = (_records(each) for each in (leader, log))
    newest = [compaction.newest_of_keys(each) for each in (ours, theirs)]
    for offset in sorted(each for each in {**ours, **theirs} if start <= each < end):
        our, their = ours.get(offset), theirs.get(offset)
        is_alike = our == their
        if our is None and their is not None:
            is_alike = not is_whole or compaction.may_have_taken(
                leader.tp, offset, their, newest[0]
            )
        elif their is None and our is not None:
            is_alike = not is_whole or compaction.may_have_taken(leader.tp, offset, our, newest[1])
        if not is_alike:
            yield Violation(
                NAME,
                samples.ended_us,
                f"{leader.tp}, which is compacted, differs at offset {offset}, below the high "
                f"watermark {end}: leader {leader.broker} has record {our}, broker {log.broker} "
                f"({log.log_dir}) has record {their}",
            )
            return


def _records(log: LogSample) -> dict[int, int]:
    return {offset: record for batch in log.batches for offset, record in batch.records}


def _between(log: LogSample, start: int, end: int) -> dict[int, BatchSample]:
    return {
        batch.base_offset: batch
        for batch in log.batches
        if batch.base_offset >= start and batch.next_offset <= end
    }


def _bytes(batch: BatchSample | None) -> tuple[int, int] | None:
    return None if batch is None else (batch.next_offset, batch.digest)


def _told(batch: BatchSample | None) -> str:
    if batch is None:
        return "no batch there"
    return f"offsets {batch.base_offset} to {batch.next_offset - 1} with digest {batch.digest:08x}"
