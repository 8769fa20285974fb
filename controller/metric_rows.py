"""Makes metric rows of what the machine has written: puts the wall clock on them. No rules."""

from __future__ import annotations

from typing import Final

from controller.core.effects import ReassignmentReport, Report
from protocol.ids import TopicPartition
from protocol.metrics.rows import (
    FailoverEventRow,
    FailoverStep,
    ReassignmentProgressRow,
    ReassignmentState,
)
from protocol.ports import WallClock

_STAMPED_AT_ARRIVAL: Final = (FailoverStep.CONTROLLER_NOTICED, FailoverStep.REPLICAS_OFFLINE)
"""These steps happen when their event arrives; the others when their records are durable."""


class MetricRows:
    """The rows of one controller."""

    def __init__(self, clock: WallClock) -> None:
        """``clock`` stamps them."""
        self._clock = clock
        self._began_ms: dict[TopicPartition, int] = {}
        """Of the reassignments under way: what tells two of one partition apart."""

    def told(
        self, report: Report | ReassignmentReport, arrived_ms: int
    ) -> FailoverEventRow | ReassignmentProgressRow:
        """Return the row of a report; ``arrived_ms`` is when its event came, on the wall clock."""
        if isinstance(report, Report):
            return self._of_failover(report, arrived_ms)
        return self._of_reassignment(report)

    def _of_failover(self, report: Report, arrived_ms: int) -> FailoverEventRow:
        is_early = report.step in _STAMPED_AT_ARRIVAL
        return FailoverEventRow(
            at_ms=arrived_ms if is_early else self._clock.now_ms(),
            node="controller",
            failure_id=report.failure_id,
            step=report.step,
            topic_count=report.topic_count,
            partition_count=report.partition_count,
            detail=report.detail,
        )

    def _of_reassignment(self, report: ReassignmentReport) -> ReassignmentProgressRow:
        now_ms = self._clock.now_ms()
        began_ms = self._began_ms.setdefault(report.tp, now_ms)
        if report.state is not ReassignmentState.UNDER_WAY:
            del self._began_ms[report.tp]
        return ReassignmentProgressRow(
            at_ms=now_ms,
            topic=report.tp.topic,
            partition=report.tp.partition,
            started_at_ms=began_ms,
            adding=report.adding,
            removing=report.removing,
            leader=report.leader,
            throttle_bytes_per_s=report.throttle_bytes_per_s,
            state=report.state,
        )
