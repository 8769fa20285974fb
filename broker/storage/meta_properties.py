"""meta.properties: which broker, cluster and directory a log dir belongs to. No IO.

Source: MetaProperties.java, PropertiesUtils.java, MetaPropertiesEnsemble.java.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from random import Random
from typing import Final

from protocol.ids import uuid_from_text, uuid_text

META_PROPERTIES_FILE: Final = "meta.properties"
_VERSION_ZOOKEEPER: Final = 0
_VERSION_KRAFT: Final = 1
_SEPARATOR: Final = re.compile(r"\s*(?<!\\)[=:]\s*")
_RESERVED_UUIDS: Final = 100
"""Kafka keeps the uuids below this number for itself."""


class CorruptMetaProperties(OSError):  # noqa: N818 -- says what it met
    """The file cannot be read: as in Kafka its log dir starts offline."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EIO, f"malformed {META_PROPERTIES_FILE}: {reason}")


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The identity in one log dir; None stands for what the file does not say."""

    version: int = _VERSION_ZOOKEEPER
    node_id: int | None = None
    """`broker.id` in version 0, `node.id` in version 1."""
    cluster_id: str | None = None
    directory_id: bytes | None = None


def render_meta_properties(properties: MetaProperties) -> bytes:
    """Return the file's content, in the layout of its version."""
    node_key = "broker.id" if properties.version == _VERSION_ZOOKEEPER else "node.id"
    lines = [f"version={properties.version}"]
    if properties.node_id is not None:
        lines.append(f"{node_key}={properties.node_id}")
    if properties.cluster_id is not None:
        lines.append(f"cluster.id={properties.cluster_id}")
    if properties.directory_id is not None:
        lines.append(f"directory.id={uuid_text(properties.directory_id)}")
    return "".join(f"{line}\n" for line in ["#", *lines]).encode()


def parse_meta_properties(data: bytes) -> MetaProperties:
    """Read the file of either version; keys that nobody knows are skipped.

    Raises:
        CorruptMetaProperties: another version, a value that is none, a key that the version
            requires is missing.
    """
    values = _parse_lines(data.decode(errors="replace"))
    version = _number(values.get("version", "0"))
    if version == _VERSION_ZOOKEEPER:
        node_id = values.get("broker.id")
    elif version == _VERSION_KRAFT and "node.id" in values and "cluster.id" in values:
        node_id = values["node.id"]
    else:
        raise CorruptMetaProperties(f"version {version} with the keys {sorted(values)}")
    return MetaProperties(
        version,
        None if node_id is None else _number(node_id),
        values.get("cluster.id"),
        _directory_id(values.get("directory.id")),
    )


def is_usable_directory_id(directory_id: bytes) -> bool:
    """Tell whether a random uuid may be a directory id.

    Not reserved, its text not like an option.
    """
    return int.from_bytes(directory_id) >= _RESERVED_UUIDS and not uuid_text(
        directory_id
    ).startswith("-")


def new_directory_id(random: Random) -> bytes:
    """Return a random uuid that may be a directory id."""
    while not is_usable_directory_id(candidate := random.randbytes(16)):
        pass
    return candidate


def _parse_lines(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#!":
            continue
        key, *value = _SEPARATOR.split(line, maxsplit=1)
        values[_unescape(key)] = _unescape("".join(value))
    return values


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as exc:
        raise CorruptMetaProperties(f"{text!r} is no number") from exc


def _directory_id(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return uuid_from_text(text)
    except ValueError as exc:
        raise CorruptMetaProperties(f"directory.id {text!r}") from exc
