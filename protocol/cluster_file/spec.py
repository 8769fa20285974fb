"""``cluster.yaml`` to a frozen ClusterSpec, checked in one pass, all mistakes reported together.

The only reader of YAML. Starts nothing, makes no directory and looks at no port.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from protocol.cluster_file.configs_text import config_text
from protocol.cluster_file.document import (
    LOOPBACK,
    BesideDocument,
    BrokerDocument,
    ClusterDocument,
    ControllerDocument,
    NeighbourDocument,
    TopicDocument,
    read_document,
    release_text,
    zookeeper_address,
)
from protocol.cluster_file.fault_checks import FAULT_TIMES
from protocol.cluster_file.secure import secure_configs, secure_dir, secure_listeners
from protocol.cluster_file.text import read_text_file
from protocol.cluster_file.yaml import read_yaml
from protocol.cluster_file.zookeeper import ZookeeperSpec, zookeeper_spec
from protocol.configs.broker import KEYS_OF_THE_SPEC
from protocol.configs.listener_keys import key_of_listener
from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.configs.security import FILE_KEYS
from protocol.configs.types import ALL_LOG_DIRS
from protocol.faults.document import read_fault
from protocol.faults.model import BrokerFault, DiskFault, NodeFault
from protocol.features import cluster_release
from protocol.security.listeners import Listener, control_plane_of, listeners_of, plain_listener

MIB: Final = 1 << 20


class SpecError(ValueError):
    """A file that is no cluster: every mistake with its path."""

    def __init__(self, source: str, mistakes: list[str]) -> None:
        super().__init__("\n".join([f"{source}: {len(mistakes)} mistake(s)", *mistakes]))
        self.source = source
        self.mistakes = mistakes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSpec:
    """Where the controller listens, what it calls itself and when it gives a broker up."""

    id: int
    bind_host: str
    port: int
    advertised_host: str
    """What brokers connect to."""
    data_dir: str
    """Absolute; holds the journal."""
    heartbeat_interval_ms: int
    session_timeout_ms: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LogDirSpec:
    """One log dir: one directory that stands for one disk."""

    path: str
    """Absolute, not resolved through links."""
    capacity_bytes: int | None
    """None takes the file system's own."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSpec:
    """One broker: addresses, rack, log dirs in order, Kafka's configurations."""

    id: int
    bind_host: str
    port: int
    advertised_host: str
    advertised_port: int
    """What clients and other brokers connect to."""
    control_port: int
    """Of the control endpoint, on 127.0.0.1 only."""
    rack: str | None
    log_dirs: tuple[LogDirSpec, ...]
    configs: Mapping[str, str]
    """By Kafka's name: the cluster's, overlaid with this broker's."""

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """Where it listens; what other brokers connect to comes first."""
        own = plain_listener(self.bind_host, self.port, self.advertised_host, self.advertised_port)
        return listeners_of(self.configs, own)

    @property
    def control_listener(self) -> Listener:
        """The one that the controller connects to."""
        listeners, name = self.listeners, control_plane_of(self.configs).listener
        return next((each for each in listeners if each.name == name), listeners[0])

    emulate: str | None = None
    """The Kafka release that clients see, such as "2.4"; None shows them all that is served."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """A topic that the controller creates when there are brokers for it."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpec:
    """A fault that happens by itself."""

    at_ms: int
    """After the start of the broker that it concerns."""
    fault: BrokerFault
    """With absolute log dirs."""
    until_ms: int | None = None
    """After the same start; None: for good."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSpec:
    """Where and how often brokers dump their metric rows."""

    dump_dir: str
    """Absolute."""
    interval_ms: int
    to_topic: bool = False
    """Whether brokers write their rows to ``METRICS_TOPIC``, too."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BesideSpec:
    """Brokers of Apache Kafka in the same cluster, started here with their ZooKeeper."""

    kafka: str
    """The release, such as "3.9.2"."""
    brokers: tuple[BrokerSpec, ...]
    """Without control ports; ``configs`` are Apache Kafka's own."""
    zookeeper_port: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """A whole cluster."""

    cluster_id: str
    controller: ControllerSpec
    brokers: tuple[BrokerSpec, ...]
    topics: tuple[TopicSpec, ...]
    faults: tuple[FaultSpec, ...]
    configs: Mapping[str, str]
    metrics: MetricsSpec
    zookeeper: ZookeeperSpec | None = None
    """With it the controller is one of the brokers that stand for election there."""
    beside: BesideSpec | None = None

    @property
    def all_brokers(self) -> tuple[BrokerSpec, ...]:
        """The brokers of jbodlab, then those of Apache Kafka that are started beside them."""
        return self.brokers if self.beside is None else (*self.brokers, *self.beside.brokers)

    @property
    def stands_for_election(self) -> bool:
        """Whether ``controller`` leads a cluster with ZooKeeper, with the id of its broker."""
        is_own = any(broker.id == self.controller.id for broker in self.brokers)
        return self.zookeeper is not None and is_own

    @property
    def cluster_release(self) -> str | None:
        """By which the cluster finalizes features: that of its oldest broker; None: the newest.

        With ZooKeeper the other brokers are of 3.9.
        """
        others = () if self.zookeeper is None else ("3.9",)
        return cluster_release((*(broker.emulate for broker in self.brokers), *others))

    @property
    def broker_count_max(self) -> int:
        """How many brokers a topic can have replicas on; ZooKeeper knows more than the file."""
        return len(self.brokers) if self.zookeeper is None else 2**15 - 1

    def broker(self, broker_id: int) -> BrokerSpec:
        """Return one broker, of whichever kind.

        Raises:
            KeyError: there is none with this id.
        """
        for broker in self.all_brokers:
            if broker.id == broker_id:
                return broker
        raise KeyError(broker_id)


