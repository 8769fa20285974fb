"""Faults as mappings: every kind there and back, every mistake with its path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.faults.document import MODES, fault_content, read_fault
from protocol.faults.model import (
    DiskFault,
    DiskMode,
    Fault,
    FileClass,
    NetworkFault,
    NetworkMode,
    NodeFault,
    NodeMode,
    Operation,
)

NODES = st.sampled_from(["broker-1", "broker-2", "controller"])


@st.composite
def disk_faults(draw: st.DrawFn) -> DiskFault:
    mode = draw(st.sampled_from(DiskMode))
    met = sorted(mode.row.meets, key=lambda operation: operation.value)
    counted: dict[str, int] = draw(
        st.sampled_from([{}, {"nth": 3}, {"from_nth": 2, "times": 4}, {"times": 1}])
    )
    special: dict[str, int] = {}
    if mode is DiskMode.SLOW:
        special = draw(
            st.sampled_from([{"delay_ms": 5}, {"operations_per_second": 9, "bytes_per_second": 7}])
        )
    if mode is DiskMode.ENOSPC:
        special = {"capacity_bytes": draw(st.integers(0, 9))}
    return DiskFault(
        mode=mode,
        node=draw(NODES),
        log_dir=draw(st.sampled_from([None, "b1/d1"])),
        operations=draw(st.none() | st.just(tuple(met))),
        files=draw(st.none() | st.just((FileClass.LOG, FileClass.INDEX))),
        name=draw(st.sampled_from([None, "orders-*"])),
        probability=draw(st.sampled_from([1.0, 0.25])),
        **counted,
        **special,
    )


@st.composite
def network_faults(draw: st.DrawFn) -> NetworkFault:
    mode = draw(st.sampled_from(NetworkMode))
    special: dict[str, Any] = {}
    if mode is NetworkMode.LATENCY:
        special = {"latency_ms": draw(st.integers(0, 9)), "jitter_ms": draw(st.integers(0, 9))}
    if mode is NetworkMode.LOSS:
        special = {"probability": draw(st.sampled_from([0.1, 1.0])), "retransmit_ms": 50}
    if mode is not NetworkMode.HALF_OPEN:
        special["both_ways"] = draw(st.booleans())
    return NetworkFault(mode=mode, source=draw(NODES), target="*", **special)


@st.composite
def node_faults(draw: st.DrawFn) -> NodeFault:
    mode = draw(st.sampled_from(NodeMode))
    special: dict[str, Any] = {}
    if mode is NodeMode.SLOW_CPU:
        special = {"factor": 2.5}
    if mode is NodeMode.CLOCK_SKEW:
        special = {"skew_ms": draw(st.integers(-5000, 5000))}
    return NodeFault(mode=mode, node=draw(NODES), **special)


@given(st.one_of(disk_faults(), network_faults(), node_faults()))
def test_every_fault_is_written_and_read_back(fault: Fault) -> None:
    assert read_fault(fault_content(fault)) == (fault, [])


def test_a_mapping_holds_no_defaults() -> None:
    fault = DiskFault(
        mode=DiskMode.EIO, node="broker-1", operations=(Operation.SYNC,), from_nth=2, times=1
    )
    assert fault_content(fault) == {
        "mode": "eio",
        "node": "broker-1",
        "operations": ["sync"],
        "from_nth": 2,
        "times": 1,
    }


def test_a_broker_is_another_way_to_name_a_node_and_other_keys_are_left_to_the_caller() -> None:
    content = {"at_ms": 5, "mode": "cut", "from": "broker-1", "to": "*"}
    fault, mistakes = read_fault(content, other_keys=("at_ms",))
    assert not mistakes
    assert fault == NetworkFault(mode=NetworkMode.CUT, source="broker-1", target="*")
    fault, _ = read_fault({"mode": "pause", "broker": 3})
    assert fault == NodeFault(mode=NodeMode.PAUSE, node="broker-3")


@pytest.mark.parametrize(
    ("content", "mistakes"),
    [
        ("eio", ["f[2]: must be a mapping of keys, is 'eio'"]),
        ({"node": "broker-1"}, ["f[2].mode: is missing"]),
        (
            {"mode": "eiq", "node": "broker-1"},
            [f"f[2].mode: must be one of {', '.join(MODES)}, is 'eiq' (did you mean eio?)"],
        ),
        ({"mode": "eio"}, ["f[2].node: is missing; broker may stand for it"]),
        (
            {"mode": "eio", "node": "broker-1", "broker": 1},
            ["f[2].broker: is another way to write node, which is given too"],
        ),
        ({"mode": "kill", "node": "*"}, ["f[2].node: must be one node, is '*'"]),
        (
            {"mode": "kill", "node": "Broker 1"},
            ["f[2].node: must be the name of a node, such as \"broker-1\", is 'Broker 1'"],
        ),
        (
            {"mode": "slow", "broker": 1},
            [
                "f[2].delay_ms: mode slow needs one of delay_ms, operations_per_second, "
                "bytes_per_second"
            ],
        ),
        (
            {"mode": "kill", "broker": 1, "nth": 0, "delay_ms": 4, "log_dri": "x"},
            [
                "f[2].log_dri: unknown key (did you mean log_dir?)",
                "f[2].nth: must be >= 1, is 0",
                "f[2].nth: does not belong to mode kill",
                "f[2].delay_ms: does not belong to mode kill",
            ],
        ),
        (
            {"mode": "eio", "broker": 1, "nth": 2, "times": 2, "probability": 0},
            [
                "f[2].probability: must be > 0.0, is 0",
                "f[2].nth: is one match; from_nth and times are of many",
            ],
        ),
        (
            {"mode": "bit_flip", "broker": 1, "operations": ["append", "reed"], "files": []},
            [
                "f[2].operations[1]: must be one of "
                f"{', '.join(each.value for each in Operation)}, is 'reed'",
                "f[2].files: must not be empty",
                "f[2].operations: mode bit_flip never meets append",
            ],
        ),
        (
            {"mode": "eio", "broker": 1, "operations": ["foo"]},
            [
                "f[2].operations[0]: must be one of "
                f"{', '.join(each.value for each in Operation)}, is 'foo'",
            ],
        ),
        (
            {"mode": "loss", "from": "broker-1"},
            [
                "f[2].to: is missing; mode loss needs it",
                "f[2].probability: is missing; mode loss needs it",
            ],
        ),
        (
            {"mode": "half_open", "from": "broker-1", "to": "broker-1", "both_ways": False},
            [
                "f[2].both_ways: does not belong to mode half_open",
                "f[2].to: must be another node than from, is 'broker-1'",
            ],
        ),
        (
            {"mode": "slow_cpu", "node": "broker-1", "factor": 1},
            ["f[2].factor: must be > 1.0, is 1"],
        ),
    ],
)
def test_all_mistakes_are_told_with_their_path(content: Any, mistakes: list[str]) -> None:
    assert read_fault(content, path=("f", 2)) == (None, mistakes)


@pytest.mark.parametrize(
    ("fault", "mistake"),
    [
        ({"mode": "slow", "broker": 1, "delay_ms": 10**9}, "delay_ms: must be <= 86400000, is 10"),
        ({"mode": "eio", "broker": 1, "nth": 10**13}, "nth: must be <= 1000000000000, is 10"),
        ({"mode": "eio", "broker": 2**31}, "broker: must be <= 2147483647, is 2147483648"),
        ({"mode": "enospc", "broker": 1, "capacity_bytes": 2**70}, "capacity_bytes: must be <= "),
        ({"mode": "slow_cpu", "broker": 1, "factor": 1e300}, "factor: must be <= 1000000"),
        ({"mode": "slow_cpu", "broker": 1, "factor": float("inf")}, "factor: must be <= 1000000"),
        ({"mode": "clock_skew", "broker": 1, "skew_ms": -(10**15)}, "skew_ms: must be >= -"),
        (
            {"mode": "latency", "from": "broker-1", "to": "*", "latency_ms": 10**12},
            "latency_ms: must be <= 86400000",
        ),
    ],
)
def test_a_number_beyond_its_limit_is_named_with_the_limit(
    fault: dict[str, Any], mistake: str
) -> None:
    read, mistakes = read_fault(fault)
    assert read is None
    assert any(each.startswith(mistake) for each in mistakes), mistakes
