"""The model of faults: which node is which broker, what a mode can meet."""

from __future__ import annotations

import dataclasses

import pytest

from protocol.faults.model import (
    DamageLasts,
    DiskFault,
    DiskMode,
    Operation,
    broker_id_of,
    broker_node,
)


def test_a_node_knows_its_broker() -> None:
    assert broker_node(12) == "broker-12"
    assert broker_id_of("broker-12") == 12


@pytest.mark.parametrize("node", ["controller", "broker-", "broker-x", "12", "*"])
def test_other_nodes_are_no_brokers(node: str) -> None:
    assert broker_id_of(node) is None


def test_every_mode_meets_something() -> None:
    assert all(mode.row.meets for mode in DiskMode)


def test_what_reads_nothing_is_never_flipped_and_what_writes_nothing_never_torn() -> None:
    assert DiskMode.BIT_FLIP.row.meets == {Operation.READ}
    assert Operation.SYNC not in DiskMode.READ_ONLY.row.meets
    assert Operation.READ not in DiskMode.TORN_WRITE.row.meets


def test_the_word_of_a_mode_is_its_value() -> None:
    assert [DiskMode(mode.value) for mode in DiskMode] == list(DiskMode)
    assert DiskMode.EIO.value == "eio"


def test_the_keys_of_a_mode_are_fields_of_a_fault() -> None:
    fields = {field.name for field in dataclasses.fields(DiskFault)}
    assert [key for mode in DiskMode for key in mode.row.keys if key not in fields] == []


def test_only_a_slow_disk_needs_a_delay() -> None:
    assert [mode for mode in DiskMode if mode.row.needs_delay] == [DiskMode.SLOW]


def test_only_what_is_written_elsewhere_lasts() -> None:
    lasting = [mode for mode in DiskMode if mode.row.damage is DamageLasts.UNTIL_REPLACED]
    assert lasting == [DiskMode.MISDIRECTED_WRITE]