def load_cluster_spec(path: str | Path) -> ClusterSpec:
    """Read and check ``cluster.yaml``; paths in it are relative to the folder that holds it.

    Raises:
        SpecError: the file is missing, is no YAML, or holds mistakes; it lists all of them.
    """
    file = spec_file(path)
    try:
        text = read_text_file(file)
    except ValueError as error:
        raise SpecError(str(path), [str(error)]) from error
    return parse_cluster_spec(text, base_dir=file.parent, source=str(path))


def spec_file(path: str | Path) -> Path:
    """Return the one name of a cluster file, whatever way leads to the folder that holds it.

    All processes of a cluster tell each other full paths of log dirs, which begin with that folder.
    """
    file = Path(path).absolute()
    return file.parent.resolve() / file.name


def parse_cluster_spec(text: str, *, base_dir: Path, source: str) -> ClusterSpec:
    """Check a text of ``cluster.yaml`` whose paths are relative to ``base_dir``.

    Raises:
        SpecError: lists all mistakes.
    """
    try:
        content, mistakes = read_yaml(text)
    except ValueError as error:
        raise SpecError(source, [str(error)]) from error
    return _checked(content, mistakes, base_dir, source)


# Any: what a YAML file holds.
def cluster_spec(content: Mapping[str, Any], *, base_dir: Path, source: str) -> ClusterSpec:
    """Check what a ``cluster.yaml`` would hold; the rest as ``parse_cluster_spec``.

    Raises:
        SpecError: lists all mistakes.
    """
    return _checked(content, [], base_dir, source)


def _checked(content: Any, mistakes: list[str], base_dir: Path, source: str) -> ClusterSpec:
    document, more = read_document(content, reserved=KEYS_OF_THE_SPEC)
    if document is None or mistakes or more:
        raise SpecError(source, [*mistakes, *more])
    spec = _cluster(document, base_dir)
    return secured(spec, base_dir, source) if document.secure else spec


def secured(spec: ClusterSpec, base_dir: Path, source: str = "") -> ClusterSpec:
    """Return a cluster whose nodes and clients come in by SASL_SSL alone; what it sets wins."""
    of_all = secure_configs(f"{base_dir}/{secure_dir(source)}")
    brokers = tuple(
        dataclasses.replace(
            each,
            configs={
                **of_all,
                **secure_listeners(
                    (each.bind_host, each.port), (each.advertised_host, each.advertised_port)
                ),
                **each.configs,
            },
        )
        for each in spec.brokers
    )
    return dataclasses.replace(spec, brokers=brokers, configs={**of_all, **spec.configs})


