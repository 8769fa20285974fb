"""``cluster.yaml`` becomes a frozen spec, and every mistake in it is told."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import (
    ClusterSpec,
    LogDirSpec,
    SpecError,
    cluster_spec,
    load_cluster_spec,
    parse_cluster_spec,
)
from protocol.faults.document import MODES
from protocol.faults.model import (
    DiskFault,
    DiskMode,
    FileClass,
    NetworkFault,
    NetworkMode,
    Operation,
)

GOOD = """
cluster_id: lab
controller: { port: 9090 }
brokers:
  - { id: 1, port: 9092, rack: a,
      log_dirs: [{ path: b1/d1, capacity_mib: 1.5 }, { path: /abs/d2 }] }
  - { id: 2, port: 9093, bind_host: 0.0.0.0, advertised_host: b2.example, advertised_port: 29093,
      control_port: 7002, log_dirs: [{ path: b2/d1 }], configs: { num.replica.fetchers: 2 } }
topics:
  - { name: orders, partitions: 12, replication_factor: 2, configs: { min.insync.replicas: 2 } }
faults: [{ at_ms: 60000, broker: 1, log_dir: b1/d1, mode: slow, delay_ms: 5 },
  { at_ms: 5, until_ms: 9, broker: 2, mode: eio, operations: [sync], files: [log], times: 1 },
  { at_ms: 5, from: broker-1, to: "*", mode: cut, both_ways: false }]
configs: { unclean.leader.election.enable: true, num.replica.fetchers: 3 }
"""
SLOW = "broker: 1, log_dir: b1/d1, mode: slow, delay_ms: 5"


def parse(text: str) -> ClusterSpec:
    return parse_cluster_spec(text, base_dir=Path("/lab"), source="cluster.yaml")


def mistakes_of(text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse(text)
    return caught.value.mistakes


def test_paths_are_relative_to_the_folder_of_the_file() -> None:
    assert parse(GOOD).brokers[0].log_dirs == (
        LogDirSpec(path="/lab/b1/d1", capacity_bytes=3 << 19),
        LogDirSpec(path="/abs/d2", capacity_bytes=None),
    )


def test_bind_and_advertised_addresses_are_separate() -> None:
    broker = parse(GOOD).broker(2)
    assert (broker.bind_host, broker.port) == ("0.0.0.0", 9093)
    assert (broker.advertised_host, broker.advertised_port) == ("b2.example", 29093)
    assert parse(GOOD).broker(1).advertised_port == 9092


def test_the_control_port_is_a_thousand_above_unless_set() -> None:
    assert [broker.control_port for broker in parse(GOOD).brokers] == [10092, 7002]


def test_a_broker_overrides_configurations_of_the_cluster() -> None:
    spec = parse(GOOD)
    assert spec.broker(1).configs["num.replica.fetchers"] == "3"
    assert spec.broker(2).configs == {
        "unclean.leader.election.enable": "true",
        "num.replica.fetchers": "2",
    }


@pytest.mark.kafka_bug("KAFKA-20901")
@pytest.mark.scenario(252)
def test_cordoned_log_dirs_are_found_whatever_way_they_are_written() -> None:
    cordoned = "configs: { cordoned.log.dirs: './b1//d1, /abs/d2' }, "
    spec = parse(GOOD.replace("{ id: 1, port", "{ id: 1, " + cordoned + "port"))

    assert spec.broker(1).configs["cordoned.log.dirs"] == "/lab/b1/d1,/abs/d2"
    dumped = dump_cluster_spec(spec)
    assert parse_cluster_spec(dumped, base_dir=Path("/else"), source="x") == spec


@pytest.mark.scenario(244)
def test_a_star_cordons_every_log_dir_of_every_broker() -> None:
    spec = parse(GOOD.replace("configs: { unclean", "configs: { cordoned.log.dirs: '*', unclean"))

    assert [b.configs["cordoned.log.dirs"] for b in spec.brokers] == ["*", "*"]


def test_a_fault_has_times_beside_its_rule_and_an_absolute_log_dir() -> None:
    slow, failing, cut = parse(GOOD).faults
    assert (slow.at_ms, slow.until_ms) == (60000, None)
    assert slow.fault == DiskFault(
        mode=DiskMode.SLOW, node="broker-1", log_dir="/lab/b1/d1", delay_ms=5
    )
    assert (failing.at_ms, failing.until_ms) == (5, 9)
    assert failing.fault == DiskFault(
        mode=DiskMode.EIO,
        node="broker-2",
        operations=(Operation.SYNC,),
        files=(FileClass.LOG,),
        times=1,
    )
    assert cut.fault == NetworkFault(
        mode=NetworkMode.CUT, source="broker-1", target="*", both_ways=False
    )


def test_an_unknown_broker_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        parse(GOOD).broker(9)


def test_the_spec_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse(GOOD).cluster_id = "other"  # type: ignore[misc]


def test_a_dumped_spec_loads_to_the_same_spec_elsewhere() -> None:
    spec = parse(GOOD)
    again = parse_cluster_spec(dump_cluster_spec(spec), base_dir=Path("/else"), source="x")
    assert again == spec


def test_the_example_of_the_project_loads() -> None:
    spec = load_cluster_spec(Path(__file__).parents[3] / "cluster.yaml")
    assert [len(broker.log_dirs) for broker in spec.brokers] == [3, 3, 3]


def test_all_mistakes_are_told_at_once_with_their_path() -> None:
    text = """
