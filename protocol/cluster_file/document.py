"""The shape of ``cluster.yaml`` and every check on it.

Knows no file, no folder and no frozen spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from protocol.configs.broker import BROKER_KEYS
from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.configs.parsing import config_mistakes
from protocol.configs.topic import TOPIC_KEYS
from protocol.configs.types import ALL_LOG_DIRS, ConfigKey
from protocol.document_shape import Leaves, Path, place, shape_mistakes, shown
from protocol.faults.document import read_fault
from protocol.faults.model import (
    ANY_NODE,
    CLIENT_NODE,
    CONTROLLER_NODE,
    Fault,
    NodeFault,
    broker_id_of,
    broker_in_charge,
)
from protocol.releases import RELEASES
from protocol.security.listeners import (
    INTER_BROKER_LISTENER,
    INTER_BROKER_PROTOCOL,
    LISTENERS,
    ListenersError,
    SecurityProtocol,
    listeners_of,
    plain_listener,
    protocol_between_nodes,
)

Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
Name: TypeAlias = Annotated[str, Meta(min_length=1)]
Ms: TypeAlias = Annotated[int, Meta(ge=0)]
PositiveMs: TypeAlias = Annotated[int, Meta(ge=1)]
Configs: TypeAlias = dict[str, str | int | float | bool | None]
Release: TypeAlias = str | float
"""YAML reads 2.4 without quotes as a number."""
TopicName: TypeAlias = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]

LOOPBACK: Final = "127.0.0.1"
MIB_MAX: Final = 2**43
"""Bytes are counted in 64 bits."""


class ControllerDocument(Struct, kw_only=True):
    """``controller:``."""

    id: Annotated[int, Meta(ge=0)] = 100
    bind_host: Name = LOOPBACK
    port: Port
    advertised_host: Name = LOOPBACK
    data_dir: Name = "data/controller"
    heartbeat_interval_ms: PositiveMs = 500
    session_timeout_ms: PositiveMs = 3000


class ZookeeperDocument(Struct, kw_only=True):
    """``zookeeper:``."""

    connect: Name | None = None
    session_timeout_ms: PositiveMs = 18_000


class LogDirDocument(Struct, kw_only=True):
    """``brokers[].log_dirs[]``."""

    path: Name
    capacity_mib: Annotated[float, Meta(gt=0, le=MIB_MAX)] | None = None


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


class FaultTimes(Struct, kw_only=True):
    """When a fault of ``faults[]`` begins and ends; its other keys are the fault's."""

    at_ms: Ms
    until_ms: Ms | None = None


class MetricsDocument(Struct, kw_only=True):
    """``metrics:``."""

    dump_dir: Name = "data/metrics"
    interval_ms: PositiveMs = 1000
    to_topic: bool = False


class ClusterDocument(Struct, kw_only=True):
    """The whole file."""

    cluster_id: Name
    controller: ControllerDocument
    brokers: list[BrokerDocument]
    zookeeper: ZookeeperDocument = msgspec.field(default_factory=ZookeeperDocument)
    emulate: Release | None = None
    topics: list[TopicDocument] = []
    faults: list[dict[str, Any]] = []
    configs: Configs = {}
    metrics: MetricsDocument = msgspec.field(default_factory=MetricsDocument)


def read_document(
    content: Any, *, reserved: tuple[str, ...]
) -> tuple[ClusterDocument | None, list[str]]:
    """Check what a YAML file holds; return the typed document, or None and every mistake.

    ``reserved`` are configuration keys that the file sets by words of its own.
    """
    leaves: Leaves = {}
    mistakes = list(shape_mistakes(content, ClusterDocument, (), leaves))
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


def _empty_list_mistakes(leaves: Leaves) -> Iterator[str]:
    for path, count in leaves.items():
        if path[-1] in ("brokers", "log_dirs") and count == 0:
            yield f"{place(path)}: must not be empty"


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
                yield f"{place(path)}: {kind} {value} is taken by {place(first_at[value])}"
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
            yield f"{place(path)}: must be <= {broker_count}, the number of brokers, is {factor}"


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
                    key = f"{place(path)}.{CORDONED_LOG_DIRS}"
                    yield f"{key}: broker {broker} has no log dir {entry}"


_OTHER_NODES: Final = (CONTROLLER_NODE, CLIENT_NODE, ANY_NODE)
"""That a fault may be about, beside brokers."""
FAULT_TIMES: Final = ("at_ms", "until_ms")
"""Keys of ``faults[]`` beside those of the fault."""


def _fault_mistakes(leaves: Leaves) -> Iterator[str]:
    dirs_of = _log_dirs_by_broker(leaves)
    for path, content in leaves.items():
        if path[0] == "faults" and len(path) == 2:
            yield from _fault_times_mistakes(content, path)
            fault, mistakes = read_fault(content, path=path, other_keys=FAULT_TIMES)
            yield from mistakes
            yield from _unknown_node_mistakes(content, path, list(dirs_of))
            yield from _unknown_log_dir_mistakes(content, path, dirs_of)
            if fault is not None:
                yield from _foreign_mistakes(fault, path)


