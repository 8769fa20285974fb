"""The engine: runs the rules of the core on log dirs and peers. The only writer of broker state.

It speaks no wire protocol and knows no handler; each concern is a module of its own, put together
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from broker.core.hosted import ReturnedReplicas, ReturnRule
from broker.engine.control.failures import Failures
from broker.engine.control.leadership import Leadership
from broker.engine.control.loaded_log_dirs import LoadedLogDirs
from broker.engine.control.stopping import Stopping
from broker.engine.follow.follower import Following
from broker.engine.log.checkpoints import Checkpoints
from broker.engine.log.cleaning import Cleaning
from broker.engine.log.deletions import Deletions
from broker.engine.log.log_start_writes import LogStartWrites
from broker.engine.log.logs import Logs
from broker.engine.log.retention import Retention
from broker.engine.move.moves import Moves
from broker.engine.periodic import Periodic
from broker.engine.replica import Replica
from broker.engine.serve.describe import Describe
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.isr_reporter import IsrReporter, ReporterPorts
from broker.engine.serve.led_logs import LedLogs
from broker.engine.serve.offsets import Offsets
from broker.engine.serve.produce import Produces
from broker.engine.serve.record_deletion import RecordDeletions
from broker.engine.state import EngineState
from broker.engine.supervise import supervised
from broker.engine.types import (
    EngineGauges,
    EnginePorts,
)
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from protocol.configs.parsing import BrokerConfig
from protocol.errors import ErrorCode
from protocol.ids import BrokerId


class Engine:
    """All partitions of one broker.

    Order of calls: ``start`` once, ``run`` once, then anything; ``stop`` once at the end, when the
    task group of ``run`` has ended or still runs.
    """

    def __init__(
        self,
        *,
        broker_id: BrokerId,
        log_dirs: Sequence[LogDir],
        config: BrokerConfig,
        ports: EnginePorts,
    ) -> None:
        """Put the concerns together; ``on_failed`` of every log dir is the engine's from now on."""
        self.state = state = EngineState(
            broker_id=broker_id, log_dirs=log_dirs, config=config, ports=ports
        )
        self.checkpoints = Checkpoints(state)
        self._deletions = Deletions(state, self.checkpoints.log_gone)
        self.logs = Logs(
            state,
            on_truncated=self._on_truncated,
            checkpoint=self.checkpoints.write_at_once,
            before_new_log=self.checkpoints.before_new_log,
            write_log_starts=LogStartWrites(state, self.checkpoints.hosted_logs_of).ask,
        )
        self._reporter = IsrReporter(
            ReporterPorts(
                broker_id=broker_id,
                broker_epoch=ports.broker_epoch,
                send=ports.send_alter_partition,
                isr_changed=ports.events.isr_changed,
                now_ms=state.now_ms,
                lag_time_max_ms=lambda: state.lag_time_max_ms,
                refused_count=ports.counters.failed_isr_updates,
            )
        )
        self.following = Following(state, self.logs)
        self.moves = Moves(state, self.logs, self._deletions)
        self.loaded_log_dirs = LoadedLogDirs(state, self.logs, self._deletions, self.moves)
        self.failures = Failures(state, self.following, self.moves)
        self.stopping = Stopping(state, self.following, self.moves, self._deletions)
        self.leadership = Leadership(
            state, self.logs, self.following, self.moves, self.failures, self.stopping
        )
        self.produces = Produces(state)
        self.fetches = Fetches(state, self._reporter)
        self.offsets = Offsets(state, self.fetches)
        self.record_deletions = RecordDeletions(state, self.logs, self.fetches)
        self.led_logs = LedLogs(state)
        self.describe = Describe(state)
        retention = Retention(state, self.logs, self._deletions)
        self.periodic = Periodic(state, self.checkpoints, self._reporter, retention)
        self.cleaning = Cleaning(state, self._deletions, self.checkpoints)
        for log_dir in log_dirs:
            log_dir.on_failed = self.failures.on_log_dir_failed

    # Life.

    async def start(self, loaded: Mapping[str, LoadedLogDir]) -> None:
        """Take over what was found on disk, by log dir path; a log dir not in it is offline."""
        for path, found in loaded.items():
            self.loaded_log_dirs.take_over(self.state.log_dirs[path], found)
        self.loaded_log_dirs.note_missing(loaded)
        await self.cleaning.start()
        looks = [self.checkpoints.look_at_usage(one) for one in self.state.log_dirs.values()]
        # A disk that cannot say is offline by then; the others' answers are in.
        await asyncio.gather(*[look for look in looks if look is not None], return_exceptions=True)

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Start replication, moves, checkpoints and Isr reports in ``task_group``."""
        self.state.group = task_group
        self.following.run(task_group)
        self.moves.run(task_group)
        self.periodic.run(task_group)
        self.cleaning.run(task_group)
        task_group.create_task(supervised("isr-reporter", self._reporter.run))

    async def bring_back(
        self, log_dir: LogDir, found: LoadedLogDir, rule: ReturnRule
    ) -> ReturnedReplicas:
        """Put a log dir that was opened and loaded in the place of the offline one of its path.

        Its replicas wait for the controller: register again afterwards. Source: KIP-18.

        Raises:
            LogDirFailed: it failed again since it was loaded, and stays offline.
        """
        log_dir.on_failed = self.failures.on_log_dir_failed
        await self.cleaning.log_dir_returned(log_dir)
        returned = await self.loaded_log_dirs.bring_back(log_dir, found, rule)
        self.checkpoints.forget(log_dir.path)
        self.checkpoints.look_at_usage(log_dir)
        return returned

    async def stop(self) -> None:
        """Stop cleanly: answer all that wait, flush, checkpoint and mark every good log dir."""
        self.following.stop()
        self.moves.stop()
        self._deletions.stop()
        self.periodic.stop()
        self.cleaning.stop()
        for _, replica in self.state.hosted.iterate_online():
            replica.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await self.checkpoints.close()

    def _on_truncated(self, replica: Replica, offset: int) -> None:
        self.moves.on_truncated(replica, offset)
        self.state.cleaner_offsets.truncated(replica.log_dir, replica.tp, offset)

    def topic_configs_changed(self, topics: Sequence[str]) -> None:
        """Read ``ports.topic_config`` again for the hosted partitions of these topics."""
        wanted = frozenset(topics)
        for tp, replica in self.state.hosted.iterate_online():
            if tp.topic in wanted:
                replica.configure(self.state.ports.topic_config(tp.topic))

    def configure(self, config: BrokerConfig) -> None:
        """Take another configuration over at once: rates, cordons, the hosted topics' defaults.

        ``ports.topic_config`` must give the new defaults already.

        Raises:
            KafkaError: INVALID_CONFIG, ``cordoned.log.dirs`` names what is no log dir.
        """
        self.state.configure(config)
        for tp, replica in self.state.hosted.iterate_online():
            replica.configure(self.state.ports.topic_config(tp.topic))

    def gauges(self) -> EngineGauges:
        """Count partitions as Kafka's gauges do."""
        return self.describe.gauges(
            move_count=self.moves.active_count, failed_fetch_count=self.following.failed_count
        )
