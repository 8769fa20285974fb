"""Has metric rows written of reassignments: when one begins, ends, and meanwhile now and then.

Nothing is done where nothing is reassigned. Of many at once ``SAMPLED_MAX`` are told of in each
interval, in turn, so that a controller with thousands of them writes no more than with a hundred.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Final

from controller.core.effects import ReassignmentReport
from controller.core.reassignment_records import AssignmentChanged
from controller.core.reassignment_rules import Assignment, assignment_of
from controller.core.step import Step
from controller.core.throttles import ThrottledLists
from protocol.configs.names import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from protocol.configs.types import ALL_BROKERS, LONG_MAX
from protocol.ids import NO_LEADER, TopicPartition
from protocol.metrics.rows import ReassignmentState

SAMPLED_MAX: Final = 100
NO_THROTTLE: Final = -1
_RATES: Final = {FOLLOWER_REPLICAS: FOLLOWER_RATE, LEADER_REPLICAS: LEADER_RATE}
"""Which rate is for the replicas of which list."""


def take_over(step: Step) -> None:
    """Tell of what the controller before this one has begun."""
    teller = _Teller(step)
    for tp in step.state.reassigning:
        teller.begin(tp, assignment_of(step.state.partition(tp)))


def tell(step: Step) -> None:
    """Tell of what began and ended in this step, and of what goes on, once that is due."""
    changed = [record for record in step.records if isinstance(record, AssignmentChanged)]
    if changed:
        teller = _Teller(step)
        for record in changed:
            teller.change(record)
    run = step.run
    if not run.reassignments:
        run.reassignments_due_ms = None
    elif run.reassignments_due_ms is None or step.now_ms >= run.reassignments_due_ms:
        if run.reassignments_due_ms is not None:
            _sample(step)
        run.reassignments_due_ms = step.now_ms + step.settings.metrics_interval_ms


def _sample(step: Step) -> None:
    """Tell of those that were told of longest ago, and put them at the end."""
    teller, waiting = _Teller(step), step.run.reassignments
    for tp in list(islice(waiting, SAMPLED_MAX)):
        assignment = waiting.pop(tp)
        if tp in step.state.reassigning:
            teller.begin(tp, assignment)


class _Teller:
    """Tells of several partitions in one step."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._lists = ThrottledLists(step)

    def begin(self, tp: TopicPartition, assignment: Assignment) -> None:
        """Tell that it is under way."""
        self._step.run.reassignments[tp] = assignment
        self._report(tp, assignment, ReassignmentState.UNDER_WAY)

    def change(self, record: AssignmentChanged) -> None:
        """Tell what a decision ended, and what it began."""
        tp, known = TopicPartition(record.topic, record.partition), self._step.run.reassignments
        now = Assignment(record.replicas, record.adding_replicas, record.removing_replicas)
        before = known.get(tp)
        if before == now:
            return
        if before is not None:
            del known[tp]
            self._report(tp, before, _end_of(before, now))
        if now.adding or now.removing:
            self.begin(tp, now)

    def _report(self, tp: TopicPartition, assignment: Assignment, state: ReassignmentState) -> None:
        _, adding, removing = assignment
        partition = self._step.state.find(tp)
        leader = NO_LEADER if partition is None else partition.leader
        throttle = NO_THROTTLE if partition is None else self._throttle(tp, adding, leader)
        self._step.effects.append(ReassignmentReport(tp, adding, removing, leader, throttle, state))

    def _throttle(self, tp: TopicPartition, adding: tuple[int, ...], leader: int) -> int:
        """Return the smallest rate of who copies, in bytes per second.

        A leader copies nothing where nobody is added.
        """
        copying = {FOLLOWER_REPLICAS: adding, LEADER_REPLICAS: (leader,) if adding else ()}
        rates = [
            _rate(self._step, broker_id, _RATES[name])
            for name, broker_ids in copying.items()
            for broker_id in broker_ids
            if self._is_throttled(tp, broker_id, name)
        ]
        return min((rate for rate in rates if rate < LONG_MAX), default=NO_THROTTLE)

    def _is_throttled(self, tp: TopicPartition, broker_id: int, name: str) -> bool:
        entries = self._lists.entries(tp.topic, name)
        return not entries.isdisjoint(("*", f"{tp.partition}:{broker_id}"))


def _end_of(before: Assignment, now: Assignment) -> ReassignmentState:
    if now.adding or now.removing:
        return ReassignmentState.REPLACED
    targets = tuple(each for each in before.replicas if each not in before.removing)
    is_there = now.replicas == targets
    return ReassignmentState.COMPLETED if is_there else ReassignmentState.CANCELLED


def _rate(step: Step, broker_id: int, name: str) -> int:
    """Return a broker's own rate, else that of all brokers; ``LONG_MAX`` where neither is set.

    In ZooKeeper there may be a text that is no number: then none is.
    """
    dynamic = step.state.dynamic_configs
    of_all = dynamic.get(ALL_BROKERS, {}).get(name, str(LONG_MAX))
    with suppress(ValueError):
        return int(dynamic.get(str(broker_id), {}).get(name, of_all))
    return LONG_MAX
