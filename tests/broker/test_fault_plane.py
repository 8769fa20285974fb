"""The faults of one broker: laid by id, counted, taken off."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from broker.fault_plane import ENDED_MAX, FaultPlane, FaultRefusedError
from broker.request_faults import RequestFaults
from broker.storage.disk import FileDisk
from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import DiskFault, DiskMode, NetworkFault, NetworkMode
from protocol.transport.network_faults import NetworkFaults
from tests.broker.storage.builders import faulty

NODE = "broker-1"


@pytest.fixture
def disks() -> dict[str, FaultyDisk]:
    return {path: faulty(MemoryDisk(path)) for path in ("/d1", "/d2")}


@pytest.fixture
def network() -> NetworkFaults:
    return NetworkFaults(NODE, chance=Random(1), nodes={})


@pytest.fixture
def plane(disks: dict[str, FaultyDisk], network: NetworkFaults) -> FaultPlane:
    return FaultPlane((1, 2, 3), disks, network, RequestFaults(network))


def eio(**details: Any) -> DiskFault:
    return DiskFault(mode=DiskMode.EIO, node=NODE, **details)


def test_a_fault_without_a_log_dir_lies_over_all_of_them_and_counts_them_together(
    plane: FaultPlane, disks: dict[str, FaultyDisk]
) -> None:
    assert plane.add(eio()) == "fault-1"
    for disk in disks.values():
        with pytest.raises(OSError, match="injected"):
            disk.exists("a")
    assert plane.describe() == [
        {
            "id": "fault-1",
            "is_in_force": True,
            "matches": 2,
            "hits": 2,
            "fault": {"mode": "eio", "node": NODE},
        }
    ]


def test_one_of_several_is_cleared_and_still_told_about(
    plane: FaultPlane, disks: dict[str, FaultyDisk]
) -> None:
    plane.add(eio(log_dir="/d1"))
    plane.add(eio(log_dir="/d2", nth=9), "mine")
    with pytest.raises(OSError, match="injected"):
        disks["/d1"].exists("a")
    assert [(each["id"], each["hits"]) for each in plane.clear(["fault-1"])] == [("fault-1", 1)]
    assert disks["/d1"].rules == ()
    assert len(disks["/d2"].rules) == 1
    assert [each["hits"] for each in plane.describe()] == [1, 0]
    assert [each["id"] for each in plane.clear()] == ["mine"]
    assert plane.clear() == []


def test_a_network_fault_is_set_where_the_broker_sends(
    plane: FaultPlane, network: NetworkFaults
) -> None:
    cut = NetworkFault(mode=NetworkMode.CUT, source=NODE, target="*")
    fault_id = plane.add(cut)
    assert [rule.fault for rule in network.rules] == [cut]
    plane.clear([fault_id])
    assert network.rules == ()


def test_clearing_a_disk_ends_what_was_on_it_alone(
    plane: FaultPlane, disks: dict[str, FaultyDisk]
) -> None:
    plane.add(eio(log_dir="/d1"), "one")
    plane.add(eio(nth=99), "all")
    plane.add(NetworkFault(mode=NetworkMode.CUT, source=NODE, target="*"), "cut")
    plane.clear_disk("/d1")
    in_force = {each["id"]: each["is_in_force"] for each in plane.describe()}
    assert in_force == {"one": False, "all": True, "cut": True}
    assert disks["/d1"].rules == ()


def test_an_id_is_taken_while_its_fault_is_in_force(plane: FaultPlane) -> None:
    plane.add(eio(), "mine")
    with pytest.raises(FaultRefusedError, match="id: mine is in force already"):
        plane.add(eio(), "mine")
    plane.clear(["mine"])
    assert plane.add(eio(), "mine") == "mine"
    assert len(plane.describe()) == 1


def test_every_mistake_is_told_and_nothing_is_set(plane: FaultPlane) -> None:
    contents = [
        {"mode": "eio", "broker": 1, "id": "fine"},
        {"mode": "eio", "broker": 2, "id": "fine"},
        {"mode": "eio", "broker": 1, "log_dir": "/d3", "id": 7},
        {"mode": "kill", "broker": 1},
        {"mode": "cut", "from": "broker-2", "to": "broker-3"},
        {"mode": "eoi", "broker": 1},
        "eio",
    ]
    with pytest.raises(FaultRefusedError) as caught:
        plane.add_all(contents)
    told = str(caught.value).splitlines()
    assert told[0] == "faults[1].node: this is broker-1, not broker-2"
    assert told[1] == "faults[2].id: must be text, is 7"
    assert told[2].startswith("faults[3].mode: kill is done from outside")
    assert told[3] == "faults[4].from: from or to must be broker-1"
    assert told[4].startswith("faults[5].mode: must be one of")
    assert told[5] == "faults[6]: must be a mapping of keys, is 'eio'"
    assert told[6] == "faults: id fine is given twice"
    assert plane.describe() == []


def test_a_cut_to_a_broker_that_there_is_not_is_refused(plane: FaultPlane) -> None:
    with pytest.raises(FaultRefusedError, match=r"to: there is no broker-9; brokers are 1, 2, 3"):
        plane.add_all([{"mode": "cut", "from": NODE, "to": "broker-9"}])
    for other in ("controller", "client", "*"):
        plane.add_all([{"mode": "cut", "from": NODE, "to": other}])


def test_an_unknown_log_dir_is_told_with_the_known_ones(plane: FaultPlane) -> None:
    with pytest.raises(FaultRefusedError, match="log_dir: /d3 is none of /d1, /d2"):
        plane.add(eio(log_dir="/d3"))


def test_what_a_disk_cannot_do_takes_all_of_a_request_back(
    network: NetworkFaults, tmp_path_factory: pytest.TempPathFactory
) -> None:
    disks = {"/d1": faulty(FileDisk(str(tmp_path_factory.mktemp("d1"))))}
    plane = FaultPlane((1, 2, 3), disks, network, RequestFaults(network))
    contents = [{"mode": "eio", "broker": 1}, {"mode": "lost_entry", "broker": 1}]
    with pytest.raises(FaultRefusedError, match="lost_entry: a real file system"):
        plane.add_all(contents)
    assert disks["/d1"].rules == ()


def test_only_so_many_that_are_over_are_remembered(plane: FaultPlane) -> None:
    for _ in range(ENDED_MAX + 5):
        plane.clear([plane.add(eio())])
    assert len(plane.describe()) <= ENDED_MAX + 1


def test_a_fault_of_requests_is_laid_described_released_and_taken_off(
    plane: FaultPlane, network: NetworkFaults
) -> None:
    added = plane.add_all(
        [
            {"mode": "hold", "broker": 1, "id": "barrier"},
            {"mode": "observe", "broker": 1, "apis": ["Produce"], "id": "watch"},
        ]
    )
    assert list(added) == ["barrier", "watch"]
    assert network.looks_at_requests
    assert [each.get("held") for each in plane.describe()] == [[], None]
    assert plane.release("barrier") == 0
    assert plane.passed() == {"watch": []}
    with pytest.raises(FaultRefusedError, match="watch is no fault of mode hold; there are: barr"):
        plane.release("watch")
    plane.clear()
    assert not network.looks_at_requests
    assert [each["is_in_force"] for each in plane.describe()] == [False, False]


def test_healing_a_disk_leaves_faults_of_requests_alone(plane: FaultPlane) -> None:
    plane.add_all([{"mode": "drop", "broker": 1}])
    plane.clear_disk("/d1")
    assert plane.describe()[0]["is_in_force"]
