"""Faults of requests as they are written: there and back, and every mistake."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.faults.document import fault_content, read_fault


@pytest.mark.parametrize(
    "content",
    [
        {
            "mode": "error",
            "node": "broker-1",
            "apis": ["Produce"],
            "error_code": "NETWORK_EXCEPTION",
        },
        {"mode": "delay", "node": "broker-1", "delay_ms": 5, "jitter_ms": 2, "when": "after"},
        {"mode": "drop", "node": "broker-1", "topic": "o*", "partition": 3, "nth": 2},
        {"mode": "close", "node": "broker-1", "client_id": "mine-*", "from_nth": 2, "times": 4},
        {"mode": "reset", "node": "broker-1", "delay_ms": 9, "probability": 0.5},
        {"mode": "throttle", "node": "broker-1", "throttle_time_ms": 100},
        {"mode": "trickle", "node": "broker-1", "bytes_per_second": 9, "way": "requests"},
        {"mode": "trickle", "node": "broker-1", "slice_bytes": 9, "slice_jitter_bytes": 2},
        {"mode": "truncate", "node": "broker-1", "capacity_bytes": 0},
        {"mode": "hold", "node": "broker-1", "version_min": 3, "version_max": 3},
        {"mode": "observe", "node": "broker-1"},
    ],
    ids=lambda content: content["mode"],
)
def test_a_fault_of_requests_is_read_and_written_back(content: dict[str, Any]) -> None:
    fault, mistakes = read_fault(content)
    assert mistakes == []
    assert fault is not None
    assert fault_content(fault) == content


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"mode": "error"}, "error_code: is missing; mode error needs it"),
        (
            {"mode": "error", "error_code": "NOT_LEADER"},
            "error_code: must be a name of Kafka's, is 'NOT_LEADER'",
        ),
        (
            {"mode": "hold", "apis": ["Prodce"]},
            "apis: Kafka has no API 'Prodce' (did you mean Produce?)",
        ),
        ({"mode": "hold", "apis": []}, "apis: must not be empty"),
        ({"mode": "hold", "apis": [5]}, "apis[0]: must be text, is 5"),
        ({"mode": "hold", "partition": 1}, "partition: is a partition of topic, which is missing"),
        (
            {"mode": "hold", "version_min": 4, "version_max": 3},
            "version_min: must be at most version_max, 3, is 4",
        ),
        (
            {"mode": "hold", "nth": 1, "times": 2},
            "nth: is one match; from_nth and times are of many",
        ),
        ({"mode": "hold", "delay_ms": 1}, "delay_ms: does not belong to mode hold"),
        (
            {"mode": "trickle"},
            "bytes_per_second: mode trickle needs one of bytes_per_second, slice_bytes",
        ),
        (
            {"mode": "trickle", "bytes_per_second": 5, "delay_ms": 1},
            "delay_ms: goes with slice_bytes",
        ),
        (
            {"mode": "trickle", "way": "requests", "slice_bytes": 4},
            "slice_bytes: is of answers; way requests takes bytes_per_second",
        ),
    ],
)
def test_a_mistake_names_its_key(keys: dict[str, Any], told: str) -> None:
    fault, mistakes = read_fault({"node": "broker-1", **keys})
    assert fault is None
    assert told in "\n".join(mistakes)
