"""A cluster whose brokers have several log dirs each starts, stops and starts again."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.admin import ClusterAdmin
from jbodlab.cluster import Cluster, broker_name, running
from jbodlab.lab_spec import LabShape, write_lab_spec
from tests.integration.labs import FAST, Lab

BROKERS = (1, 2, 3)
CLEAN = ".kafka_cleanshutdown"


def read_properties(path: Path) -> dict[str, str]:
    lines = (path / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.mark.scenario(234)
def test_every_log_dir_is_formatted_once_and_closed_cleanly(tmp_path: Path) -> None:
    cluster = Cluster(write_lab_spec(tmp_path, LabShape(configs=FAST)))
    folders = [Path(one.path) for broker in cluster.spec.brokers for one in broker.log_dirs]
    assert len(folders) > len(BROKERS)
    with running(cluster), ClusterAdmin(cluster.spec) as admin:
        lab = Lab(cluster, admin)
        lab.create("kept", 6)
        load = lab.load("kept", 6)
        lab.wait_for_records(load, 100)
        report = load.stop()
        formatted = [read_properties(folder) for folder in folders]
        assert [one["broker.id"] for one in formatted] == [
            str(broker.id) for broker in cluster.spec.brokers for _ in broker.log_dirs
        ]
        assert len({one["cluster.id"] for one in formatted}) == 1
        assert len({one["directory.id"] for one in formatted}) == len(folders)
        assert not any((folder / CLEAN).exists() for folder in folders)

        cluster.stop([broker_name(broker) for broker in BROKERS])
        assert all((folder / CLEAN).exists() for folder in folders)
        for broker in BROKERS:
            cluster.start_broker(broker)

        lab.wait_for_full_isr("kept")
        assert [read_properties(folder) for folder in folders] == formatted
        assert not any((folder / CLEAN).exists() for folder in folders)
        assert all(not lab.offline_dirs(broker) for broker in BROKERS)
        lab.assert_nothing_lost("kept", report.acknowledged, 6)
