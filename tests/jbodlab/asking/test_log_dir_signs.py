"""What is wrong with a log dir is said in words; nothing where nothing is."""

from __future__ import annotations

from typing import Any

import pytest

from jbodlab.asking.log_dir_signs import signs_of

WELL: dict[str, Any] = {
    "online": True,
    "reason": "",
    "faults": [],
    "queue_depth": 0,
    "standing_ms": 0,
    "deadline_ms": 10_000,
    "last_hop_ms": 3,
}
EIO = "log dir /d1 is offline: append: [Errno 5] Input/output error"


@pytest.mark.parametrize(
    ("told", "signs"),
    [
        ({}, []),
        ({"online": False, "reason": EIO}, ["append: [Errno 5] Input/output error"]),
        ({"faults": [{"mode": "bit_flip", "hits": 7}]}, ["fault bit_flip in force, 7 hits"]),
        ({"faults": [{"mode": "eio", "hits": 1}]}, ["fault eio in force, 1 hit"]),
        (
            {"standing_ms": 4200, "queue_depth": 3, "last_hop_ms": 900},
            ["no answer from its disk for 4.2 s, 3 jobs wait; offline after 10 s"],
        ),
        ({"last_hop_ms": 250}, ["slow: the last work took 250 ms"]),
        (
            {"online": False, "reason": EIO, "last_hop_ms": 250},
            ["append: [Errno 5] Input/output error"],
        ),
    ],
)
def test_each_sign_has_its_words(told: dict[str, Any], signs: list[str]) -> None:
    assert signs_of({**WELL, **told}) == signs
