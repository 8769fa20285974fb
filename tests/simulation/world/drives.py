"""A drive and a worker of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from protocol.cluster_file.spec import LogDirSpec
from simulation.world.disk_worker import SimDiskWorker
from simulation.world.drive import Drive
from tests.simulation.world.worlds import sim_loop


def new_drive(capacity_bytes: int | None = None) -> Drive:
    """Return a drive of broker 1."""
    spec = LogDirSpec(path="/d1", capacity_bytes=capacity_bytes)
    return Drive(sim_loop(), "broker-1", spec, lambda: 0)


def worker_of(drive: Drive) -> SimDiskWorker:
    """Return a worker of ``drive``."""
    return SimDiskWorker(
        sim_loop(),
        disk=lambda: drive.disk,
        may_wait=lambda: bool(drive.faults.rules),
        chance=drive.chance,
    )


def run(worker: SimDiskWorker, *jobs: Callable[[], Any]) -> asyncio.Future[list[Any]]:
    """Have jobs done; the future ends with their results."""
    done: asyncio.Future[list[Any]] = sim_loop().create_future()
    worker.run(jobs, done.set_result)
    return done
