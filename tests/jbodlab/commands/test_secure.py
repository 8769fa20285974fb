"""``up --secure`` adds its key to the cluster file, and shows what to paste, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.commands.secure import client_files_of, secure_cluster_file, secured_words
from jbodlab.errors import LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import load_cluster_spec


def test_the_key_is_added_once_and_the_rest_stays(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    before = file.read_text()
    assert client_files_of(load_cluster_spec(file)) is None
    secure_cluster_file(Cluster(file))
    secure_cluster_file(Cluster(file))
    assert file.read_text() == f"{before}secure: true\n"
    assert client_files_of(load_cluster_spec(file)) == tmp_path / "data/secure/clients"


def test_what_does_not_go_with_it_is_said_and_the_file_stays(tmp_path: Path) -> None:
    shape = LabShape(configs={"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"})
    file = write_lab_spec(tmp_path, shape)
    before = file.read_text()
    with pytest.raises(LabError, match=r"protocol\.map: is set by `secure: true`"):
        secure_cluster_file(Cluster(file))
    assert file.read_text() == before


@pytest.mark.parametrize("line", ["secure: false", "secure:  false  # not yet\n"])
def test_what_was_off_is_on(tmp_path: Path, line: str) -> None:
    file = write_lab_spec(tmp_path)
    before = file.read_text()
    file.write_text(f"{before}{line}")
    secure_cluster_file(Cluster(file))
    assert file.read_text() == f"{before}secure: true\n"


def test_there_is_a_line_for_each_kind_of_client(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path, LabShape(secure=True)))
    words = secured_words(spec, tmp_path)
    for kind in ("Java", "librdkafka", "kafka-python", "aiokafka", "kafkajs", "franz-go", "sarama"):
        assert f"\n  {kind}" in words
    assert f"127.0.0.1:{spec.brokers[0].port}," in words
