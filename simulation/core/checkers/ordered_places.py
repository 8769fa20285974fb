"""What was ordered of logs: where they lie, where none may be put, and where they begin.

Moves are held only against brokers that ran all the time with whole disks, and had the replica all
the time: who starts again, or loses a log dir or the replica, may forget a move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.faults.model import DISK_MODE_NAMES, broker_node
from protocol.ids import TopicPartition
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.fault_model import trusted_logs
from simulation.core.checkers.ordering import Ordered
from simulation.core.checkers.registers import possible_values
from simulation.core.checkers.unaware_leaders import led_unaware_us
from simulation.core.history import Function, Order
from simulation.core.samples import HOSTED_ROLES, ReplicaSample, Samples


def broken_places(ordered: list[Ordered], evidence: Evidence) -> Iterator[str]:
    """Give a sentence for each order that does not hold."""
    yield from _moved_elsewhere(ordered, evidence.samples)
    yield from _put_behind_a_cordon(ordered, evidence)
    yield from _records_still_there(ordered, evidence)


# Moves.


def _moved_elsewhere(ordered: list[Ordered], samples: Samples) -> Iterator[str]:
    moves: dict[tuple[int, TopicPartition], list[Ordered]] = {}
    for each in ordered:
        if each.function is Function.MOVE:
            tp = TopicPartition(each.order.topic, each.order.partition)
            moves.setdefault((each.order.broker, tp), []).append(each)
    places = {(log.broker, log.tp): log for log in samples.logs if not log.is_future}
    for (broker, tp), orders in moves.items():
        log = places.get((broker, tp))
        wanted = possible_values([each.sets(each.order.log_dir) for each in orders])
        begun_us = min(each.begin_us for each in orders)
        if log is None or not log.is_readable or wanted is None or log.log_dir in wanted:
            continue
        if _was_taken_away(ordered, samples, broker, tp, begun_us):
            continue
        if _was_hosted_since(samples, broker, tp, begun_us) and _was_whole(
            samples, broker, begun_us
        ):
            yield (
                f"broker {broker} has {tp} in {log.log_dir}, and was ordered to keep it in "
                f"{' or '.join(wanted)}, answered at {orders[-1].answered}"
            )


def _was_hosted_since(samples: Samples, broker: int, tp: TopicPartition, begun_us: int) -> bool:
    """Tell whether a replica was there before and ever since, in one process and of one topic."""
    mine = [each for each in samples.replicas if (each.broker, each.tp) == (broker, tp)]
    before = [each for each in mine if each.at_us < begun_us][-1:]
    ids = {each.topic_id: None for each in mine}
    since = [*before, *(each for each in mine if each.at_us >= begun_us)]
    return bool(before) and len(ids) == 1 and all(each.role in HOSTED_ROLES for each in since)


def _was_taken_away(
    ordered: list[Ordered], samples: Samples, broker: int, tp: TopicPartition, begun_us: int
) -> bool:
    """Tell whether a reassignment may have taken the replica away, and the move along with it.

    It may be back before anybody looked. What was decided before the last look at the partition
    ahead of the move is in that look.
    """
    looks = [each for each in samples.partitions if each.tp == tp]
    since_us = max((each.at_us for each in looks if each.at_us <= begun_us), default=-1)
    decided = (each.target or each.replicas for each in looks if each.at_us >= since_us)
    asked = (
        each.order.assignment[0]
        for each in ordered
        if each.function is Function.REASSIGN
        and each.order.assignment
        and (each.order.topic, each.order.partition) == tp
        and (each.may_come_again or each.end_us >= since_us)
    )
    return any(broker not in replicas for replicas in (*decided, *asked))


def _was_whole(samples: Samples, broker: int, begun_us: int) -> bool:
    """Tell whether a broker ran since a time, and no disk of its was broken or damaged."""
    node = broker_node(broker)
    damages = [each for each in samples.damages if each.broker == broker]
    faults = [
        each
        for each in samples.faults
        if (each.node == node or (not each.node and each.what in DISK_MODE_NAMES))
        and (each.end_us is None or each.end_us >= begun_us)
    ]
    starts = [each for each in samples.nodes if each.node == node and each.at_us >= begun_us]
    return not faults and not starts and not any(each.at_us >= begun_us for each in damages)


# Cordons.


def _put_behind_a_cordon(ordered: list[Ordered], evidence: Evidence) -> Iterator[str]:
    """Find replicas that were decided and put into a log dir while that was surely cordoned.

    A log dir that was ordered for a replica before that is there takes it, cordoned or not: such
    an order is answered with REPLICA_NOT_AVAILABLE and remembered.
    """
    samples = evidence.samples
    changes = [
        each for each in ordered if each.function is Function.ALTER_CONFIGS and not each.order.topic
    ]
    if not any(CORDONED_LOG_DIRS in dict(each.order.configs) for each in changes):
        return
    wished = {
        (each.value.broker, each.value.topic, each.value.partition, each.value.log_dir): None
        for each in evidence.history
        if each.function is Function.MOVE and isinstance(each.value, Order)
    }
    decided_us = _decided_us(samples)
    for made in _first_seen(samples):
        key = (made.broker, made.tp, made.topic_id)
        if (made.broker, *made.tp, made.log_dir) in wished or key not in decided_us:
            continue
        since = _cordoned_since(
            changes, made, decided_us[key] - samples.seen_within_us, _whole(samples, made.broker)
        )
        if since is not None:
            yield (
                f"broker {made.broker} put {made.tp} into {made.log_dir} at "
                f"{samples.told_time(made.at_us)}, which is cordoned since {since.answered}"
            )


def _cordoned_since(
    changes: list[Ordered], made: ReplicaSample, decided_us: int, whole: Sequence[str]
) -> Ordered | None:
    """Return the order that cordoned the log dir before and until the replica was put there.

    ``whole``: the broker's log dirs that never were offline: without one that is not cordoned, a
    replica goes behind the cordon.
    """
    own = [each for each in changes if each.order.broker == made.broker]
    for each in own:
        cordoned = (dict(each.order.configs).get(CORDONED_LOG_DIRS) or "").split(",")
        is_before = each.is_sure and each.end_us < decided_us
        has_others = any(path not in cordoned for path in whole)
        if not is_before or made.log_dir not in cordoned or not has_others:
            continue
        is_taken_off = any(
            other is not each
            and (CORDONED_LOG_DIRS in dict(other.order.configs) or other.order.is_whole)
            and (other.may_come_again or other.end_us >= each.begin_us)
            and other.begin_us <= made.at_us
            for other in own
        )
        if not is_taken_off:
            return each
    return None


def _whole(samples: Samples, broker: int) -> list[str]:
    mine = [each for each in samples.log_dirs if each.broker == broker]
    failed = [each.path for each in mine if not each.is_online]
    return [each.path for each in mine if each.path not in failed]


def _decided_us(samples: Samples) -> dict[tuple[int, TopicPartition, bytes], int]:
    """Return when each broker was seen first among the replicas of a partition."""
    found: dict[tuple[int, TopicPartition, bytes], int] = {}
    for sample in samples.partitions:
        for broker in sample.replicas:
            found.setdefault((broker, sample.tp, sample.topic_id), sample.at_us)
    return found


def _first_seen(samples: Samples) -> Iterator[ReplicaSample]:
    seen: dict[tuple[int, TopicPartition, bytes], None] = {}
    for sample in samples.replicas:
        key = (sample.broker, sample.tp, sample.topic_id)
        if key not in seen:
            seen[key] = None
            if sample.role in HOSTED_ROLES:
                yield sample


# Deleted records.


def _records_still_there(ordered: list[Ordered], evidence: Evidence) -> Iterator[str]:
    deletions = deletions_of(evidence)
    forgiven = evidence.forgiven
    logs = {log.tp: log for log in trusted_logs(evidence.samples)}
    for each in ordered:
        tp = TopicPartition(each.order.topic, each.order.partition)
        if each.function is not Function.DELETE_RECORDS or not each.is_sure or tp not in logs:
            continue
        is_forgiven = each.begin_us <= forgiven.get(tp, -1)
        if is_forgiven or deletions.took_topic(tp.topic, each.begin_us):
            continue
        is_undone = led_unaware_us(evidence, tp, each.end_us) is not None
        if logs[tp].log_start_offset < each.order.offset and not is_undone:
            yield (
                f"{tp} begins at {logs[tp].log_start_offset}, and the records before "
                f"{each.order.offset} were deleted, answered at {each.answered}"
            )
