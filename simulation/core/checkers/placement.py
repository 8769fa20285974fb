"""In the end every replica has exactly one current log, and no future log is left anywhere.

One is left to an offline replica of a partition that nobody may lead: where the disk of its current
log was replaced, it waits for somebody to accept the loss, and the move goes on after that. So does
a deletion that waits for a reassignment of such a partition.
"""

from __future__ import annotations

from typing import Final

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.timeline import kept_topics, last_partitions
from simulation.core.samples import LogSample, PartitionSample, Samples

NAME: Final = "one log per replica"


def check_placement(evidence: Evidence) -> list[Violation]:
    """Look at the log dirs that are online, and at the replicas that the controller knows."""
    samples = evidence.samples
    partitions = last_partitions(samples.partitions)
    last = {sample.tp: sample for sample in samples.partitions}
    kept = kept_topics(samples.partitions)
    current: dict[tuple[int, TopicPartition], list[str]] = {}
    violations: list[Violation] = []
    for log in samples.logs:
        if not log.is_readable:
            continue
        if not log.is_future:
            current.setdefault((log.broker, log.tp), []).append(log.log_dir)
        elif not _is_lost((last if log.tp.topic in kept else partitions).get(log.tp), log.broker):
            violations.append(_violation(samples, _left_over(log)))
    for (broker, tp), paths in current.items():
        if len(paths) > 1:
            text = f"broker {broker} has {len(paths)} current logs of {tp}: {', '.join(paths)}"
            violations.append(_violation(samples, text))
    return violations + [
        _violation(samples, f"broker {broker} has no log of {tp}, of which it is an online replica")
        for tp, partition in partitions.items()
        for broker in partition.replicas
        if broker not in partition.offline and (broker, tp) not in current
    ]


def _is_lost(partition: PartitionSample | None, broker: int) -> bool:
    """Tell whether a replica is offline and nobody may lead its partition."""
    return partition is not None and {broker, *partition.isr} <= {*partition.offline}


def _left_over(log: LogSample) -> str:
    return f"broker {log.broker} has a future log of {log.tp} in {log.log_dir}, and nothing moves"


def _violation(samples: Samples, text: str) -> Violation:
    return Violation(NAME, samples.ended_us, text)
