"""The shape of ``cluster.yaml`` and every check on it. Knows no file, no folder and no frozen spec.

The shape is msgspec structs (already loaded for metric rows, so a broker pays nothing more for it);
msgspec stops at the first mistake, so each leaf is checked on its own and all mistakes are kept.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from protocol.broker_config import BROKER_KEYS
from protocol.config_types import ALL_LOG_DIRS, ConfigKey
from protocol.configs import config_mistakes
from protocol.releases import RELEASES
from protocol.topic_config import TOPIC_KEYS

Path: TypeAlias = tuple[str | int, ...]
Leaves: TypeAlias = dict[Path, Any]
"""Every value of the document that has the right shape, by where it stands."""

Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
Name: TypeAlias = Annotated[str, Meta(min_length=1)]
PositiveMs: TypeAlias = Annotated[int, Meta(ge=1)]
Configs: TypeAlias = dict[str, str | int | float | bool | None]
Release: TypeAlias = str | float
"""YAML reads 2.4 without quotes as a number."""
FaultMode: TypeAlias = Literal[
    "eio", "enospc", "read_only", "hang", "slow", "torn_write", "bit_flip"
]
TopicName: TypeAlias = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]

LOOPBACK: Final = "127.0.0.1"
CORDONED_LOG_DIRS: Final = "cordoned.log.dirs"


class ControllerDocument(Struct, kw_only=True):
    """``controller:``."""

    id: Annotated[int, Meta(ge=0)] = 100
    bind_host: Name = LOOPBACK
    port: Port
    advertised_host: Name = LOOPBACK
    data_dir: Name = "data/controller"
    heartbeat_interval_ms: PositiveMs = 500
    session_timeout_ms: PositiveMs = 3000


class LogDirDocument(Struct, kw_only=True):
    """``brokers[].log_dirs[]``."""

    path: Name
    capacity_mib: Annotated[float, Meta(gt=0)] | None = None


class BrokerDocument(Struct, kw_only=True):
    """``brokers[]``."""

    id: Annotated[int, Meta(ge=0)]
    bind_host: Name = LOOPBACK
    port: Port
    advertised_host: Name = LOOPBACK
    advertised_port: Port | None = None
    control_port: Port | None = None
    rack: Name | None = None
    emulate: Release | None = None
    log_dirs: list[LogDirDocument]
    configs: Configs = {}


class TopicDocument(Struct, kw_only=True):
    """``topics[]``."""

    name: TopicName
    partitions: Annotated[int, Meta(ge=1)] = 1
    replication_factor: Annotated[int, Meta(ge=1)] = 1
    configs: Configs = {}


class FaultDocument(Struct, kw_only=True):
    """``faults[]``."""

    at_ms: Annotated[int, Meta(ge=0)]
    broker: int
    log_dir: Name
    mode: FaultMode
    delay_ms: PositiveMs | None = None


class MetricsDocument(Struct, kw_only=True):
    """``metrics:``."""

    dump_dir: Name = "data/metrics"
    interval_ms: PositiveMs = 1000


class ClusterDocument(Struct, kw_only=True):
    """The whole file."""

    cluster_id: Name
    controller: ControllerDocument
    brokers: list[BrokerDocument]
    emulate: Release | None = None
    topics: list[TopicDocument] = []
    faults: list[FaultDocument] = []
    configs: Configs = {}
    metrics: MetricsDocument = msgspec.field(default_factory=MetricsDocument)


def read_document(
    content: Any, *, reserved: tuple[str, ...]
) -> tuple[ClusterDocument | None, list[str]]:
    """Check what a YAML file holds; return the typed document, or None and every mistake.

    ``reserved`` are configuration keys that the file sets by words of its own.
    """
    leaves: Leaves = {}
    mistakes = list(_shape_mistakes(content, ClusterDocument, (), leaves))
    for check in _CHECKS:
        mistakes.extend(check(leaves))
    mistakes.extend(_config_mistakes(leaves, reserved))
    if mistakes:
        return None, mistakes
    return msgspec.convert(content, ClusterDocument), []


def config_text(configs: Mapping[str, Any]) -> dict[str, str]:
    """Return configurations as Kafka writes them: YAML's true becomes ``true``, 2 becomes ``2``."""
    return {name: _text(value) for name, value in configs.items() if value is not None}


