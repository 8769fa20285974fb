"""In the end every replica has exactly one current log, and no future log is left anywhere."""

from __future__ import annotations

from typing import Final

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.timeline import last_partitions
from simulation.core.samples import LogSample, Samples

NAME: Final = "one log per replica"


def check_placement(evidence: Evidence) -> list[Violation]:
    """Look at the log dirs that are online, and at the replicas that the controller knows."""
    samples = evidence.samples
    current: dict[tuple[int, TopicPartition], list[str]] = {}
    violations: list[Violation] = []
    for log in samples.logs:
        if not log.is_readable:
            continue
        if log.is_future:
            violations.append(_violation(samples, _left_over(log)))
        else:
            current.setdefault((log.broker, log.tp), []).append(log.log_dir)
    for (broker, tp), paths in current.items():
        if len(paths) > 1:
            text = f"broker {broker} has {len(paths)} current logs of {tp}: {', '.join(paths)}"
            violations.append(_violation(samples, text))
    return violations + [
        _violation(samples, f"broker {broker} has no log of {tp}, of which it is an online replica")
        for tp, partition in last_partitions(samples.partitions).items()
        for broker in partition.replicas
        if broker not in partition.offline and (broker, tp) not in current
    ]


def _left_over(log: LogSample) -> str:
    return f"broker {log.broker} has a future log of {log.tp} in {log.log_dir}, and nothing moves"


def _violation(samples: Samples, text: str) -> Violation:
    return Violation(NAME, samples.ended_us, text)
