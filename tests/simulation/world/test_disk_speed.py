"""How long operations of a disk take."""

from __future__ import annotations

from random import Random

import pytest

from protocol.faults.model import Operation
from simulation.world.disk_speed import DiskSpeed


def mean_us(speed: DiskSpeed, operation: Operation, size_bytes: int = 0) -> float:
    chance = Random(1)
    return sum(speed.cost_us(operation, size_bytes, chance) for _ in range(2000)) / 2000


def test_a_sync_takes_longer_than_a_write_and_a_write_longer_than_a_look():
    speed = DiskSpeed(look_us=5, operation_us=40, sync_us=400)
    assert mean_us(speed, Operation.LOOK) == pytest.approx(5, rel=0.1)
    assert mean_us(speed, Operation.APPEND) == pytest.approx(40, rel=0.1)
    assert mean_us(speed, Operation.SYNC) == pytest.approx(400, rel=0.1)


def test_bytes_take_their_time():
    speed = DiskSpeed(operation_us=0, bytes_per_second=1_000_000)
    assert mean_us(speed, Operation.APPEND, 1_000_000) == pytest.approx(1_000_000, rel=0.1)
