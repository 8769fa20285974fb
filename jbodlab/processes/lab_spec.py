"""Makes clusters with a folder of their own, for tests, demos and benchmarks.

Writes one ``cluster.yaml``; starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from jbodlab.processes.free_ports import LOOPBACK, free_ports
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import (
    BrokerSpec,
    ClusterSpec,
    ControllerSpec,
    LogDirSpec,
    MetricsSpec,
    TopicSpec,
    secured,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabShape:
    """What may differ between two throw-away clusters."""

    brokers: int = 3
    log_dirs: int = 3
    capacity_bytes: int | None = None
    heartbeat_interval_ms: int = 500
    session_timeout_ms: int = 3000
    metrics_interval_ms: int = 1000
    metrics_to_topic: bool = False
    configs: Mapping[str, str] = field(default_factory=dict[str, str])
    topics: tuple[TopicSpec, ...] = ()
    secure: bool = False
    emulate: Mapping[int, str] = field(default_factory=dict[int, str])
    """Broker id -> the Kafka release that it shows to clients."""


def write_lab_spec(folder: Path, shape: LabShape | None = None) -> Path:
    """Write ``folder/cluster.yaml`` on free ports; return its path."""
    shape = shape or LabShape()
    folder.mkdir(parents=True, exist_ok=True)
    ports = free_ports(1 + 2 * shape.brokers)
    data = folder / "data"
    spec = ClusterSpec(
        cluster_id="jbod-lab",
        controller=ControllerSpec(
            id=100,
            bind_host=LOOPBACK,
            port=ports[0],
            advertised_host=LOOPBACK,
            data_dir=str(data / "controller"),
            heartbeat_interval_ms=shape.heartbeat_interval_ms,
            session_timeout_ms=shape.session_timeout_ms,
        ),
        brokers=tuple(
            _broker(index + 1, ports[2 * index + 1], ports[2 * index + 2], data, shape)
            for index in range(shape.brokers)
        ),
        topics=shape.topics,
        faults=(),
        configs=dict(shape.configs),
        metrics=MetricsSpec(
            dump_dir=str(data / "metrics"),
            interval_ms=shape.metrics_interval_ms,
            to_topic=shape.metrics_to_topic,
        ),
    )
    file = folder / "cluster.yaml"
    file.write_text(dump_cluster_spec(secured(spec, folder) if shape.secure else spec))
    return file


def relocated(spec: ClusterSpec, data: Path) -> ClusterSpec:
    """Return the same cluster with all that it writes below ``data``, and no faults of its own."""
    return replace(
        spec,
        controller=replace(spec.controller, data_dir=str(data / "controller")),
        brokers=tuple(
            replace(
                broker,
                log_dirs=tuple(
                    replace(log_dir, path=str(data / f"b{broker.id}" / f"d{number}"))
                    for number, log_dir in enumerate(broker.log_dirs, start=1)
                ),
            )
            for broker in spec.brokers
        ),
        faults=(),
        metrics=replace(spec.metrics, dump_dir=str(data / "metrics")),
    )


def _broker(id_: int, port: int, control_port: int, data: Path, shape: LabShape) -> BrokerSpec:
    return BrokerSpec(
        id=id_,
        bind_host=LOOPBACK,
        port=port,
        advertised_host=LOOPBACK,
        advertised_port=port,
        control_port=control_port,
        rack=f"rack-{id_}",
        log_dirs=tuple(
            LogDirSpec(
                path=str(data / f"b{id_}" / f"d{number + 1}"), capacity_bytes=shape.capacity_bytes
            )
            for number in range(shape.log_dirs)
        ),
        configs={},
        emulate=shape.emulate.get(id_),
    )
