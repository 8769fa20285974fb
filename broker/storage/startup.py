"""Opening and loading all log dirs of a broker side by side, and finishing swaps that a crash cut.

Which broker may own a dir is checked here; who serves the logs is the engine's.

Source: LogManager.scala (createAndValidateLogDirs, lockLogDirs, loadLogs),
MetaPropertiesEnsemble.verify.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from broker.core.log_dirs import LogDirFailed
from broker.storage.layout import (
    PARTITION_METADATA_FILE,
    delete_dir_name,
    parse_dir_name,
    stray_dir_name,
)
from broker.storage.log_dir import LogDir
from broker.storage.meta_properties import (
    META_PROPERTIES_FILE,
    MetaProperties,
    parse_meta_properties,
    render_meta_properties,
)
from broker.storage.recovery import (
    LoadedLog,
    LoadedLogDir,
    LoadProgress,
    StartupRefused,
    load_log_dir,
    write_loaded,
)
from broker.storage.segment import LogConfig
from broker.storage.swap import remove_swap_note
from protocol.ids import TopicPartition, uuid_text
from protocol.ports import Disk

_LOGGER = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who opens the log dirs."""

    broker_id: int
    cluster_id: str
    new_directory_id: Callable[[], bytes]
    """Gives a random uuid that ``is_usable_directory_id``; called on the dir's thread."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What loading needs to know."""

    configs: Callable[[str], LogConfig]
    """The configuration of a topic."""
    now_ms: int
    progress: Callable[[str, LoadProgress], None]
    """Called with a log dir's path, on that dir's thread."""


async def open_log_dirs(log_dirs: Sequence[LogDir], owner: Owner) -> None:
    """Make, lock and identify every log dir; those that cannot be are offline afterwards.

    Raises:
        StartupRefused: a dir is locked or belongs to another broker or cluster, or two have one id.
    """
    opening = [
        (log_dir, log_dir.queue.submit("open", _opener(log_dir.disk, owner), bounded=False))
        for log_dir in log_dirs
    ]
    for log_dir, opened in opening:
        directory_id = await _unless_failed(opened)
        if directory_id is not None:
            log_dir.directory_id = directory_id
    refuse_same_ids(log_dirs)


async def load_log_dirs(
    log_dirs: Sequence[LogDir], options: LoadOptions
) -> dict[str, LoadedLogDir]:
    """Load every online log dir, all at once; by path, without those that failed meanwhile.

    Raises:
        StartupRefused: see ``load_log_dir``; or two dirs hold a current log of one partition and no
            swap explains it.
    """
    loading = [
        (log_dir, log_dir.queue.submit("load", _loader(log_dir, options), bounded=False))
        for log_dir in log_dirs
        if log_dir.is_online
    ]
    loaded: dict[str, LoadedLogDir] = {}
    for log_dir, future in loading:
        found = await _unless_failed(future)
        if found is not None:
            loaded[log_dir.path] = found
    by_path = {log_dir.path: log_dir for log_dir in log_dirs}
    await _finish_swaps(by_path, loaded)
    await _drop_empty_twins(by_path, loaded)
    await _set_older_twins_aside(by_path, loaded)
    await _keep_newest_futures(by_path, loaded)
    loaded = {path: found for path, found in loaded.items() if by_path[path].is_online}
    _refuse_duplicates(loaded)
    return loaded


async def _unless_failed(future: asyncio.Future[T]) -> T | None:
    try:
        return await future
    except LogDirFailed as failed:
        _LOGGER.error("%s", failed)  # noqa: TRY400 -- the failure says all; a traceback adds nothing
        return None


async def _do(log_dir: LogDir, operation: str, job: Callable[[], T]) -> T | None:
    """Run one more job on a log dir that was loaded; None when that fails, or did before."""
    return await _unless_failed(log_dir.queue.submit(operation, job)) if log_dir.is_online else None


def _opener(disk: Disk, owner: Owner) -> Callable[[], bytes]:
    return lambda: open_log_dir(disk, owner)


def _loader(log_dir: LogDir, options: LoadOptions) -> Callable[[], LoadedLogDir]:
    def report(progress: LoadProgress) -> None:
        options.progress(log_dir.path, progress)

    def load() -> LoadedLogDir:
        loaded = load_log_dir(
            log_dir.queue.files, configs=options.configs, now_ms=options.now_ms, progress=report
        )
        for found in loaded.logs:
            if found.is_future:
                found.log.hand_over(log_dir.background_queue.files)
        return loaded

    return load


