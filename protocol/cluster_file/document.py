"""The shape of ``cluster.yaml`` and every check on it.

Knows no file, no folder and no frozen spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from protocol.cluster_file.configs_text import config_text
from protocol.cluster_file.fault_checks import fault_mistakes, normal_path
from protocol.cluster_file.listener_checks import broker_listener_mistakes
from protocol.cluster_file.secure import OWN_KEYS
from protocol.cluster_file.zookeeper_checks import zookeeper_mistakes
from protocol.configs.broker import BROKER_KEYS
from protocol.configs.listener_keys import KEYS_OF_ALL, columns_of_listeners
from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.configs.parsing import config_mistakes
from protocol.configs.topic import TOPIC_KEYS
from protocol.configs.types import ALL_LOG_DIRS, ConfigKey
from protocol.document_shape import Leaves, Path, place, shape_mistakes, shown
from protocol.releases import RELEASES

Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
Name: TypeAlias = Annotated[str, Meta(min_length=1)]
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
    set_acl: bool = False
    username: Name | None = None
    password: Name | None = None


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


class NeighbourDocument(Struct, kw_only=True):
    """``beside.brokers[]``."""

    id: Annotated[int, Meta(ge=0)]
    port: Port
    rack: Name | None = None
    log_dirs: list[LogDirDocument]
    configs: Configs = {}


class BesideDocument(Struct, kw_only=True):
    """``beside:``."""

    kafka: Literal["3.9.2"] | None = None
    brokers: list[NeighbourDocument] = []


class TopicDocument(Struct, kw_only=True):
    """``topics[]``."""

    name: TopicName
    partitions: Annotated[int, Meta(ge=1)] = 1
    replication_factor: Annotated[int, Meta(ge=1)] = 1
    configs: Configs = {}


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
    beside: BesideDocument = msgspec.field(default_factory=BesideDocument)
    emulate: Release | None = None
    secure: bool = False
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


def release_text(release: Release | None) -> str | None:
    """Return the name of a Kafka release, which YAML may have read as a number."""
    return None if release is None else str(release)


def _empty_list_mistakes(leaves: Leaves) -> Iterator[str]:
    for path, count in leaves.items():
        if path[-1] in ("brokers", "log_dirs") and count == 0:
            yield f"{place(path)}: must not be empty"


def _ids(leaves: Leaves) -> Leaves:
    """Return the ids that differ; with ZooKeeper the controller has that of its broker."""
    has_zookeeper = leaves.get(("zookeeper", "connect")) is not None
    without = "controller" if has_zookeeper else ""
    return {path: each for path, each in _values(leaves, "id").items() if path[0] != without}


def _duplicate_mistakes(leaves: Leaves) -> Iterator[str]:
    for kind, values in (
        ("id", _ids(leaves)),
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
        path: normal_path(value)
        for path, value in leaves.items()
        if path[-1] in ("path", "data_dir", "dump_dir")
    }


def _topic_mistakes(leaves: Leaves) -> Iterator[str]:
    broker_count = leaves.get(("brokers",))
    if broker_count is not None:
        broker_count += leaves.get(("beside", "brokers"), 0)
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
        if path[0] == "brokers":
            dirs_of.setdefault(leaves.get((*path[:2], "id")), []).append(normal_path(value))
    return dirs_of


def _cordon_mistakes(leaves: Leaves) -> Iterator[str]:
    """Check the cordoned log dirs of one broker, or those that are set for all of them."""
    dirs_of = _log_dirs_by_broker(leaves)
    for path, configs in _values(leaves, "configs").items():
        text = config_text(configs).get(CORDONED_LOG_DIRS, ALL_LOG_DIRS)
        if path[0] in ("topics", "beside") or text in ("", ALL_LOG_DIRS):
            continue
        brokers = [leaves.get((*path[:2], "id"))] if path[0] == "brokers" else list(dirs_of)
        for broker in brokers:
            known = ("", ALL_LOG_DIRS, *dirs_of.get(broker, ()))
            for entry in map(str.strip, text.split(",")):
                if normal_path(entry) not in known:
                    key = f"{place(path)}.{CORDONED_LOG_DIRS}"
                    yield f"{key}: broker {broker} has no log dir {entry}"


def _fault_mistakes(leaves: Leaves) -> Iterator[str]:
    return fault_mistakes(leaves, _log_dirs_by_broker(leaves))


def _release_mistakes(leaves: Leaves) -> Iterator[str]:
    for path, release in _values(leaves, "emulate").items():
        if release is not None and release_text(release) not in RELEASES:
            yield f"{place(path)}: must be one of {', '.join(RELEASES)}, is {shown(release)}"


def _config_mistakes(leaves: Leaves, reserved: tuple[str, ...]) -> Iterator[str]:
    for path, configs in _values(leaves, "configs").items():
        if path[0] == "beside":
            continue  # Apache Kafka judges them.
        columns: Mapping[str, ConfigKey] = TOPIC_KEYS if path[0] == "topics" else BROKER_KEYS
        for name in configs:
            if name in reserved and columns is BROKER_KEYS:
                yield f"{place(path)}.{name}: is set by the keys of the broker itself"
        if columns is BROKER_KEYS:
            columns = {**KEYS_OF_ALL, **columns_of_listeners(configs)}
        for mistake in config_mistakes(columns, config_text(configs)):
            yield f"{place(path)}.{mistake.name}: {mistake.text}"


def _listener_mistakes(leaves: Leaves) -> Iterator[str]:
    return broker_listener_mistakes(leaves, _ports(leaves))


def _secure_mistakes(leaves: Leaves) -> Iterator[str]:
    """Refuse what ``secure`` sets itself."""
    if not leaves.get(("secure",)):
        return
    if leaves.get(("zookeeper", "connect")) is not None:
        yield "secure: a cluster of Apache Kafka says itself how its brokers are secured"
    for path, configs in _values(leaves, "configs").items():
        for name in OWN_KEYS:
            if name in configs and path[0] not in ("topics", "beside"):
                yield f"{place(path)}.{name}: is set by `secure: true`; remove one of both"


def _beside_mistakes(leaves: Leaves) -> Iterator[str]:
    """Check what is needed to start Apache Kafka and its ZooKeeper here."""
    has_kafka = leaves.get(("beside", "kafka")) is not None
    if not has_kafka and leaves.get(("beside", "brokers")):
        yield 'beside.kafka: is missing; it names the release, "3.9.2"'
    if not has_kafka:
        return
    brokers = [path[:-1] for path in _values(leaves, "id") if path[0] != "controller"]
    known = [leaves.get((*broker, "rack")) for broker in brokers]
    if None in known and any(each is not None for each in known):
        yield (
            "beside: all brokers must have a rack, or none: Apache Kafka's controller creates no "
            "topic where only some have one"
        )
    connect = leaves.get(("zookeeper", "connect"))
    if connect is None or zookeeper_address(connect) is None:
        yield (
            f'zookeeper.connect: must be "{LOOPBACK}:PORT", perhaps with a chroot, where ZooKeeper '
            f"is started `beside` the brokers, is {shown(connect)}"
        )
    elif (port := zookeeper_address(connect)) in (known := _ports(leaves)).values():
        taken = next(path for path, each in known.items() if each == port)
        yield f"zookeeper.connect: port {port} is taken by {place(taken)}"


def zookeeper_address(connect: str) -> int | None:
    """Return the port of one ZooKeeper on this machine; None for any other, or for several."""
    host, _, port = connect.partition("/")[0].partition(":")
    return int(port) if host in (LOOPBACK, "localhost") and port.isdecimal() else None


_CHECKS: Final[tuple[Callable[[Leaves], Iterator[str]], ...]] = (
    _empty_list_mistakes,
    _duplicate_mistakes,
    _topic_mistakes,
    _session_mistakes,
    _fault_mistakes,
    _cordon_mistakes,
    _release_mistakes,
    _listener_mistakes,
    _secure_mistakes,
    _beside_mistakes,
    zookeeper_mistakes,
)
