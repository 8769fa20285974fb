from __future__ import annotations

import re
from pathlib import Path

from jbodlab.errors import ExitCode
from protocol.cluster_file.spec import load_cluster_spec
from tests.jbodlab.command_line import jbodlab


def test_what_init_writes_is_a_cluster_of_the_shape_that_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    done = jbodlab("init", str(file), "--brokers", "2", "--log-dirs", "4", "--port", "29092")
    assert done.exit_code == ExitCode.OK, done.stderr
    assert "jbodlab up --config" in done.stdout
    spec = load_cluster_spec(file)
    assert [broker.port for broker in spec.brokers] == [29092, 29093]
    assert [len(broker.log_dirs) for broker in spec.brokers] == [4, 4]
    assert spec.controller.port == 29090
    assert spec.topics == (), "the guide's first topic is made by its reader"


def test_the_topics_and_faults_that_init_shows_need_their_marks_off_only(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    jbodlab("init", str(file), "--brokers", "2")
    shown = re.sub(r"(?m)^# (topics:|faults:|  - )", r"\1", file.read_text())
    file.write_text(shown)
    spec = load_cluster_spec(file)
    assert [(topic.name, topic.replication_factor) for topic in spec.topics] == [("orders", 2)]
    assert [each.at_ms for each in spec.faults] == [60_000]


def test_log_dirs_have_the_capacity_that_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    jbodlab("init", str(file), "--brokers", "1", "--capacity-mib", "64")
    (broker,) = load_cluster_spec(file).brokers
    assert {each.capacity_bytes for each in broker.log_dirs} == {64 << 20}


def test_a_file_that_is_there_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("mine")
    refused = jbodlab("init", str(file))
    assert (refused.exit_code, file.read_text()) == (ExitCode.FAILED, "mine")
    assert "--force writes over it" in refused.stderr
    assert jbodlab("init", str(file), "--force").exit_code == ExitCode.OK


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    refused = jbodlab("init", str(tmp_path / "none" / "cluster.yaml"))
    assert refused.exit_code == ExitCode.FAILED
    assert "there is no folder" in refused.stderr
