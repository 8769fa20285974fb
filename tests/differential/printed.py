"""What Kafka's tools printed, recorded and ours, in one form that can be compared.

Left out: where the data lies, uuids, Java's stack, and orders that Java takes from hash maps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

_PARTITION_LIST = re.compile(r"(?<=for partitions ).*")
_STACK = re.compile(r"\s+(at |\.\.\. \d+ more)")
_TOPIC_ID = re.compile(r"(?<=TopicId: )\S+")
_CONFIGS = re.compile(r"(?<=Configs: ).*")


def comparable(lines: Sequence[str], data: Path | None = None) -> list[str]:
    """Return the lines in their normal form; ``data`` is the folder that is ``DATA`` elsewhere."""
    text = "\n".join(line for line in lines if not _STACK.match(line)).rstrip("\n")
    if data is not None:
        text = text.replace(str(data), "DATA")
    text = _TOPIC_ID.sub("ID", text)
    text = _PARTITION_LIST.sub(lambda found: _sorted(found[0], ", "), text)
    text = _CONFIGS.sub(lambda found: _sorted(found[0], ","), text)
    return [_line(line) for line in text.split("\n")]


def _line(line: str) -> str:
    return json.dumps(_ordered(json.loads(line))) if line.startswith('{"brokers"') else line


def _ordered(found: dict[str, list[dict[str, list[dict[str, list[dict[str, str]]]]]]]) -> object:
    for broker in found["brokers"]:
        broker["logDirs"].sort(key=lambda log_dir: str(log_dir["logDir"]))
        for log_dir in broker["logDirs"]:
            log_dir["partitions"].sort(key=lambda one: (str(one["partition"]), one["isFuture"]))
    return found


def _sorted(text: str, separator: str) -> str:
    return separator.join(sorted(text.split(separator)))
