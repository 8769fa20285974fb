"""What a broker promises of the replicas that its next start has to know of.

A log that is gone leaves no trace but in the checkpoints. Source: KAFKA-6604; KIP-18.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping

from broker.engine.control.loaded_log_dirs import LoadedLogDirs
from broker.engine.log.checkpoints import Checkpoints
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_method


@of_method(Checkpoints, "high_watermarks_of")
def high_watermarks_of(
    checkpoints: Checkpoints, log_dir: LogDir
) -> Generator[None, dict[TopicPartition, int], Broken]:
    """Every log of a log dir is written down, and every replica that is lost there."""
    told = yield
    state = checkpoints._state  # noqa: SLF001 -- nothing public has it
    wanted = {
        tp: 0
        for tp, offline in state.hosted.iterate_offline()
        if offline.loss is not None and offline.log_dir == log_dir.path
    }
    for tp, log, _ in state.iterate_logs():
        if log.dir is log_dir:
            wanted[tp] = log.positions.high_watermark
    return None if told == wanted else f"{log_dir.path} has {wanted}, {told} is written"


@of_method(LoadedLogDirs, "note_missing")
def note_missing(
    loaded_log_dirs: LoadedLogDirs, loaded: Mapping[str, LoadedLogDir]
) -> Generator[None, None, Broken]:
    """A replica is lost when its checkpoints name it and no log dir has it, and only then."""
    state = loaded_log_dirs._state  # noqa: SLF001 -- nothing public has it
    named = {tp: None for found in loaded.values() for tp in found.missing}
    here = {tp: None for tp, _ in state.hosted.iterate_idle()}
    is_known = not state.log_dir_states.any_offline
    yield
    lost = {tp: None for tp, offline in state.hosted.iterate_offline() if offline.loss is not None}
    wanted = [tp for tp in named if tp not in here] if is_known else []
    if sorted(lost) != sorted(wanted):
        return f"{list(named)} are named, {list(here)} were found, lost are {list(lost)}"
    return None
