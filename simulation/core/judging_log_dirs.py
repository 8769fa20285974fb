"""Whether what a condition says of log dirs, replicas in them and files holds. Asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from protocol.ids import TopicPartition
from simulation.core.conditions import FileIn, FutureReplica, LogDirIs, ReplicaIn
from simulation.core.judgement import Judgement, ObservationPair, is_between
from simulation.core.observation import ObservedLogDir
from simulation.core.references import broker_meant, log_dir_meant, partitions_meant


def _log_dir(condition: LogDirIs, pair: ObservationPair) -> Judgement:
    name, seen = _log_dir_seen(condition.broker, condition.log_dir, pair)
    if seen is None:
        return Judgement(holds=None, says=f"nobody tells of {name}")
    states = ["online" if seen.error == "NONE" else "offline"]
    if seen.is_cordoned:
        states.append("cordoned")
    words = " and ".join(states) + (f" ({seen.error})" if seen.error != "NONE" else "")
    return Judgement(condition.state in states, f"{name} is {words}")


def _log_dir_seen(
    broker: str, ref: str, pair: ObservationPair
) -> tuple[str, ObservedLogDir | None]:
    owner = broker_meant(broker, pair.now)
    if owner is None:
        return f"a log dir of the {broker}", None
    name = log_dir_meant(ref, owner, pair.now)
    if name is None:
        return f"the log dir {ref} on broker-{owner}", None
    return f"{name} of broker-{owner}", pair.now.log_dirs.get((owner, name))


def _replica_in(condition: ReplicaIn, pair: ObservationPair) -> Judgement:
    return _replica(condition, pair, "current replica", lambda log_dir: log_dir.replicas)


def _future_replica(condition: FutureReplica, pair: ObservationPair) -> Judgement:
    found = _replica(condition, pair, "future replica", lambda log_dir: log_dir.futures)
    if not found.holds:
        return found
    broker = broker_meant(condition.broker, pair.now)
    meant = partitions_meant(condition.of, pair.partitions)
    lags = [
        log_dir.futures[partition].offset_lag
        for (owner, _), log_dir in pair.now.log_dirs.items()
        for partition in meant
        if owner == broker and partition in log_dir.futures
    ]
    bounds = condition.lag, condition.lag_at_least, condition.lag_at_most
    holds = all(is_between(lag, *bounds) for lag in lags)
    return Judgement(holds, f"{found.says} with a lag of {', '.join(map(str, lags))}")


def _replica(
    condition: ReplicaIn | FutureReplica,
    pair: ObservationPair,
    kind: str,
    replicas: Callable[[ObservedLogDir], Mapping[TopicPartition, Any]],
) -> Judgement:
    broker = broker_meant(condition.broker, pair.now)
    if all(owner != broker for owner, _ in pair.now.log_dirs):
        return Judgement(holds=None, says=f"nobody tells of the log dirs of {condition.broker}")
    meant = partitions_meant(condition.of, pair.partitions)
    words = f"there is no partition of {condition.of}"
    for partition in meant:
        found = [
            name
            for (owner, name), log_dir in pair.now.log_dirs.items()
            if owner == broker and partition in replicas(log_dir)
        ]
        where = f"in {', '.join(found)}" if found else "nowhere"
        words = f"the {kind} of {partition} on {condition.broker} is {where}"
        if not found or condition.log_dir not in {None, *found}:
            return Judgement(holds=False, says=words)
    return Judgement(bool(meant), words)


def _file(condition: FileIn, pair: ObservationPair) -> Judgement:
    owner = broker_meant(condition.broker, pair.now)
    name = None if owner is None else log_dir_meant(condition.log_dir, owner, pair.now)
    place = f"{condition.log_dir} of {condition.broker}"
    files = pair.now.files.get((owner or 0, name or ""))
    if files is None:
        return Judgement(holds=None, says=f"nobody tells what is in {place}")
    found = [each for each in files if fnmatchcase(each, condition.name)]
    if not found:
        return Judgement(holds=False, says=f"{place} holds no {condition.name}")
    told = ", ".join(found)
    if condition.text is None:
        return Judgement(holds=True, says=f"{place} holds {told}")
    holds = any(condition.text in files[each] for each in found)
    reads = "reads" if holds else "does not read"
    return Judgement(holds, f"{told} in {place} {reads} {condition.text!r}")


# Any: each function takes the class of its row, beyond what a type can say.
LOG_DIR_JUDGES: Final[dict[type, Callable[[Any, ObservationPair], Judgement]]] = {
    LogDirIs: _log_dir,
    ReplicaIn: _replica_in,
    FutureReplica: _future_replica,
    FileIn: _file,
}
"""By the class of the condition."""