def release_text(release: Release | None) -> str | None:
    """Return the name of a Kafka release, which YAML may have read as a number."""
    return None if release is None else str(release)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shape_mistakes(value: Any, shape: Any, path: Path, leaves: Leaves) -> Iterator[str]:
    if _is_struct(shape):
        yield from _struct_mistakes(value, shape, path, leaves)
    elif get_origin(shape) is list:
        yield from _list_mistakes(value, get_args(shape)[0], path, leaves)
    else:
        try:
            leaves[path] = msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            yield f"{_place(path)}: {_explain(str(error), value)}"


def _is_struct(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, Struct)


def _struct_mistakes(value: Any, shape: type[Struct], path: Path, leaves: Leaves) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{_place(path)}: must be a mapping of keys, is {_shown(value)}"
        return
    fields = {field.name: field for field in msgspec.structs.fields(shape)}
    entries = cast("dict[Any, Any]", value)  # YAML allows any key
    for name in entries:
        if name not in fields:
            close = difflib.get_close_matches(str(name), fields, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            yield f"{_place((*path, str(name)))}: unknown key{hint}"
    for name, field in fields.items():
        if name in entries:
            yield from _shape_mistakes(entries[name], field.type, (*path, name), leaves)
        elif field.required:
            yield f"{_place((*path, name))}: is missing"
        elif isinstance(field.default, (int, str)):
            leaves[*path, name] = field.default


def _list_mistakes(value: Any, shape: Any, path: Path, leaves: Leaves) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{_place(path)}: must be a list, is {_shown(value)}"
        return
    elements = cast("list[Any]", value)  # checked one by one below
    leaves[path] = len(elements)
    for index, element in enumerate(elements):
        yield from _shape_mistakes(element, shape, (*path, index), leaves)


def _explain(error: str, value: Any) -> str:
    wanted = re.split(" - at |, got ", error, maxsplit=1)[0].removeprefix("Expected ")
    wanted = re.sub(r"(int|float) (?=[<>])", "", wanted.replace("`", "").removesuffix(" | null"))
    wanted = _WORDS.get(wanted, wanted)
    if wanted.startswith("str matching regex"):
        wanted = "1 to 249 letters, digits, '.', '_' or '-'"
    if wanted.startswith("Invalid enum value"):
        wanted = f"one of {', '.join(get_args(FaultMode))}"
    return f"must be {wanted}, is {_shown(value)}"


_WORDS: Final = {
    "float | str": 'the name of a release, such as "2.4"',
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "object": "a mapping",
}


def _shown(value: Any) -> str:
    return "empty" if value is None else repr(value)


def _place(path: Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the file"


def _empty_list_mistakes(leaves: Leaves) -> Iterator[str]:
    for path, count in leaves.items():
        if path[-1] in ("brokers", "log_dirs") and count == 0:
            yield f"{_place(path)}: must not be empty"


def _duplicate_mistakes(leaves: Leaves) -> Iterator[str]:
    for kind, values in (
        ("id", _values(leaves, "id")),
        ("port", _ports(leaves)),
        ("directory", _directories(leaves)),
        (
            "topic",
            {path: name for path, name in leaves.items() if path[0::2] == ("topics", "name")},
        ),
    ):
        first_at: dict[Any, Path] = {}
        for path, value in values.items():
            if value in first_at:
                yield f"{_place(path)}: {kind} {value} is taken by {_place(first_at[value])}"
            first_at.setdefault(value, path)


def _values(leaves: Leaves, name: str) -> Leaves:
    return {path: value for path, value in leaves.items() if path[-1] == name}


def _ports(leaves: Leaves) -> Leaves:
    ports: Leaves = {}
    for path, value in leaves.items():
        if path[-1] in ("port", "control_port") and value is not None:
            ports[path] = value
        if path[0] == "brokers" and path[-1] == "port" and value is not None:
            control: Path = (*path[:-1], "control_port")
            if leaves.get(control) is None:
                ports[control] = int(value) + 1000
    return ports


def _directories(leaves: Leaves) -> Leaves:
    return {
        path: _normal(value)
        for path, value in leaves.items()
        if path[-1] in ("path", "data_dir", "dump_dir")
    }


def _normal(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def _topic_mistakes(leaves: Leaves) -> Iterator[str]:
    broker_count = leaves.get(("brokers",))
    for path, factor in _values(leaves, "replication_factor").items():
        if broker_count is not None and factor > broker_count:
            yield f"{_place(path)}: must be <= {broker_count}, the number of brokers, is {factor}"


def _session_mistakes(leaves: Leaves) -> Iterator[str]:
    interval_ms = leaves.get(("controller", "heartbeat_interval_ms"), 500)
    timeout_ms = leaves.get(("controller", "session_timeout_ms"), 3000)
    if timeout_ms <= interval_ms:
        yield (
            f"controller.session_timeout_ms: must be > heartbeat_interval_ms ({interval_ms}), "
            f"is {timeout_ms}"
        )


def _log_dirs_by_broker(leaves: Leaves) -> dict[Any, list[str]]:
    dirs_of: dict[Any, list[str]] = {}
    for path, value in _values(leaves, "path").items():
        dirs_of.setdefault(leaves.get((*path[:2], "id")), []).append(_normal(value))
    return dirs_of


def _cordon_mistakes(leaves: Leaves) -> Iterator[str]:
    """Check the cordoned log dirs of one broker, or those that are set for all of them."""
    dirs_of = _log_dirs_by_broker(leaves)
    for path, configs in _values(leaves, "configs").items():
        text = config_text(configs).get(CORDONED_LOG_DIRS, ALL_LOG_DIRS)
        if path[0] == "topics" or text in ("", ALL_LOG_DIRS):
            continue
        brokers = [leaves.get((*path[:2], "id"))] if path[0] == "brokers" else list(dirs_of)
        for broker in brokers:
            known = ("", ALL_LOG_DIRS, *dirs_of.get(broker, ()))
            for entry in map(str.strip, text.split(",")):
                if _normal(entry) not in known:
                    place = f"{_place(path)}.{CORDONED_LOG_DIRS}"
                    yield f"{place}: broker {broker} has no log dir {entry}"


def _fault_mistakes(leaves: Leaves) -> Iterator[str]:
    dirs_of = _log_dirs_by_broker(leaves)
    for path, log_dir in _values(leaves, "log_dir").items():
        broker = leaves.get((*path[:-1], "broker"))
        if broker is not None and broker not in dirs_of:
            yield f"{_place((*path[:-1], 'broker'))}: there is no broker {broker}"
        elif broker is not None and _normal(log_dir) not in dirs_of[broker]:
            yield f"{_place(path)}: broker {broker} has no log dir {log_dir}"
    for path, mode in _values(leaves, "mode").items():
        if (mode == "slow") != (leaves.get((*path[:-1], "delay_ms")) is not None):
            yield f"{_place((*path[:-1], 'delay_ms'))}: belongs to mode slow, which needs it"


def _release_mistakes(leaves: Leaves) -> Iterator[str]:
    for path, release in _values(leaves, "emulate").items():
        if release is not None and release_text(release) not in RELEASES:
            yield f"{_place(path)}: must be one of {', '.join(RELEASES)}, is {_shown(release)}"


def _config_mistakes(leaves: Leaves, reserved: tuple[str, ...]) -> Iterator[str]:
    for path, configs in _values(leaves, "configs").items():
        columns: Mapping[str, ConfigKey] = TOPIC_KEYS if path[0] == "topics" else BROKER_KEYS
        for name in configs:
            if name in reserved and columns is BROKER_KEYS:
                yield f"{_place(path)}.{name}: is set by the keys of the broker itself"
        for mistake in config_mistakes(columns, config_text(configs)):
            yield f"{_place(path)}.{mistake.name}: {mistake.text}"


_CHECKS: Final[tuple[Callable[[Leaves], Iterator[str]], ...]] = (
    _empty_list_mistakes,
    _duplicate_mistakes,
    _topic_mistakes,
    _session_mistakes,
    _fault_mistakes,
    _cordon_mistakes,
    _release_mistakes,
)