def _cluster(document: ClusterDocument, base_dir: Path) -> ClusterSpec:
    def absolute(path: str) -> str:
        return str(base_dir / path)

    return ClusterSpec(
        cluster_id=document.cluster_id,
        controller=_controller(document.controller, absolute(document.controller.data_dir)),
        brokers=tuple(_broker(broker, document, base_dir) for broker in document.brokers),
        topics=tuple(_topic(topic) for topic in document.topics),
        faults=tuple(_fault(fault, base_dir) for fault in document.faults),
        configs=_configs(document.configs, base_dir),
        metrics=MetricsSpec(
            dump_dir=absolute(document.metrics.dump_dir),
            interval_ms=document.metrics.interval_ms,
            to_topic=document.metrics.to_topic,
        ),
        zookeeper=zookeeper_spec(document.zookeeper),
        beside=_beside(document.beside, document.zookeeper.connect, base_dir),
    )


def _controller(document: ControllerDocument, data_dir: str) -> ControllerSpec:
    return ControllerSpec(
        id=document.id,
        bind_host=document.bind_host,
        port=document.port,
        advertised_host=document.advertised_host,
        data_dir=data_dir,
        heartbeat_interval_ms=document.heartbeat_interval_ms,
        session_timeout_ms=document.session_timeout_ms,
    )


def _beside(document: BesideDocument, connect: str | None, base_dir: Path) -> BesideSpec | None:
    if document.kafka is None:
        return None
    port = zookeeper_address(connect or "")
    assert port is not None, "checked by read_document"
    brokers = tuple(_neighbour(each, base_dir) for each in document.brokers)
    return BesideSpec(kafka=document.kafka, brokers=brokers, zookeeper_port=port)


def _neighbour(document: NeighbourDocument, base_dir: Path) -> BrokerSpec:
    paths = [str(base_dir / each.path) for each in document.log_dirs]
    return BrokerSpec(
        id=document.id,
        bind_host=LOOPBACK,
        port=document.port,
        advertised_host=LOOPBACK,
        advertised_port=document.port,
        control_port=0,
        rack=document.rack,
        log_dirs=tuple(LogDirSpec(path=path, capacity_bytes=None) for path in paths),
        configs=config_text(document.configs),
    )


def _broker(document: BrokerDocument, cluster: ClusterDocument, base_dir: Path) -> BrokerSpec:
    return BrokerSpec(
        id=document.id,
        bind_host=document.bind_host,
        port=document.port,
        advertised_host=document.advertised_host,
        advertised_port=document.advertised_port or document.port,
        control_port=document.control_port or document.port + 1000,
        rack=document.rack,
        log_dirs=tuple(
            LogDirSpec(
                path=str(base_dir / log_dir.path),
                capacity_bytes=None
                if log_dir.capacity_mib is None
                else int(log_dir.capacity_mib * MIB),
            )
            for log_dir in document.log_dirs
        ),
        configs={
            **_configs(cluster.configs, base_dir),
            **_configs(document.configs, base_dir),
        },
        emulate=release_text(document.emulate or cluster.emulate),
    )


def _configs(configs: Mapping[str, Any], base_dir: Path) -> dict[str, str]:
    """Return Kafka's texts; files and log dirs named among them become absolute (KAFKA-20901)."""
    texts = config_text(configs)
    for name in texts:
        of_listener = key_of_listener(name)
        key = name if of_listener is None else of_listener[1]
        if key in FILE_KEYS and texts[name]:
            texts[name] = str(base_dir / texts[name])
    cordoned = texts.get(CORDONED_LOG_DIRS, ALL_LOG_DIRS)
    if cordoned not in ("", ALL_LOG_DIRS):
        paths = (str(base_dir / path.strip()) for path in cordoned.split(","))
        texts[CORDONED_LOG_DIRS] = ",".join(paths)
    return texts


def _topic(document: TopicDocument) -> TopicSpec:
    return TopicSpec(
        name=document.name,
        partitions=document.partitions,
        replication_factor=document.replication_factor,
        configs=config_text(document.configs),
    )


def _fault(content: Mapping[str, Any], base_dir: Path) -> FaultSpec:
    fault, _ = read_fault(content, other_keys=FAULT_TIMES)
    assert fault is not None, "checked by read_document"
    assert not isinstance(fault, NodeFault), "refused by read_document"
    if isinstance(fault, DiskFault) and fault.log_dir is not None:
        fault = dataclasses.replace(fault, log_dir=str(base_dir / fault.log_dir))
    return FaultSpec(at_ms=content["at_ms"], fault=fault, until_ms=content.get("until_ms"))
