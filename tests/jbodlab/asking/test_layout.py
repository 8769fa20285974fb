"""Brokers and log dirs by the names that people have for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.asking.layout import Layout, broker_at
from jbodlab.errors import ExitCode, LabError

LAYOUT = Layout(
    [
        broker_at(1, "a", 9092, log_dirs=["/lab/data/d1", "/lab/data/d2"]),
        broker_at(2, "b", 9093, log_dirs=["/disks/d3"]),
    ],
    Path("/lab/cluster.yaml"),
)


def test_nodes_are_named_the_controller_first() -> None:
    assert LAYOUT.names == ["controller", "broker-1", "broker-2"]
    assert LAYOUT.bootstrap_servers == ["a:9092", "b:9093"]


@pytest.mark.parametrize(
    ("name", "broker", "path"),
    [
        ("data/d1", 1, "/lab/data/d1"),
        ("./data/../data/d2", 1, "/lab/data/d2"),
        ("/disks/d3", 2, "/disks/d3"),
    ],
)
def test_a_log_dir_is_named_from_the_folder_of_the_cluster_file(
    name: str, broker: int, path: str
) -> None:
    found, full_path = LAYOUT.log_dir(name)
    assert (found.id, full_path) == (broker, path)
    assert LAYOUT.log_dir(LAYOUT.short(path)) == (found, path)


def test_what_there_is_not_is_told_with_what_there_is() -> None:
    with pytest.raises(LabError, match="there are data/d1, data/d2, /disks/d3") as told:
        LAYOUT.log_dir("data/d9")
    assert told.value.exit_code == ExitCode.FAILED
    with pytest.raises(LabError, match=r"no broker 9 in /lab/cluster\.yaml, only 1, 2"):
        LAYOUT.broker(9)
