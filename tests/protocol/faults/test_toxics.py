"""Toxiproxy's words: each toxic becomes a fault that can be read, and mistakes are told."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.faults.document import read_fault
from protocol.faults.toxics import TOXICS, fault_of_toxic, is_toxic

MADE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "latency", "attributes": {"latency": 100, "jitter": 10}},
        {"mode": "latency", "from": "broker-1", "to": "client", "both_ways": False}
        | {"latency_ms": 100, "jitter_ms": 10},
    ),
    (
        {"type": "latency", "stream": "upstream", "latency": 5},
        {"mode": "latency", "from": "client", "to": "broker-1", "both_ways": False}
        | {"latency_ms": 5, "jitter_ms": 0},
    ),
    (
        {"type": "bandwidth", "rate": 3, "toxicity": 0.5},
        {"mode": "trickle", "broker": 1, "bytes_per_second": 3000, "probability": 0.5},
    ),
    (
        {"type": "bandwidth", "rate": 3, "stream": "upstream"},
        {"mode": "trickle", "broker": 1, "bytes_per_second": 3000, "way": "requests"},
    ),
    (
        {"type": "slow_close", "delay": 50, "name": "late"},
        {"mode": "close", "broker": 1, "delay_ms": 50, "when": "after", "id": "late"},
    ),
    ({"type": "timeout", "timeout": 70}, {"mode": "close", "broker": 1, "delay_ms": 70}),
    ({"type": "timeout", "timeout": 0}, {"mode": "drop", "broker": 1}),
    ({"type": "reset_peer", "timeout": 0}, {"mode": "reset", "broker": 1}),
    (
        {"type": "slicer", "average_size": 64, "size_variation": 32, "delay": 1500},
        {"mode": "trickle", "broker": 1, "slice_bytes": 64, "slice_jitter_bytes": 32}
        | {"delay_ms": 2},
    ),
    ({"type": "limit_data", "bytes": 9}, {"mode": "truncate", "broker": 1, "capacity_bytes": 9}),
]


@pytest.mark.parametrize(("toxic", "fault"), MADE, ids=lambda each: str(each.get("type")))
def test_a_toxic_becomes_a_fault(toxic: dict[str, Any], fault: dict[str, Any]) -> None:
    assert is_toxic(toxic)
    assert fault_of_toxic({"broker": 1, **toxic}) == (fault, [])
    assert read_fault(fault, other_keys=("id",))[1] == []


def test_every_toxic_is_made_here() -> None:
    assert sorted({toxic["type"] for toxic, _ in MADE}) == sorted(TOXICS)
    assert not is_toxic({"mode": "eio"})


@pytest.mark.parametrize(
    ("toxic", "told"),
    [
        ({"type": "latncy"}, "is 'latncy' (did you mean latency?)"),
        ({"type": "latency", "rate": 3}, "rate: is no attribute of a toxic latency"),
        ({"type": "latency", "toxicity": 0.5}, "toxicity: must be 1 for latency"),
        ({"type": "timeout", "timeout": -1}, "timeout: must be a whole number >= 0, is -1"),
        ({"type": "timeout", "stream": "up"}, "stream: must be one of downstream, upstream"),
        ({"type": "timeout", "attributes": 3}, "attributes: must be a mapping of keys, is 3"),
        (
            {"type": "timeout", "broker": None},
            "broker: is missing; it stands for Toxiproxy's proxy",
        ),
    ],
)
def test_a_mistake_is_told(toxic: dict[str, Any], told: str) -> None:
    assert told in "\n".join(fault_of_toxic({"broker": 1, **toxic})[1])
