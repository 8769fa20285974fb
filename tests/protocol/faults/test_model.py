"""The model of faults: which node is which broker, what a mode can meet."""

from __future__ import annotations

import pytest

from protocol.faults.model import MET_BY, DiskMode, Operation, broker_id_of, broker_node


def test_a_node_knows_its_broker() -> None:
    assert broker_node(12) == "broker-12"
    assert broker_id_of("broker-12") == 12


@pytest.mark.parametrize("node", ["controller", "broker-", "broker-x", "12", "*"])
def test_other_nodes_are_no_brokers(node: str) -> None:
    assert broker_id_of(node) is None


def test_every_mode_meets_something() -> None:
    assert list(MET_BY) == list(DiskMode)
    assert all(MET_BY.values())


def test_what_reads_nothing_is_never_flipped_and_what_writes_nothing_never_torn() -> None:
    assert MET_BY[DiskMode.BIT_FLIP] == {Operation.READ}
    assert Operation.SYNC not in MET_BY[DiskMode.READ_ONLY]
    assert Operation.READ not in MET_BY[DiskMode.TORN_WRITE]
