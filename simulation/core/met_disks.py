"""Tells whether a run came to situations of disks: moves, deletions and log dirs that return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, DiskFault, broker_node
from protocol.ids import TopicPartition
from simulation.core.actions import Fault
from simulation.core.draw_deletions import DELETING
from simulation.core.draw_interrupted import MOVING
from simulation.core.draw_situations import WITHIN_MS
from simulation.core.history import Function, Order
from simulation.core.met_run import Run, is_done, order_of
from simulation.core.samples import Role

_WITHIN_US: Final = WITHIN_MS * 1000
_LASTS_US: Final = 20_000
"""A deletion that nothing holds up is over by then."""
_MAKING: Final = (Function.CREATE_TOPIC, Function.REASSIGN)


def had_bad_journal_disk(run: Run) -> bool:
    """Tell whether a fault met the disk of the journal."""
    return any(
        isinstance(action, Fault)
        and isinstance(action.rule, DiskFault)
        and action.rule.node == CONTROLLER_NODE
        and run.hits.get(action.name)
        for action in run.plan.actions
    )


def had_failing_move(run: Run) -> bool:
    """Tell whether both log dirs of a move failed before it was over."""
    return any(
        is_done(span, Function.MOVE) and _both_failed(run, order_of(span), span.end.at_us)
        for span in run.orders
    )


def _both_failed(run: Run, move: Order, at_us: int) -> bool:
    """Tell whether source and target of a move went offline before the replica was moved."""
    samples = run.evidence.samples
    tp = TopicPartition(move.topic, move.partition)
    places = [
        (sample.at_us, sample.log_dir)
        for sample in samples.replicas
        if (sample.broker, sample.tp) == (move.broker, tp)
        and sample.role in {Role.LEADER, Role.FOLLOWER}
    ]
    source = next((path for since, path in reversed(places) if since <= at_us), None)
    arrived_us = next(
        (since for since, path in places if since > at_us and path == move.log_dir), None
    )
    failed_us = [
        next((since for since in _offline_since(run, move.broker, path) if since >= at_us), None)
        for path in (source, move.log_dir)
    ]
    if source in {None, move.log_dir} or None in failed_us:
        return False
    times = [each for each in failed_us if each is not None]
    is_moved = arrived_us is not None and arrived_us < min(times)
    return not is_moved and max(times) - min(times) <= _WITHIN_US


def _offline_since(run: Run, broker: int, path: str | None) -> Iterator[int]:
    for sample in run.evidence.samples.log_dirs:
        if (sample.broker, sample.path, sample.is_online) == (broker, path, False):
            yield sample.at_us


def had_interrupted_move(run: Run) -> bool:
    """Tell whether the names of logs took long in a broker that was ordered to move one."""
    slow = [
        action.rule.node
        for action in run.plan.actions
        if isinstance(action, Fault)
        and isinstance(action.rule, DiskFault)
        and action.rule.operations in MOVING
        and run.hits.get(action.name)
    ]
    moves = [span.begin.value for span in run.orders if span.begin.function is Function.MOVE]
    return any(isinstance(each, Order) and broker_node(each.broker) in slow for each in moves)


def had_lasting_deletion(run: Run) -> bool:
    """Tell whether a deletion took long, in a run in which what it waits for was slow."""
    is_slow = any(
        isinstance(action, Fault)
        and isinstance(action.rule, DiskFault)
        and action.rule.operations in DELETING
        and run.hits.get(action.name)
        for action in run.plan.actions
    )
    return is_slow and any(
        is_done(span, Function.DELETE_RECORDS) and span.end.at_us - span.begin.at_us >= _LASTS_US
        for span in run.orders
    )


def had_returning_log_dirs(run: Run) -> bool:
    """Tell whether a log dir was away while somebody was answered who had logs made."""
    made_us = [
        span.end.at_us for span in run.orders if any(is_done(span, each) for each in _MAKING)
    ]
    return any(
        since_us <= at_us <= back_us for since_us, back_us in _absences(run) for at_us in made_us
    )


def _absences(run: Run) -> Iterator[tuple[int, int]]:
    """Give from when to when log dirs were offline that came back."""
    since: dict[tuple[int, str], int] = {}
    for sample in run.evidence.samples.log_dirs:
        place = (sample.broker, sample.path)
        if not sample.is_online:
            since.setdefault(place, sample.at_us)
        elif place in since:
            yield since.pop(place), sample.at_us
