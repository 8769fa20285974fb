"""``up --beside kafka`` adds brokers of Apache Kafka to the cluster file."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.commands.beside import add_neighbours, neighbours_content, neighbours_words
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.free_ports import free_port
from jbodlab.processes.lab_spec import write_lab_spec
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import load_cluster_spec, parse_cluster_spec
from tests.jbodlab.command_line import jbodlab, one_line


def test_two_brokers_are_added_once_and_the_rest_stays(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    before = file.read_text()
    add_neighbours(file)
    added = file.read_text()
    add_neighbours(file)
    assert file.read_text() == added
    assert added.startswith(before)
    spec = load_cluster_spec(file)
    assert spec.beside is not None
    assert [each.id for each in spec.all_brokers] == [1, 2, 3, 4, 5]
    ports = [each.port for each in spec.all_brokers] + [each.control_port for each in spec.brokers]
    assert len(dict.fromkeys(ports)) == len(ports)
    assert spec.beside.brokers[0].log_dirs[0].path == f"{tmp_path}/data/b4/d1"


def test_a_dumped_spec_has_them(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    add_neighbours(file)
    spec = load_cluster_spec(file)
    assert parse_cluster_spec(dump_cluster_spec(spec), base_dir=Path("/else"), source="x") == spec


def test_a_file_that_joins_a_cluster_stays_as_it_is(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    file.write_text(f'{file.read_text()}zookeeper: {{connect: "z1:2181,z2:2181"}}\n')
    before = file.read_text()
    with pytest.raises(LabError, match="leave --beside out") as raised:
        add_neighbours(file)
    assert raised.value.exit_code is ExitCode.BAD_CONFIG
    assert file.read_text() == before


def test_what_runs_is_told_in_words_and_as_json(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    assert neighbours_words(load_cluster_spec(file)) == ""
    assert neighbours_content(load_cluster_spec(file)) is None
    add_neighbours(file)
    spec = load_cluster_spec(file)
    assert "Apache Kafka 3.9.2: broker 4, 5 (-Xmx256m each" in neighbours_words(spec)
    content = neighbours_content(spec)
    assert content is not None
    assert (content["kafka"], content["brokers"]) == ("3.9.2", [4, 5])


def test_without_java_up_says_so_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_lab_spec(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = jbodlab("up", "--beside", "kafka", "--config", str(file))
    assert done.exit_code == ExitCode.MISSING_JAVA
    assert "no java in PATH" in done.stderr
    assert not (tmp_path / "data" / "run").exists()


def test_disks_of_apache_kafkas_brokers_are_not_jbodlabs_to_break(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    port = free_port()
    file.write_text(
        f'{file.read_text()}zookeeper: {{connect: "127.0.0.1:{port}"}}\n'
        'beside: {kafka: "3.9.2", brokers: '
        f"[{{id: 9, port: {free_port()}, rack: r, log_dirs: [{{path: data/b9/d1}}]}}]}}\n"
    )
    done = jbodlab("log-dirs", "fail", "data/b9/d1", "--config", str(file))
    assert done.exit_code == ExitCode.NOT_RUNNING
    assert one_line(done).startswith("broker 9 does not run")
