"""What the engine tells, passed on to those who act on it: session, topic configs, metrics.

Every call returns at once; nothing is decided here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from broker.engine.types import CoordinatorEvents, FailedLogDir
from broker.lifecycle.move_throttles import MoveThrottles
from broker.lifecycle.session import ControllerSession
from broker.lifecycle.topic_configs import TopicConfigs
from broker.metrics import Metrics
from protocol.ids import TopicPartition

logger = logging.getLogger(__name__)


class EngineEventRelay:
    """The engine's ``EngineEvents``."""

    def __init__(
        self,
        session: ControllerSession,
        topic_configs: TopicConfigs,
        metrics: Metrics,
        move_throttles: MoveThrottles,
        coordinators: CoordinatorEvents,
        end_process: Callable[[], None],
    ) -> None:
        """Prepare.

        Args:
            session: is told of failed log dirs.
            topic_configs: is told of topics that are hosted for the first time.
            metrics: counts.
            move_throttles: are told when the last move ended.
            coordinators: are told what this broker leads of internal topics.
            end_process: called when no log dir is left.
        """
        self._session = session
        self._topic_configs = topic_configs
        self._metrics = metrics
        self._move_throttles = move_throttles
        self._coordinators = coordinators
        self._end_process = end_process

    def log_dir_failed(self, failed: FailedLogDir) -> None:
        """Heartbeat at once."""
        self._metrics.counters.log_dir_failures.add()
        self._metrics.log_dir(failed.path).offline.set(1)
        self._session.log_dir_failed(failed)

    def last_log_dir_failed(self, failed: FailedLogDir) -> None:
        """End the process: Kafka halts without telling the controller, and so do we."""
        self._metrics.counters.log_dir_failures.add()
        logger.error("the last log dir failed: %s: %s", failed.path, failed.cause)
        self._end_process()

    def topics_seen(self, topics: list[str]) -> None:
        """Fetch the settings of topics that have none here yet."""
        self._topic_configs.wanted(topics)

    def moves_ended(self) -> None:
        """Take the throttle of moves off."""
        self._move_throttles.moves_ended()

    def leads_internal(self, tp: TopicPartition, leader_epoch: int) -> None:
        """Have its coordinator loaded."""
        self._coordinators.leads_internal(tp, leader_epoch)

    def leads_internal_no_more(self, tp: TopicPartition) -> None:
        """Have it unloaded."""
        self._coordinators.leads_internal_no_more(tp)

    def partitions_deleted(self, tps: Sequence[TopicPartition]) -> None:
        """Have groups forget their offsets in them."""
        self._coordinators.partitions_deleted(tps)

    def isr_changed(self, tp: TopicPartition, old: Sequence[int], new: Sequence[int]) -> None:
        """Count; the engine has its own log line."""
        del tp
        if len(new) < len(old):
            self._metrics.counters.isr_shrinks.add()
        else:
            self._metrics.counters.isr_expands.add()