cluster_id:
controller: { port: 99090, heartbeat_interval_ms: 5000, prot: 1 }
brokers:
  - { id: 1, port: 9092,
      log_dirs: [{ path: d1, capacity_mib: -5 }, { path: ./d1, capacity_mib: x }] }
  - { id: 1, port: 9092, log_dirs: [] }
topics: [{ name: a b, partitions: 0, replication_factor: 3, configs: { min.insync.replica: 2 } }]
faults: [{ at_ms: 1, broker: 1, log_dir: d3, mode: eo }]
configs: { log.dirs: x, num.replica.fetchers: x }
metrics: 5
"""
    assert mistakes_of(text) == [
        "cluster_id: must be text, is empty",
        "controller.prot: unknown key (did you mean port?)",
        "controller.port: must be <= 65535, is 99090",
        "brokers[0].log_dirs[0].capacity_mib: must be > 0.0, is -5",
        "brokers[0].log_dirs[1].capacity_mib: must be a number, is 'x'",
        "topics[0].name: must be 1 to 249 letters, digits, '.', '_' or '-', is 'a b'",
        "topics[0].partitions: must be >= 1, is 0",
        "metrics: must be a mapping of keys, is 5",
        "brokers[1].log_dirs: must not be empty",
        "brokers[1].id: id 1 is taken by brokers[0].id",
        "brokers[1].port: port 9092 is taken by brokers[0].port",
        "brokers[1].control_port: port 10092 is taken by brokers[0].control_port",
        "brokers[0].log_dirs[1].path: directory d1 is taken by brokers[0].log_dirs[0].path",
        "topics[0].replication_factor: must be <= 2, the number of brokers, is 3",
        "controller.session_timeout_ms: must be > heartbeat_interval_ms (5000), is 3000",
        f"faults[0].mode: must be one of {', '.join(MODES)}, is 'eo' (did you mean eio?)",
        "faults[0].log_dir: broker 1 has no log dir d3",
        "topics[0].configs.min.insync.replica: unknown configuration"
        " (did you mean min.insync.replicas?)",
        "configs.log.dirs: is set by the keys of the broker itself",
        "configs.num.replica.fetchers: Not a number of type INT, is 'x'",
    ]


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("port: 9092", "port: 9090", "brokers[0].port: port 9090 is taken by controller.port"),
        ("controller: { port: 9090 }", "", "controller: is missing"),
        ("broker: 1, log_dir", "broker: 7, log_dir", "faults[0].broker: there is no broker 7"),
        ("delay_ms: 5", "", "faults[0].delay_ms: mode slow needs one of delay_ms, op"),
        ("mode: slow", "mode: eio", "faults[0].delay_ms: does not belong to mode eio"),
        ("60000,", "6, until_ms: 6,", "faults[0].until_ms: must be > at_ms (6), is 6"),
        ("broker: 1, log_dir", "node: broker-7, log_dir", "faults[0].node: there is no node brok"),
        (SLOW, "mode: kill, broker: 1", "faults[0].mode: kill is done from outside: by `jbodlab"),
        (SLOW, "mode: cut, from: '*', to: controller", "faults[0]: names no broker"),
        (SLOW, "mode: cut, from: broker-3, to: '*'", "faults[0].from: there is no node broker-3"),
        ("id: 2, port", "id: 100, port", "brokers[1].id: id 100 is taken by controller.id"),
        ("b2/d1", "b1//d1", "brokers[1].log_dirs[0].path: directory b1/d1 is taken by"),
        ("cluster_id: lab", "cluster_id: [", "is no YAML: "),
        (
            "configs: { num.replica.fetchers: 2 }",
            "configs: { cordoned.log.dirs: 'b2/d1, b2/d7' }",
            "brokers[1].configs.cordoned.log.dirs: broker 2 has no log dir b2/d7",
        ),
        (
            "configs: { unclean",
            "configs: { cordoned.log.dirs: b1/d1, unclean",
            "configs.cordoned.log.dirs: broker 2 has no log dir b1/d1",
        ),
        (
            "configs: { unclean",
            "configs: { cordoned.log.dirs: '*,b1/d1', unclean",
            "configs.cordoned.log.dirs: When cordoned.log.dirs is set to *, it must not",
        ),
        ("brokers:", "broker:", "broker: unknown key (did you mean brokers?)"),
        ("port: 9093,", "port: '9093',", "brokers[1].port: must be a whole number, is '9093'"),
    ],
)
def test_one_mistake_is_told(old: str, new: str, mistake: str) -> None:
    assert old in GOOD
    assert any(told.startswith(mistake) for told in mistakes_of(GOOD.replace(old, new)))


def test_a_missing_file_is_a_spec_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        load_cluster_spec(tmp_path / "none.yaml")


def test_a_file_in_another_encoding_is_a_spec_error(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(GOOD.replace("lab", "größe", 1), encoding="utf-16")
    with pytest.raises(SpecError, match="is no UTF-8: byte 0xff in line 1"):
        load_cluster_spec(tmp_path / "cluster.yaml")


def test_a_key_that_is_given_twice_is_told_beside_other_mistakes() -> None:
    text = GOOD.replace("{ port: 9090 }", "{ port: 9090, port: 0 }")
    assert mistakes_of(text) == [
        "controller.port: is given twice, in lines 3 and 3",
        "controller.port: must be >= 1, is 0",
    ]


def test_a_capacity_without_end_is_a_mistake() -> None:
    (mistake,) = mistakes_of(GOOD.replace("capacity_mib: 1.5", "capacity_mib: .inf"))
    assert mistake.startswith("brokers[0].log_dirs[0].capacity_mib: must be ")


def test_paths_are_the_same_whatever_way_leads_to_the_file(tmp_path: Path) -> None:
    folder, other = tmp_path / "lab", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (tmp_path / "link").symlink_to(folder)
    (folder / "cluster.yaml").write_text(GOOD)
    spec = load_cluster_spec(folder / "cluster.yaml")
    for way in ("other/../lab", "link", "other/../link"):
        assert load_cluster_spec(tmp_path / way / "cluster.yaml") == spec


def test_an_empty_file_is_a_spec_error() -> None:
    assert mistakes_of("") == ["the file: must be a mapping of keys, is empty"]


ALIKE = GOOD.replace(" rack: a,", "")
BESIDE = """
zookeeper: {connect: "127.0.0.1:2181"}
beside: {kafka: "3.9.2", brokers: [{id: 9, port: 9999, log_dirs: [{path: far/d1}]}]}
"""


def test_brokers_of_apache_kafka_are_brokers_without_a_control_port() -> None:
    spec = parse(ALIKE + BESIDE)
    assert [each.id for each in spec.all_brokers] == [*(each.id for each in spec.brokers), 9]
    assert spec.broker(9).control_port == 0
    assert spec.beside is not None
    assert spec.beside.zookeeper_port == 2181


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("127.0.0.1:2181", "z1:2181", "zookeeper.connect: must be"),
        ("127.0.0.1:2181", "127.0.0.1:2181,127.0.0.1:2182", "zookeeper.connect: must be"),
        ("127.0.0.1:2181", "127.0.0.1:9999", "zookeeper.connect: port 9999 is taken by beside"),
        ('2181"}', '2181", set_acl: true}', "zookeeper.set_acl: needs zookeeper.username"),
        ('2181"}', '2181", username: ann, password: secret}', "zookeeper.username: the ZooKeeper"),
        ('kafka: "3.9.2", ', "", "beside.kafka: is missing"),
        ("port: 9999", "port: 9999, rack: x", "beside: all brokers must have a rack, or none"),
        ("id: 9", "id: 1", "beside.brokers[0].id: id 1 is taken by brokers[0].id"),
        ("[{path: far/d1}]", "[]", "beside.brokers[0].log_dirs: must not be empty"),
    ],
)
def test_what_does_not_go_with_apache_kafka_beside_is_told(
    old: str, new: str, mistake: str
) -> None:
    (told,) = mistakes_of(ALIKE + BESIDE.replace(old, new))
    assert told.startswith(mistake)


def test_beside_zookeeper_features_are_finalized_as_by_kafka_3_9() -> None:
    document = {
        "cluster_id": "c",
        "zookeeper": {"connect": "127.0.0.1:2181"},
        "controller": {"port": 9090, "id": 3},
        "brokers": [{"id": 3, "port": 9093, "log_dirs": [{"path": "d"}]}],
    }
    spec = cluster_spec(document, base_dir=Path("/"), source="f")
    assert spec.cluster_release == "3.9"
    assert spec.stands_for_election
