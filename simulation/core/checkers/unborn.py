"""A replica that is new to its broker begins in a log dir that works, whichever others do not.

Only what its broker had before may lie on a failed log dir. Where that changed meanwhile, or
something stood between controller and broker, nothing is said: who is told late, or by another
controller, is not told that the replica is new. Source: KIP-112, KAFKA-10314.
"""

from __future__ import annotations

from collections.abc import Iterator

from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.checkers.timeline import in_force, merged
from simulation.core.history import Function, Order
from simulation.core.samples import HOSTED_ROLES, PartitionSample, ReplicaSample, Role, Samples


def unborn(evidence: Evidence) -> Iterator[tuple[int, str]]:
    """Give when a new replica was seen to be offline at once, and a sentence."""
    samples = evidence.samples
    quiet = QuietTimes(samples)
    wished = {
        (each.value.broker, each.value.topic, each.value.partition): None
        for each in evidence.history
        if each.function is Function.MOVE and isinstance(each.value, Order)
    }
    for decided, offline in _never_there(samples):
        # What a look shows may be as old as the look before it.
        begin_us = decided.at_us - 2 * samples.seen_within_us
        nodes = (CONTROLLER_NODE, broker_node(offline.broker))
        if (offline.broker, *offline.tp) in wished or not quiet.lasts(
            nodes, begin_us, offline.at_us
        ):
            continue
        working = _working(samples, offline.broker, begin_us, offline.at_us)
        if working and _is_usable(samples, offline.broker, begin_us, offline.at_us):
            yield (
                offline.at_us,
                f"broker {offline.broker} has {offline.tp} offline, which is new to it since "
                f"{samples.told_time(decided.at_us)}, and {working[0]} is online all the time",
            )


def _never_there(samples: Samples) -> Iterator[tuple[PartitionSample, ReplicaSample]]:
    """Give the decision that made a broker a partition's, and its replica, whose log is nowhere."""
    decided: dict[tuple[int, TopicPartition], PartitionSample] = {}
    had: dict[tuple[int, TopicPartition], bytes] = {}
    for sample in merged(samples.partitions, samples.replicas):
        if isinstance(sample, PartitionSample):
            for broker in sample.replicas:
                known = decided.get((broker, sample.tp))
                if known is None or known.topic_id != sample.topic_id:
                    decided[broker, sample.tp] = sample
            continue
        if sample.role not in (*HOSTED_ROLES, Role.OFFLINE):
            continue
        key = (sample.broker, sample.tp)
        if key not in decided or sample.topic_id not in (b"", decided[key].topic_id):
            continue
        topic_id = decided[key].topic_id
        is_new = had.get(key) != topic_id
        had[key] = topic_id
        if is_new and sample.role is Role.OFFLINE and not sample.log_dir:
            yield decided[key], sample


def _is_usable(samples: Samples, broker: int, begin_us: int, end_us: int) -> bool:
    """Tell whether the controller had a broker as alive, with room, in all that time."""
    known = [each for each in samples.brokers if each.broker == broker]
    stood = in_force(known, begin_us, end_us)
    return bool(stood) and all(each.is_usable for each in stood)


def _working(samples: Samples, broker: int, begin_us: int, end_us: int) -> list[str]:
    """Return a broker's log dirs that were online all that time; none where one failed in it."""
    until_us = end_us + samples.seen_within_us
    states: dict[str, bool] = {}
    for sample in samples.log_dirs:
        if sample.broker != broker or sample.at_us > until_us:
            continue
        if sample.at_us >= begin_us and sample.is_online != states.get(sample.path, True):
            return []
        states[sample.path] = sample.is_online
    return [path for path, is_online in states.items() if is_online]
