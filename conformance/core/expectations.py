"""What a release of Apache Kafka answered: one line of JSON per variant, packed by gzip.

The first line says of which release, what it announced and how many brokers it had.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Observation = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Expectations:
    """All that was recorded of one release."""

    release: str
    """Such as "3.9.2"."""
    brokers: int
    announced: Mapping[int, tuple[int, int]]
    """By API key, all of them: those too that jbodlab has no messages for."""
    seen: Mapping[str, Observation]
    """By variant, such as ``minimal/Fetch@v12``."""


def pack(expectations: Expectations) -> bytes:
    """Return the content of the file; the same expectations give the same bytes."""
    head = {
        "release": expectations.release,
        "brokers": expectations.brokers,
        "announced": {str(key): list(each) for key, each in sorted(expectations.announced.items())},
    }
    lines = [json.dumps(head)]
    lines += [
        json.dumps({"case": name, "seen": seen}, sort_keys=True, ensure_ascii=False)
        for name, seen in sorted(expectations.seen.items())
    ]
    return gzip.compress("\n".join([*lines, ""]).encode(), mtime=0)


def unpack(content: bytes) -> Expectations:
    """Read what ``pack`` wrote.

    Raises:
        ValueError: it is no such file.
    """
    try:
        head, *lines = map(json.loads, gzip.decompress(content).decode().splitlines())
        announced = {int(key): (low, high) for key, (low, high) in head["announced"].items()}
        seen = {line["case"]: line["seen"] for line in lines}
        return Expectations(head["release"], head["brokers"], announced, seen)
    except (OSError, EOFError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no file of expectations: {error}") from error
