"""Takes in what was found on log dirs: at the start of the process, or when one came back.

It opens and loads nothing. Source: LogManager.scala loadLogs; KIP-18 for the return at run time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial

from broker.core.hosted import HostedState, ReturnedReplicas, ReturnRule
from broker.core.leader_epochs import LeaderEpochs
from broker.core.partition import Partition
from broker.core.replication_quota import UNLIMITED
from broker.engine.hosted_log import HostedLog
from broker.engine.log.deletions import Deletions
from broker.engine.log.logs import Logs
from broker.engine.move.moves import Moves
from broker.engine.state import EngineState
from broker.storage.layout import delete_dir_name, stray_dir_name
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLog, LoadedLogDir
from protocol.ids import ZERO_UUID, TopicPartition, listed

logger = logging.getLogger(__name__)


class LoadedLogDirs:
    """Gives found logs to the engine."""

    def __init__(self, state: EngineState, logs: Logs, deletions: Deletions, moves: Moves) -> None:
        self._state = state
        self._logs = logs
        self._deletions = deletions
        self._moves = moves

    def take_over(self, log_dir: LogDir, found: LoadedLogDir) -> None:
        """Take over what was found at the start of the process."""
        for log in found.logs:
            self._state.log_dir_states.count_log(log_dir.path)
            if log.is_future:
                self._keep_orphan(log_dir, log)
            else:
                self._state.hosted.put_idle(log.topic_partition, self._idle(log_dir, log))
                if log.is_left_over:
                    self._state.left_over[log.topic_partition] = None
        self._schedule_deletions(log_dir, found)

    def note_missing(self, loaded: Mapping[str, LoadedLogDir]) -> None:
        """Make those replicas Offline whose logs were taken away while no broker ran.

        Call it when everything found was taken over. While a log dir is offline they may lie there.
        """
        state = self._state
        if state.log_dir_states.any_offline:
            return
        for path, found in loaded.items():
            missing = [tp for tp in found.missing if state.hosted.idle_replica(tp) is None]
            for tp in missing:
                state.hosted.put_lost(tp, path)
                state.log_dir_states.prefer(tp, path, is_ordered=False)
            if missing:
                logger.error(
                    "log dir %s: the logs of %d replicas are gone that its checkpoints name: %s; "
                    "each begins anew once another broker has it in sync, or its loss is accepted",
                    path,
                    len(missing),
                    listed(missing),
                )

    async def bring_back(
        self, log_dir: LogDir, found: LoadedLogDir, rule: ReturnRule
    ) -> ReturnedReplicas:
        """Put ``log_dir`` in the place of the offline one with its path.

        Its replicas wait for a LeaderAndIsr: register again afterwards. Whether other log dirs are
        offline and this one was unread is seen here, whatever the rule says.

        Raises:
            LogDirFailed: it failed again since it was loaded, and stays offline.
        """
        return await self._state.shielded(partial(self._bring_back, log_dir, found, rule))

    async def _bring_back(
        self, log_dir: LogDir, found: LoadedLogDir, rule: ReturnRule
    ) -> ReturnedReplicas:
        state, path = self._state, log_dir.path
        async with state.control_turn:
            if log_dir.failure is not None:
                raise log_dir.failure
            state.log_dirs[path] = log_dir
            is_unread = state.log_dir_states.is_unread(path)
            state.log_dir_states.revive(path)
            current = {log.topic_partition: log for log in found.logs if not log.is_future}
            replaced = self._replaced(path)
            returned = state.hosted.on_log_dir_returned(
                path,
                {tp: self._idle(log_dir, log) for tp, log in current.items() if tp not in replaced},
                rule._replace(is_last=not state.log_dir_states.any_offline, is_unread=is_unread),
            )
            left = [tp for tp in replaced if tp in current]
            returned = returned._replace(strays=(*returned.strays, *left))
            for _ in range(len(current) - len(returned.strays)):
                state.log_dir_states.count_log(path)
            for tp in returned.belonging:
                state.log_dir_states.prefer(tp, path, is_ordered=False)
            if rule.rate_bytes_per_second < UNLIMITED:
                state.rebuilds.begin(path, returned.lost, rule.rate_bytes_per_second)
            for tp in returned.strays:
                self._set_aside(log_dir, current[tp])
            self._resume_moves(log_dir, found)
            self._schedule_deletions(log_dir, found)
        logger.info(
            "log dir %s: offline -> online: %d replicas found, %d lost, %d strays",
            path,
            len(returned.found),
            len(returned.lost),
            len(returned.strays),
        )
        return returned

    async def release(
        self, tps: Sequence[TopicPartition], *, accepts_loss: bool = False
    ) -> ReturnedReplicas:
        """Let partitions that were left out of the return of their log dir come back as well.

        With ``accepts_loss`` those that are lost may begin empty, whoever else has them.
        """
        hosted = self._state.hosted
        async with self._state.control_turn:
            lost = hosted.accept_loss(tps) if accepts_loss else ()
            return ReturnedReplicas(hosted.release(tps), lost, ())

    def _idle(self, log_dir: LogDir, found: LoadedLog) -> HostedLog[Partition]:
        state = self._state
        partition = Partition(found.topic_partition, state.broker_id, state.metadata.is_alive)
        found.producers.expire(state.wall_ms(), state.config.producer_id_expiration_ms)
        partition.load(
            log_start_offset=found.log.log_start_offset,
            log_end_offset=found.log.log_end_offset,
            high_watermark=found.high_watermark,
            epochs=LeaderEpochs(found.leader_epochs),
            producers=found.producers,
        )
        return self._logs.current(found.log, log_dir, partition, found.topic_id or ZERO_UUID)

    def _keep_orphan(self, log_dir: LogDir, found: LoadedLog) -> None:
        future = self._logs.found_future(found, log_dir)
        self._state.orphan_future_logs[found.topic_partition] = future

    def _resume_moves(self, log_dir: LogDir, found: LoadedLogDir) -> None:
        """Go on with the moves whose destination was away; others wait for their current log."""
        for log in found.logs:
            if not log.is_future:
                continue
            replica = self._state.hosted.online_replica(log.topic_partition)
            if self._is_nobodys(log.topic_partition):
                self._set_aside(log_dir, log)
                continue
            self._state.log_dir_states.count_log(log_dir.path)
            self._keep_orphan(log_dir, log)
            if replica is not None:
                self._moves.on_leader_epoch(replica)

    def _is_nobodys(self, tp: TopicPartition) -> bool:
        """Tell whether a replica moves elsewhere by now, or was deleted while this was away.

        While its log dir is offline, the move that it will go on with is a future log elsewhere.
        """
        hosted = self._state.hosted
        if tp in self._state.orphan_future_logs:
            return True
        replica = hosted.online_replica(tp)
        if replica is not None:
            return replica.future is not None
        return hosted.view(tp).state is HostedState.ABSENT and hosted.idle_replica(tp) is None

    def _replaced(self, path: str) -> dict[TopicPartition, None]:
        """Return whose logs a log dir failed with that a move had replaced: they are old.

        What was written since is in the one that took their place, also while that is away.
        """
        unretired = self._state.unretired
        replaced = {tp: None for tp, where in unretired.items() if where == path}
        for tp in replaced:
            del unretired[tp]
        return replaced

    def _set_aside(self, log_dir: LogDir, found: LoadedLog) -> None:
        """Rename a log that is nobody's; the next start leaves it alone, or removes an empty one.

        That was made just as its log dir failed.
        """
        tp, unique = found.topic_partition, self._state.unique()
        is_empty = found.log.log_end_offset == 0 and not found.leader_epochs
        name = delete_dir_name(tp, unique) if is_empty else stray_dir_name(tp, unique)
        logger.warning("%s/%s -> %s: it is no replica's", log_dir.path, found.log.name, name)
        log_dir.queue.submit_quietly("set stray aside", partial(found.log.rename, name))
        if is_empty:
            delay_ms = self._state.config.log_segment_delete_delay_ms
            self._deletions.renamed(tp, found.log, log_dir.queue, delay_ms)
        else:
            self._deletions.on_gone(log_dir.path, tp)

    def _schedule_deletions(self, log_dir: LogDir, found: LoadedLogDir) -> None:
        delay_ms = self._state.config.log_segment_delete_delay_ms
        for name in found.to_delete:
            remove = partial(log_dir.disk.remove_tree, name)
            self._deletions.schedule(log_dir.queue, remove, delay_ms)
