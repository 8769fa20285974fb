"""A cluster that is known by an address alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.free_ports import free_port, free_ports
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from tests.jbodlab.command_line import jbodlab, one_line
from tests.jbodlab.fake_node import fake_node


def metadata(port: int) -> MetadataResponse:
    node = MetadataResponseBroker(node_id=7, host="127.0.0.1", port=port, rack=None)
    return MetadataResponse(brokers=[node], topics=[MetadataResponseTopic(name="orders")])


def answering(port: int) -> dict[type, Any]:
    def answer(_request: MetadataRequest) -> MetadataResponse:
        return metadata(port)

    return {MetadataRequest: answer}


def test_the_brokers_are_those_that_the_first_one_that_answers_names() -> None:
    dead, port = free_ports(2)
    with fake_node(answering(port), port):
        (broker,) = cluster_behind(f"127.0.0.1:{dead}, 127.0.0.1:{port}").brokers
    assert (broker.id, broker.advertised_host, broker.advertised_port) == (7, "127.0.0.1", port)


@pytest.mark.parametrize("address", ["x", "x:", ":9092", "x:70000", "x:p"])
def test_what_is_no_address_is_told(address: str) -> None:
    with pytest.raises(LabError, match="is not HOST:PORT") as told:
        cluster_behind(address)
    assert told.value.exit_code == ExitCode.USAGE


def test_when_nobody_answers_every_address_is_told() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with pytest.raises(LabError) as told:
        cluster_behind(",".join(addresses))
    assert told.value.exit_code == ExitCode.NOT_RUNNING
    assert all(address in str(told.value) for address in addresses)


def test_commands_need_no_cluster_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    port = free_port()
    with fake_node(answering(port), port):
        result = jbodlab("status", "--json", "--bootstrap-server", f"127.0.0.1:{port}")
        assert result.exit_code == ExitCode.OK, result.stderr
        assert json.loads(result.stdout)["brokers"] == [7]
        moved = ["log-dirs", "describe", "--broker", "9"]
        result = jbodlab(*moved, "--bootstrap-server", f"127.0.0.1:{port}")
    assert one_line(result) == f"there is no broker 9 in 127.0.0.1:{port}, only 7"


@pytest.mark.parametrize(
    "words",
    [
        ["up"],
        ["down"],
        ["brokers", "kill", "1"],
        ["log-dirs", "fail", "data/b1/d1"],
        ["faults", "add", "mode=eio", "broker=1"],
        ["serve"],
        ["console"],
    ],
    ids=" ".join,
)
def test_what_an_address_does_not_suffice_for_says_what_to_do(words: list[str]) -> None:
    result = jbodlab(*words, "--bootstrap-server", "127.0.0.1:9092")
    assert result.exit_code == ExitCode.USAGE
    assert "run it where the cluster file is, or ask the HTTP API there" in one_line(result)
