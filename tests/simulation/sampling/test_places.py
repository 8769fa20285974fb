"""Where faults are."""

from __future__ import annotations

from protocol.faults.model import ANY_NODE, DiskFault, DiskMode, NetworkFault, NetworkMode
from simulation.sampling.places import place_of


def test_a_fault_of_one_log_dir_is_there() -> None:
    fault = DiskFault(mode=DiskMode.EIO, node="broker-1", log_dir="/d1")

    assert place_of(fault) == ("broker-1", "/d1")


def test_a_fault_of_all_log_dirs_is_on_its_node() -> None:
    assert place_of(DiskFault(mode=DiskMode.EIO, node="broker-1")) == ("broker-1", "")


def test_what_concerns_more_than_one_node_is_everywhere() -> None:
    network = NetworkFault(mode=NetworkMode.CUT, source="broker-1", target="broker-2")

    assert place_of(network) == ("", "")
    assert place_of(DiskFault(mode=DiskMode.EIO, node=ANY_NODE, log_dir="/d1")) == ("", "")
