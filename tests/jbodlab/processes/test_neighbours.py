"""What is started beside brokers of jbodlab: names, files and command lines."""

from __future__ import annotations

from pathlib import Path

from jbodlab.processes.neighbours import ZOOKEEPER, kind_of, neighbour_command, node_names
from protocol.cluster_file.spec import ClusterSpec, parse_cluster_spec

BESIDE = """
cluster_id: mixed
controller: {port: 9090}
zookeeper: {connect: "127.0.0.1:2181/lab", session_timeout_ms: 12000}
configs: {min.insync.replicas: 2, jbodlab.log.dir.io.deadline.ms: 5000}
brokers: [{id: 1, port: 9092, rack: a, log_dirs: [{path: d1}]}]
beside:
  kafka: "3.9.2"
  brokers:
    - {id: 2, port: 9093, rack: b, log_dirs: [{path: d2}, {path: d3}],
       configs: {num.io.threads: 2}}
"""


def spec_of(text: str, folder: Path) -> ClusterSpec:
    return parse_cluster_spec(text, base_dir=folder, source="cluster.yaml")


def properties(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def test_those_come_first_whom_the_others_need(tmp_path: Path) -> None:
    assert node_names(spec_of(BESIDE, tmp_path)) == [ZOOKEEPER, "broker-2", "broker-1"]
    standing = BESIDE.replace("{port: 9090}", "{port: 9090, id: 1}")
    assert node_names(spec_of(standing, tmp_path))[-1] == "controller"
    joined = BESIDE[: BESIDE.index("beside:")]
    assert node_names(spec_of(joined, tmp_path)) == ["broker-1"]
    alone = joined.replace(
        'zookeeper: {connect: "127.0.0.1:2181/lab", session_timeout_ms: 12000}', ""
    )
    assert node_names(spec_of(alone, tmp_path)) == ["controller", "broker-1"]


def test_it_is_told_whose_process_each_is(tmp_path: Path) -> None:
    spec = spec_of(BESIDE, tmp_path)
    assert [kind_of(spec, each) for each in ("broker-2", "broker-1")] == ["Apache Kafka 3.9.2", ""]
    assert kind_of(spec, ZOOKEEPER).startswith("Apache ZooKeeper 3")


def test_a_broker_of_apache_kafka_has_the_configs_of_the_cluster_and_its_own(
    tmp_path: Path,
) -> None:
    command = neighbour_command(spec_of(BESIDE, tmp_path), "broker-2", tmp_path, Path("/jars"))
    assert command[-2:] == ["kafka.Kafka", f"{tmp_path}/broker-2.properties"]
    assert f"{tmp_path}:/jars/*" in command
    configs = properties(tmp_path / "broker-2.properties")
    wanted = {
        "broker.id": "2",
        "broker.rack": "b",
        "log.dirs": f"{tmp_path}/d2,{tmp_path}/d3",
        "listeners": "PLAINTEXT://127.0.0.1:9093",
        "min.insync.replicas": "2",
        "num.io.threads": "2",
        "offsets.topic.replication.factor": "2",
        "zookeeper.connect": "127.0.0.1:2181/lab",
    }
    assert {key: configs[key] for key in wanted} == wanted
    assert [key for key in configs if key.startswith("jbodlab.")] == []


def test_zookeeper_keeps_its_data_where_a_controller_would(tmp_path: Path) -> None:
    command = neighbour_command(spec_of(BESIDE, tmp_path), ZOOKEEPER, tmp_path, Path("/jars"))
    configs = properties(Path(command[-1]))
    assert configs["clientPort"] == "2181"
    assert configs["dataDir"] == f"{tmp_path}/data/controller/zookeeper"
    assert int(configs["maxSessionTimeout"]) >= 12_000
