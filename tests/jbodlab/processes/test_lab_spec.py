"""Throw-away clusters are whole cluster files."""

from __future__ import annotations

from pathlib import Path

from jbodlab.processes.lab_spec import LabShape, relocated, write_lab_spec
from protocol.cluster_file.spec import TopicSpec, load_cluster_spec


def test_a_lab_has_brokers_and_log_dirs_as_asked(tmp_path: Path) -> None:
    topic = TopicSpec(name="t", partitions=1, replication_factor=2, configs={})
    shape = LabShape(brokers=2, log_dirs=4, configs={"num.partitions": "3"}, topics=(topic,))
    spec = load_cluster_spec(write_lab_spec(tmp_path / "new", shape))
    assert [len(broker.log_dirs) for broker in spec.brokers] == [4, 4]
    assert spec.topics == (topic,)
    assert spec.broker(1).configs == {"num.partitions": "3"}


def test_two_labs_do_not_share_a_port(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path))
    ports = [spec.controller.port]
    for broker in spec.brokers:
        ports += [broker.port, broker.control_port]
    assert len(dict.fromkeys(ports)) == 7


def test_a_relocated_cluster_writes_only_below_its_folder(tmp_path: Path) -> None:
    spec = relocated(load_cluster_spec(Path("cluster.yaml")), tmp_path)
    paths = [spec.controller.data_dir, spec.metrics.dump_dir]
    paths += [log_dir.path for broker in spec.brokers for log_dir in broker.log_dirs]
    assert all(path.startswith(f"{tmp_path}/") for path in paths)
    assert len(dict.fromkeys(paths)) == 11
