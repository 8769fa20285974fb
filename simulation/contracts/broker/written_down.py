"""What a broker promises of the replicas that its next start has to know of.

A log that is gone leaves no trace but in the checkpoints. Source: KAFKA-6604; KIP-18.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Final

from broker.engine.control.loaded_log_dirs import LoadedLogDirs
from broker.engine.log.checkpoints import Checkpoints
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_method

_WRITING: Final = "write checkpoints"


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


@of_method(Checkpoints, "write_at_once")
def write_at_once(checkpoints: Checkpoints, log_dir: LogDir) -> Generator[None, None, Broken]:
    """A recovery point that fell is written down before anything is appended behind it."""
    yield
    queue = log_dir.queue
    waiting = (getattr(each, "operation", "") for each in queue._queue)  # noqa: SLF001 -- as above
    begun = (operation for operation, _, _ in queue._running)  # noqa: SLF001 -- as above
    is_due = _WRITING in (*waiting, *begun)
    return None if is_due or not log_dir.is_online else f"nothing is written of {log_dir.path}"


@of_method(Checkpoints, "write_high_watermarks")
def write_high_watermarks(checkpoints: Checkpoints) -> Generator[None, None, Broken]:
    """What has left a log dir is written down as gone by the next look.

    A start would take it for lost.
    """
    busy = list(checkpoints._changed)  # noqa: SLF001 -- as above
    yield
    log_dirs = checkpoints._state.log_dirs  # noqa: SLF001 -- as above
    for path, gone in checkpoints._gone.items():  # noqa: SLF001 -- as above
        left = [str(tp) for tp, by in gone.items() if by is None]
        if left and path not in busy and log_dirs[path].is_online:
            return f"{path} names {left} still, which have left"
    return None
