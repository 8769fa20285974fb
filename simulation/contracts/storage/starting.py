"""What a broker promises of the logs that it finds when it starts, beside what it loads of each."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import NamedTuple

from broker.storage import startup
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLog, LoadedLogDir
from simulation.contracts.contract import Broken, of_function


class _Swapped(NamedTuple):
    """Both logs of a replica that a swap was cut at, each on its log dir."""

    source: str
    old: LoadedLog
    target: str
    promoted: LoadedLog

    @property
    def newer(self) -> LoadedLog:
        """The one that was written last; the swap's where nobody wrote after it."""
        return max((self.promoted, self.old), key=_end_of)


def _end_of(found: LoadedLog) -> tuple[int, int]:
    epoch = found.leader_epochs[-1][0] if found.leader_epochs else -1
    return epoch, found.log.log_end_offset


def _swapped(
    log_dirs: Mapping[str, LogDir], loaded: Mapping[str, LoadedLogDir]
) -> Iterator[_Swapped]:
    paths = {log_dir.disk.root: path for path, log_dir in log_dirs.items()}
    for target, found in loaded.items():
        for promoted in found.logs:
            source = paths.get(promoted.swap_note.source_root, "") if promoted.swap_note else ""
            for old in loaded[source].logs if source in loaded else ():
                if old.topic_partition == promoted.topic_partition and not old.is_future:
                    yield _Swapped(source, old, target, promoted)


@of_function(startup._finish_swaps)  # noqa: SLF001 -- a start goes through it
def finish_swaps(
    log_dirs: Mapping[str, LogDir], loaded: Mapping[str, LoadedLogDir]
) -> Generator[None, None, Broken]:
    """Of the two logs that a swap was cut at, the one that was written last stays alone."""
    swapped = list(_swapped(log_dirs, loaded))
    yield
    for one in swapped:
        if not (log_dirs[one.source].is_online and log_dirs[one.target].is_online):
            continue
        left = [
            log
            for path, log in ((one.source, one.old), (one.target, one.promoted))
            if any(each is log for each in loaded[path].logs)
        ]
        if [log.log for log in left] != [one.newer.log]:
            ends = (_end_of(one.old), _end_of(one.promoted))
            return f"{one.promoted.topic_partition} ended at {ends}, {len(left)} are left: {left}"
    return None