def open_log_dir(disk: Disk, owner: Owner) -> bytes:
    """Make, lock and identify one log dir, on its own thread; return its directory id.

    Raises:
        StartupRefused: it is locked, or belongs to another broker or cluster.
        OSError: the log dir is lost, a ``meta.properties`` that cannot be read included.
    """
    disk.prepare()
    try:
        disk.lock()
    except BlockingIOError as exc:
        raise StartupRefused(
            f"{disk.root} is in use: another broker holds its lock, or log.dirs names it twice"
        ) from exc
    known = _read_properties(disk)
    _refuse_other_owner(disk.root, known, owner)
    directory_id = known.directory_id or owner.new_directory_id()
    wanted = replace(
        known, node_id=owner.broker_id, cluster_id=owner.cluster_id, directory_id=directory_id
    )
    if wanted != known:
        disk.write_atomic(META_PROPERTIES_FILE, render_meta_properties(wanted))
    return directory_id


def _read_properties(disk: Disk) -> MetaProperties:
    try:
        return parse_meta_properties(disk.read_file(META_PROPERTIES_FILE))
    except FileNotFoundError:
        return MetaProperties()


def _refuse_other_owner(root: str, known: MetaProperties, owner: Owner) -> None:
    path = f"{root}/{META_PROPERTIES_FILE}"
    if known.node_id not in {None, owner.broker_id}:
        raise StartupRefused(
            f"Stored node id {known.node_id} doesn't match previous node id {owner.broker_id}: "
            f"{path} belongs to another broker; use its id or another log dir"
        )
    if known.cluster_id not in {None, owner.cluster_id}:
        raise StartupRefused(
            f"{path} belongs to the cluster {known.cluster_id}, this is {owner.cluster_id}"
        )


def refuse_same_ids(log_dirs: Sequence[LogDir]) -> None:
    """Look at the online ones.

    Raises:
        StartupRefused: two have one directory id.
    """
    paths: dict[bytes, str] = {}
    for log_dir in log_dirs:
        if not log_dir.is_online:
            continue
        other = paths.setdefault(log_dir.directory_id, log_dir.path)
        if other != log_dir.path:
            raise StartupRefused(
                f"{other} and {log_dir.path} have the same directory.id "
                f"{uuid_text(log_dir.directory_id)}: one is a copy; "
                f"remove its {META_PROPERTIES_FILE}"
            )


async def _finish_swaps(log_dirs: Mapping[str, LogDir], loaded: Mapping[str, LoadedLogDir]) -> None:
    """Finish every swap that was cut behind its first rename, as far as both dirs are online."""
    paths = {log_dir.disk.root: path for path, log_dir in log_dirs.items()}
    for path, found in loaded.items():
        for promoted in [log for log in found.logs if log.swap_note is not None]:
            note = promoted.swap_note
            assert note is not None
            source_path = paths.get(note.source_root, "")
            source = loaded.get(source_path)
            if source is None:
                continue  # That dir is offline: the note stays until both can be seen.
            old = _find_current(source, promoted.topic_partition)
            if old is None:
                promoted.is_left_over = True
                await _drop_note(log_dirs[path], promoted)
            elif _is_newer(old, promoted):
                await _retire(log_dirs[path], found, promoted, note.delete_name)
            else:
                await _retire(log_dirs[source_path], source, old, note.delete_name)
                if log_dirs[source_path].is_online:
                    await _drop_note(log_dirs[path], promoted)


def _find_current(loaded: LoadedLogDir, topic_partition: TopicPartition) -> LoadedLog | None:
    for log in loaded.logs:
        if log.topic_partition == topic_partition and not log.is_future:
            return log
    return None


def _is_newer(old: LoadedLog, promoted: LoadedLog) -> bool:
    """Tell whether the old log was written after the swap was cut.

    The promoted one's dir was away then.
    """
    return _latest(old) > _latest(promoted)


def _latest(loaded: LoadedLog) -> tuple[int, int]:
    epoch = loaded.leader_epochs[-1][0] if loaded.leader_epochs else -1
    return epoch, loaded.log.log_end_offset


async def _retire(
    log_dir: LogDir, loaded: LoadedLogDir, losing: LoadedLog, delete_name: str
) -> None:
    """Set a log aside for deletion; the one that stays is elsewhere."""
    log = losing.log
    _LOGGER.warning("%s/%s -> %s: another log stays", log_dir.path, log.name, delete_name)
    loaded.logs.remove(losing)
    left = replace(loaded, logs=list(loaded.logs))

    def retire() -> None:
        log.rename(delete_name)
        write_loaded(log_dir.disk, left)

    await _do(log_dir, "set aside", retire)
    loaded.to_delete.append(delete_name)


async def _drop_note(log_dir: LogDir, promoted: LoadedLog) -> None:
    files, name = log_dir.queue.files, promoted.log.name
    await _do(log_dir, "finish swap", lambda: remove_swap_note(files, name))
    promoted.swap_note = None


