"""Where the HTTP API beside a cluster may listen; with processes: tests/integration."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import LOOPBACK
from jbodlab.processes.http_api_process import http_api_address, http_api_port
from jbodlab.processes.lab_spec import write_lab_spec


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(write_lab_spec(tmp_path))


def test_a_port_that_is_asked_for_must_be_free(cluster: Cluster) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=rf"port {port} .* in use .*another --http-port") as told:
            http_api_port(cluster, port)
        assert told.value.exit_code == ExitCode.PORT_IN_USE
    assert http_api_port(cluster, port) == port


def test_without_a_wish_there_is_always_one(cluster: Cluster) -> None:
    port = http_api_port(cluster, None)
    with socket.create_server((LOOPBACK, port)):
        assert http_api_port(cluster, None) != port


def test_none_runs_beside_a_cluster_that_does_not(cluster: Cluster) -> None:
    assert http_api_address(cluster) is None