def _fault_times_mistakes(content: Mapping[str, Any], path: Path) -> Iterator[str]:
    leaves: Leaves = {}
    times = {key: content[key] for key in FAULT_TIMES if key in content}
    yield from shape_mistakes(times, FaultTimes, path, leaves)
    at_ms, until_ms = leaves.get((*path, "at_ms")), leaves.get((*path, "until_ms"))
    if at_ms is not None and until_ms is not None and until_ms <= at_ms:
        yield f"{place((*path, 'until_ms'))}: must be > at_ms ({at_ms}), is {until_ms}"


def _unknown_node_mistakes(
    content: Mapping[str, Any], path: Path, broker_ids: list[Any]
) -> Iterator[str]:
    if "broker" in content and content["broker"] not in broker_ids:
        yield f"{place((*path, 'broker'))}: there is no broker {content['broker']}"
    for key in ("node", "from", "to"):
        node = content.get(key, ANY_NODE)
        if node not in _OTHER_NODES and broker_id_of(str(node)) not in broker_ids:
            yield f"{place((*path, key))}: there is no node {node}"


def _unknown_log_dir_mistakes(
    content: Mapping[str, Any], path: Path, dirs_of: Mapping[Any, list[str]]
) -> Iterator[str]:
    broker_id = content.get("broker", broker_id_of(str(content.get("node"))))
    log_dir = content.get("log_dir")
    known = dirs_of.get(broker_id)
    if isinstance(log_dir, str) and known is not None and _normal(log_dir) not in known:
        yield f"{place((*path, 'log_dir'))}: broker {broker_id} has no log dir {log_dir}"


def _foreign_mistakes(fault: Fault, path: Path) -> Iterator[str]:
    """Refuse what a broker cannot do to itself."""
    if isinstance(fault, NodeFault):
        outside = "is done from outside: by `jbodlab brokers` or by a scenario"
        yield f"{place((*path, 'mode'))}: {fault.mode.value} {outside}"
    elif broker_in_charge(fault) is None:
        yield f"{place(path)}: names no broker"


def _release_mistakes(leaves: Leaves) -> Iterator[str]:
    for path, release in _values(leaves, "emulate").items():
        if release is not None and release_text(release) not in RELEASES:
            yield f"{place(path)}: must be one of {', '.join(RELEASES)}, is {shown(release)}"


def _config_mistakes(leaves: Leaves, reserved: tuple[str, ...]) -> Iterator[str]:
    for path, configs in _values(leaves, "configs").items():
        columns: Mapping[str, ConfigKey] = TOPIC_KEYS if path[0] == "topics" else BROKER_KEYS
        for name in configs:
            if name in reserved and columns is BROKER_KEYS:
                yield f"{place(path)}.{name}: is set by the keys of the broker itself"
        for mistake in config_mistakes(columns, config_text(configs)):
            yield f"{place(path)}.{mistake.name}: {mistake.text}"


def _listener_mistakes(leaves: Leaves) -> Iterator[str]:
    """Check the listeners of each broker, with what is set for all of them."""
    of_all: dict[str, Any] = leaves.get(("configs",)) or {}
    taken = {value: path for path, value in _ports(leaves).items()}
    for path, port in _values(leaves, "port").items():
        if path[0] != "brokers":
            continue
        configs = config_text({**of_all, **(leaves.get((*path[:-1], "configs")) or {})})
        where: Path = (*path[:-1], "configs")
        try:
            found = listeners_of(configs, plain_listener(LOOPBACK, port, LOOPBACK, port))
        except ListenersError as error:
            yield f"{place(where)}.{error.key}: {error.text}"
            continue
        others = [each.port for each in found if each.port != port]
        plain = [each.port for each in found if each.protocol is SecurityProtocol.PLAINTEXT]
        if port not in plain:
            yield (
                f"{place(path)}: must be the port of a listener of PLAINTEXT, which may be on "
                f"loopback: jbodlab's own tools come by it; is {port}"
            )
        for other in others:
            if other in taken:
                yield f"{place(where)}.{LISTENERS}: port {other} is taken by {place(taken[other])}"
            taken[other] = (*where, LISTENERS)
        if found[0].protocol is not _protocol_of_all(of_all):
            yield (
                f"{place(where)}: {INTER_BROKER_LISTENER} or {INTER_BROKER_PROTOCOL} must be set "
                "in the configs of the cluster: the controller speaks the same protocol"
            )


def _protocol_of_all(of_all: Mapping[str, Any]) -> SecurityProtocol | None:
    try:
        return protocol_between_nodes(config_text(of_all))
    except ListenersError:
        return None


_CHECKS: Final[tuple[Callable[[Leaves], Iterator[str]], ...]] = (
    _empty_list_mistakes,
    _duplicate_mistakes,
    _topic_mistakes,
    _session_mistakes,
    _fault_mistakes,
    _cordon_mistakes,
    _release_mistakes,
    _listener_mistakes,
)
