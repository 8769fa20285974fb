"""What a broker holds at one moment, for the control endpoint: log dirs, queues, replicas' offsets.

Everything of one answer is of the same moment, so that it can be compared. It asks no disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.storage.log_dir import LogDir
from protocol.ids import TopicPartition, uuid_text


def holdings(state: EngineState) -> Mapping[str, Any]:
    """Return log dirs and current logs, online and offline ones, as JSON has them."""
    return {
        "log_dirs": [
            {**_log_dir(path, log_dir), "is_cordoned": state.log_dir_states.is_cordoned(path)}
            for path, log_dir in state.log_dirs.items()
        ],
        "tail_bytes": state.tails.size_bytes,
        "tail_bytes_max": state.tails.total_bytes_max,
        "replicas": [_online(tp, replica) for tp, replica in state.hosted.iterate_online()],
        "offline_replicas": list(_offline(state)),
    }


def _log_dir(path: str, log_dir: LogDir) -> Mapping[str, Any]:
    return {
        "path": path,
        "is_online": log_dir.is_online or log_dir.is_closed,
        "queue_depth": log_dir.queue.queue_depth,
        "queue_depth_max": log_dir.queue.queue_depth_max,
        "queued_bytes": log_dir.queue.queued_bytes,
    }


def _online(tp: TopicPartition, replica: Replica) -> Mapping[str, Any]:
    partition = replica.partition
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "topic_id": uuid_text(replica.topic_id),
        "log_dir": replica.log_dir,
        "future_log_dir": replica.future_log_dir,
        "role": replica.role.name.lower(),
        "leader_epoch": partition.leader_epoch,
        "isr": list(partition.isr.isr) if partition.is_leader else [],
        "log_start_offset": partition.log_start_offset,
        "log_end_offset": partition.log_end_offset,
        "high_watermark": partition.high_watermark,
    }


def _offline(state: EngineState) -> Iterator[Mapping[str, Any]]:
    for tp, replica in state.hosted.iterate_offline():
        yield {
            "topic": tp.topic,
            "partition": tp.partition,
            "topic_id": uuid_text(replica.topic_id),
            "log_dir": replica.log_dir,
        }
