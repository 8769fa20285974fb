"""The demo beside Apache Kafka: its controller elects when the disk of jbodlab's broker breaks.

Every number it tells was measured in the same run. It leaves nothing running and no data behind.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from jbodlab.asking.layout import broker_at
from jbodlab.demo import steps
from jbodlab.demo.narrator import Narrator
from jbodlab.demo.run import check_all_stopped
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.free_ports import LOOPBACK, free_ports
from jbodlab.processes.kafka_jars import VERSION, ZOOKEEPER_VERSION
from jbodlab.processes.lab_spec import relocated
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import BesideSpec, BrokerSpec, ClusterSpec, ZookeeperSpec

_SESSION_TIMEOUT_MS: Final = 6000


def run_mixed_demo(spec: ClusterSpec, narrator: Narrator) -> None:
    """Run it with the first broker of ``spec`` and two of Apache Kafka, in a folder of its own.

    Raises:
        LabError: a step went wrong; everything has been stopped, the folder with the logs stays.
    """
    folder = Path(tempfile.mkdtemp(prefix="jbodlab-mixed-demo-"))
    file = folder / "cluster.yaml"
    file.write_text(dump_cluster_spec(mixed_spec(spec, folder / "data")))
    _run_steps(Cluster(file), narrator)
    shutil.rmtree(folder, ignore_errors=True)


def mixed_spec(spec: ClusterSpec, data: Path) -> ClusterSpec:
    """Return a cluster of the first broker of ``spec`` and two of Apache Kafka, on free ports."""
    own = relocated(dataclasses.replace(spec, topics=()), data).brokers[0]
    zookeeper_port, controller_port, port, control_port, *others = free_ports(6)
    own = dataclasses.replace(
        own, port=port, advertised_port=port, control_port=control_port, emulate=None, rack=None
    )
    neighbours = tuple(
        _neighbour(own.id + number, neighbour_port, data)
        for number, neighbour_port in enumerate(others, start=1)
    )
    return dataclasses.replace(
        relocated(spec, data),
        controller=dataclasses.replace(
            relocated(spec, data).controller, port=controller_port, id=own.id + len(others) + 1
        ),
        brokers=(own,),
        topics=(),
        zookeeper=ZookeeperSpec(
            connect=f"{LOOPBACK}:{zookeeper_port}", session_timeout_ms=_SESSION_TIMEOUT_MS
        ),
        beside=BesideSpec(kafka=VERSION, brokers=neighbours, zookeeper_port=zookeeper_port),
    )


def _neighbour(broker_id: int, port: int, data: Path) -> BrokerSpec:
    paths = [str(data / f"b{broker_id}" / name) for name in ("d1", "d2")]
    return broker_at(broker_id, LOOPBACK, port, log_dirs=paths)


def _run_steps(cluster: Cluster, narrator: Narrator) -> None:
    narrator.title("jbodlab: one broker with breakable disks in a cluster of Apache Kafka")
    began = time.monotonic()
    with running(cluster):
        _show_start(cluster, narrator, (time.monotonic() - began) * 1000)
        demo = steps.DemoSteps(cluster, narrator)
        try:
            demo.create_topic()
            demo.produce_and_consume()
            demo.break_log_dir()
            demo.tell_controller()
            demo.verify()
            demo.repair()
        finally:
            demo.close()
    check_all_stopped(cluster)
    narrator.found("nothing is left running")


def _show_start(cluster: Cluster, narrator: Narrator, took_ms: float) -> None:
    spec = cluster.spec
    assert spec.beside is not None
    ids = ", ".join(str(each.id) for each in spec.beside.brokers)
    narrator.step(
        f"Start ZooKeeper {ZOOKEEPER_VERSION}, Apache Kafka {VERSION} (broker {ids}) and broker "
        f"{spec.brokers[0].id} of jbodlab"
    )
    sizes = {name: process.rss_bytes() >> 20 for name, process in cluster.processes.items()}
    narrator.found(
        f"all know each other after {took_ms / 1000:.1f} s; "
        + ", ".join(f"{name} {size} MiB" for name, size in sizes.items()),
        start_ms=round(took_ms),
        rss_mib=sizes,
    )