async def _drop_empty_twins(
    log_dirs: Mapping[str, LogDir], loaded: Mapping[str, LoadedLogDir]
) -> None:
    """Remove logs without a record whose partition has another log of the same topic.

    A log dir that broke while it made a log leaves one; the log was then made in the next dir.
    """
    for twins in _twins(loaded):
        for path, log in twins[::-1]:  # The first one stays when all are empty.
            others = [twin for _, twin in twins if twin is not log]
            if others and all(_is_empty_twin(log, other) for other in others):
                twins.remove((path, log))
                await _remove(log_dirs[path], loaded[path], log)


def _twins(
    loaded: Mapping[str, LoadedLogDir], *, are_future: bool = False
) -> list[list[tuple[str, LoadedLog]]]:
    """Return the logs of each partition that has several of a kind, with their dirs."""
    places: dict[TopicPartition, list[tuple[str, LoadedLog]]] = {}
    for path, found in loaded.items():
        for log in found.logs:
            if log.is_future is are_future:
                places.setdefault(log.topic_partition, []).append((path, log))
    return [twins for twins in places.values() if len(twins) > 1]


async def _set_older_twins_aside(
    log_dirs: Mapping[str, LogDir], loaded: Mapping[str, LoadedLogDir]
) -> None:
    """Let the log with the latest leader epoch, and in that the highest end, be a partition's.

    While a log dir is away, a replica that is added is made in another one: then both have a log of
    the same topic. The one in use went on from the leader's, so it has all that is committed of the
    other one. Nothing is deleted.
    """
    for twins in _twins(loaded):
        topic_ids = {log.topic_id for _, log in twins}
        if len(topic_ids) > 1 or None in topic_ids:
            continue  # Only the controller knows which topic it is.
        latest = max(twins, key=lambda twin: _latest(twin[1]))
        for path, log in twins:
            if log is not latest[1]:
                await _set_aside(log_dirs[path], loaded[path], log)


async def _set_aside(log_dir: LogDir, loaded: LoadedLogDir, older: LoadedLog) -> None:
    log, number = older.log, int.from_bytes(log_dir.directory_id)
    names = (stray_dir_name(older.topic_partition, f"{number ^ n:032x}") for n in count())
    loaded.logs.remove(older)
    left = replace(loaded, logs=list(loaded.logs))

    def set_aside() -> str:
        name = next(each for each in names if not log_dir.disk.exists(each))
        log.rename(name)
        write_loaded(log_dir.disk, left)
        return name

    before = f"{log_dir.path}/{log.name}"
    name = await _do(log_dir, "set aside", set_aside)
    if name is not None:
        _LOGGER.warning("%s -> %s: another log dir has a later log of it", before, name)
        loaded.strays.append(name)


def _is_empty_twin(log: LoadedLog, other: LoadedLog) -> bool:
    is_unwritten = log.log.size_bytes == 0 and log.log.log_end_offset == 0
    return is_unwritten and log.topic_id in {None, other.topic_id}


async def _remove(log_dir: LogDir, loaded: LoadedLogDir, empty: LoadedLog) -> None:
    _LOGGER.warning("%s/%s: removed, empty and twice there", log_dir.path, empty.log.name)
    loaded.logs.remove(empty)
    left = replace(loaded, logs=list(loaded.logs))

    def remove() -> None:
        empty.log.delete_files()
        write_loaded(log_dir.disk, left)

    await _do(log_dir, "remove empty log", remove)


async def _keep_newest_futures(
    log_dirs: Mapping[str, LogDir], loaded: Mapping[str, LoadedLogDir]
) -> None:
    """Let a move that got another destination go on to that one alone.

    Its first future log is still there when a crash came before that was set aside, or when its log
    dir was away. What it holds is in the current log.
    """
    for futures in _twins(loaded, are_future=True):
        tp = futures[0][1].topic_partition
        made_ms = [await _made_ms(log_dirs[path], future) for path, future in futures]
        newest = made_ms.index(max(made_ms))
        for path, future in [*futures[:newest], *futures[newest + 1 :]]:
            name = delete_dir_name(tp, parse_dir_name(future.log.name).unique)
            await _retire(log_dirs[path], loaded[path], future, name)


async def _made_ms(log_dir: LogDir, future: LoadedLog) -> int:
    """Return when a future log was made, by a file that is written then; 0 when it does not say."""
    name = f"{future.log.name}/{PARTITION_METADATA_FILE}"

    def look() -> int:
        return log_dir.disk.modified_ms(name) if log_dir.disk.exists(name) else 0

    return await _do(log_dir, "look at future log", look) or 0


def _refuse_duplicates(loaded: Mapping[str, LoadedLogDir]) -> None:
    seen: dict[tuple[TopicPartition, bool], str] = {}
    for path, found in loaded.items():
        for log in found.logs:
            own = f"{path}/{log.log.name}"
            other = seen.setdefault((log.topic_partition, log.is_future), own)
            if other != own:
                raise StartupRefused(
                    f"two logs of {log.topic_partition}: {other} and {own}; remove one, "
                    "best the one in the dir that failed last"
                )
