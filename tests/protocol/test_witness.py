"""The witness of real processes."""

from __future__ import annotations

from protocol.ids import TopicPartition
from protocol.witness import Witness, unwitnessed


def test_it_takes_any_mark_and_no_note() -> None:
    witness: Witness = unwitnessed
    witness(int, TopicPartition)
