"""What Kafka's tools printed, recorded and ours, in one form that can be compared.

Left out: where the data lies, uuids, Java's stack, and orders that Java takes from hash maps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_DESCRIBED = '{"brokers"'
_PARTITION_LIST = re.compile(r"(?<=for partitions ).*")
_STACK = re.compile(r"\s+(at |\.\.\. \d+ more)")
_TOPIC_ID = re.compile(r"(?<=TopicId: )\S+")
_CONFIGS = re.compile(r"(?<=Configs: ).*")


def comparable(lines: Sequence[str], data: Path | None = None) -> list[str]:
    """Return the lines in their normal form; ``data`` is the folder that is ``DATA`` elsewhere."""
    text = "\n".join(as_recorded(lines, data))
    text = _PARTITION_LIST.sub(lambda found: _sorted(found[0], ", "), text)
    text = _CONFIGS.sub(lambda found: _sorted(found[0], ","), text)
    return [_line(line) for line in text.split("\n")]


def as_recorded(lines: Sequence[str], data: Path | None = None) -> list[str]:
    """Return the lines as a transcript has them: no stack, no ids, ``DATA`` for that folder."""
    text = "\n".join(line for line in lines if not _STACK.match(line)).rstrip("\n")
    if data is not None:
        text = text.replace(str(data), "DATA")
    return _TOPIC_ID.sub("ID", text).split("\n")


def future_replicas(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return size and lag of every future replica that kafka-log-dirs printed."""
    return [
        (one["size"], one["offsetLag"])
        for line in lines
        if line.startswith(_DESCRIBED)
        for log_dir in _log_dirs(json.loads(line))
        for one in log_dir["partitions"]
        if one["isFuture"]
    ]


def _line(line: str) -> str:
    return json.dumps(_ordered(json.loads(line))) if line.startswith(_DESCRIBED) else line


def _ordered(document: dict[str, Any]) -> dict[str, Any]:
    """Sort, and leave out how far moves are: that depends on when the tool asked."""
    for log_dir in _log_dirs(document):
        partitions: list[dict[str, Any]] = log_dir["partitions"]
        for one in partitions:
            if one["isFuture"]:
                one["size"] = one["offsetLag"] = None
        partitions.sort(key=lambda one: (one["partition"], one["isFuture"]))
    for broker in document["brokers"]:
        log_dirs: list[dict[str, Any]] = broker["logDirs"]
        log_dirs.sort(key=lambda log_dir: log_dir["logDir"])
    return document


def _log_dirs(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [log_dir for broker in document["brokers"] for log_dir in broker["logDirs"]]


def _sorted(text: str, separator: str) -> str:
    return separator.join(sorted(text.split(separator)))
