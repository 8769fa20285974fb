"""The JSON of ``kafka-log-dirs``, and the lists in its options.

Source: LogDirsCommand.java formatAsJson.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jbodlab.kafka_tools.core.failures import java_class, whole_number
from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.errors import ErrorCode


def brokers_document(
    log_dirs: Mapping[int, Sequence[LogDirView]], topics: Collection[str]
) -> dict[str, Any]:
    """Return the document about some brokers' log dirs.

    Args:
        log_dirs: by broker.
        topics: those whose partitions are listed; empty for all.
    """
    brokers = [
        {"broker": broker, "logDirs": [_log_dir(one, topics) for one in views]}
        for broker, views in sorted(log_dirs.items())
    ]
    return {"brokers": brokers, "version": 1}


def compact_json(document: Any) -> str:
    """Return JSON in one line without blanks."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def items(text: str) -> list[str]:
    """Return the items of a comma-separated list, each once, without empty ones."""
    return list(dict.fromkeys(item for item in text.split(",") if item))


def numbers(text: str) -> list[int]:
    """Return the numbers of a comma-separated list, sorted, each once.

    Raises:
        ToolFailure: an item is no number.
    """
    return sorted(dict.fromkeys(whole_number(item) for item in items(text)))


def _log_dir(view: LogDirView, topics: Collection[str]) -> dict[str, Any]:
    listed = [each for each in view.replicas if not topics or each.topic in topics]
    return {
        "partitions": [_replica(each) for each in sorted(listed, key=lambda each: each.tp)],
        "error": None if view.is_online else java_class(ErrorCode(view.error_code)),
        "logDir": view.path,
    }


def _replica(replica: ReplicaView) -> dict[str, Any]:
    return {
        "partition": str(replica.tp),
        "size": replica.size_bytes,
        "offsetLag": replica.offset_lag,
        "isFuture": replica.is_future,
    }
