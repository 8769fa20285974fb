"""What a broker promises of its log dirs: which of them work, and where a new log goes.

Source: LogManager.scala, KIP-112, KIP-1066.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from broker.core.log_dirs import LogDirStates
from protocol.errors import KafkaError
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_method


@of_method(LogDirStates, "place")
def place(log_dirs: LogDirStates, tp: TopicPartition) -> Generator[None, str, Broken]:
    """A new log goes where it was wished, else to the emptiest log dir that takes new ones."""
    wished, online = log_dirs.preferred(tp), log_dirs.online_paths
    counts = {path: log_dirs.log_count(path) for path in log_dirs.configured}
    try:
        path = yield
    except KafkaError:
        is_right = not online or (wished is not None and wished not in online)
        return None if is_right else f"{tp} is placed nowhere, online are {online}, wished {wished}"
    if path not in online or (wished is not None and path != wished):
        return f"{tp} goes to {path}, online are {online}, wished {wished}"
    if wished is None:
        free = [one for one in online if not log_dirs.is_cordoned(one)]
        fewest = min((counts[one] for one in free), default=0)
        best = [one for one in free if counts[one] == fewest] or online
        if path != best[0]:
            return f"{tp} goes to {path}, not {best[0]}: {counts}, not cordoned are {free}"
    counts[path] += 1
    after = {one: log_dirs.log_count(one) for one in log_dirs.configured}
    return None if after == counts else f"logs are counted as {after}, not {counts}"


@of_method(LogDirStates, "fail")
def fail(
    log_dirs: LogDirStates, path: str, *, has_unnamed: bool = False
) -> Generator[None, bool, Broken]:
    """A log dir fails once, and the others go on."""
    online, was_unread = log_dirs.online_paths, log_dirs.is_unread(path)
    is_first = yield
    if is_first is not (path in online):
        return f"{path} fails, online were {online}: {is_first}"
    if log_dirs.online_paths != tuple(one for one in online if one != path):
        return f"{path} fails, online were {online} and are {log_dirs.online_paths}"
    is_unread = was_unread or (is_first and has_unnamed)
    if log_dirs.is_unread(path) is not is_unread:
        return f"logs that nobody knows of lie in {path}: {log_dirs.is_unread(path)}"
    return None


@of_method(LogDirStates, "revive")
def revive(log_dirs: LogDirStates, path: str) -> Generator[None, None, Broken]:
    """A log dir that comes back is online again in its place, with no log counted."""
    online = {*log_dirs.online_paths, path}
    yield
    if log_dirs.online_paths != tuple(one for one in log_dirs.configured if one in online):
        return f"{path} comes back, online are {log_dirs.online_paths}"
    if log_dirs.log_count(path) or log_dirs.is_unread(path):
        return f"{path} comes back with {log_dirs.log_count(path)} logs, read: see {log_dirs}"
    return None


@of_method(LogDirStates, "cordon")
def cordon(log_dirs: LogDirStates, paths: Sequence[str]) -> Generator[None, None, Broken]:
    """Exactly those named are cordoned; ``*`` names all; a wrong name changes nothing."""
    before = {path for path in log_dirs.configured if log_dirs.is_cordoned(path)}
    wanted = set(log_dirs.configured) if list(paths) == ["*"] else set(paths)
    try:
        yield
    except KafkaError:
        wanted = before if wanted - set(log_dirs.configured) else {"a refusal"}
    after = {path for path in log_dirs.configured if log_dirs.is_cordoned(path)}
    return None if after == wanted else f"{sorted(after)} are cordoned, not {sorted(wanted)}"


@of_method(LogDirStates, "forget_preference")
def forget_preference(log_dirs: LogDirStates, tp: TopicPartition) -> Generator[None, bool, Broken]:
    """A wish is forgotten once, and an order is carried out only where there was a wish."""
    wished = log_dirs.preferred(tp)
    is_order = yield
    if log_dirs.preferred(tp) is not None or (is_order and wished is None):
        return f"{tp} was wished in {wished}, is in {log_dirs.preferred(tp)}, an order: {is_order}"
    return None
