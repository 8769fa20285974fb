"""What the console plays of a run: frames that hold what nodes held."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jbodlab.http_api.core.bodies import RecordedRun
from jbodlab.http_api.core.snapshot import Snapshot
from jbodlab.worlds.recording import FRAMES_MAX, Recorded, recording
from protocol.ids import TopicPartition
from simulation.core.plan import ClusterPlan
from simulation.core.samples import (
    FaultSample,
    LogDirSample,
    NodeSample,
    PartitionSample,
    ReplicaSample,
    Role,
    Samples,
)
from simulation.core.verdict import StoryLine
from simulation.simulated_run import simulated_spec

TP = TopicPartition("orders", 0)
SPEC = simulated_spec(ClusterPlan(brokers=2, log_dirs=1))
PATHS = {broker.id: broker.log_dirs[0].path for broker in SPEC.brokers}
STORY = [(1_000_000, StoryLine(-1_000, "begins")), (4_000_000, StoryLine(2_000, "ends"))]


def replica(at_s: float, broker: int, role: Role, **more: Any) -> ReplicaSample:
    at_us = int(at_s * 1_000_000)
    return ReplicaSample(at_us, broker, 0, TP, role, log_dir=PATHS[broker], **more)


def played(samples: Samples) -> RecordedRun:
    content = recording(
        Recorded(samples, SPEC, STORY), name="a", seed=3, replay="again", is_ok=True
    )
    return msgspec.convert(content, RecordedRun)


def at(run: RecordedRun, at_ms: float) -> Snapshot:
    return [frame.snapshot for frame in run.frames if frame.at_ms <= at_ms][-1]


@pytest.fixture
def samples() -> Samples:
    leads = PartitionSample(1_000_000, TP, b"", (1, 2), (1, 2), leader=1)
    follows = PartitionSample(2_500_000, TP, b"", (1, 2), (2,), leader=2)
    return Samples(
        replicas=[
            replica(1, 1, Role.LEADER, size_bytes=7),
            replica(1, 2, Role.FOLLOWER, size_bytes=7),
            replica(2.5, 1, Role.OFFLINE, size_bytes=7),
            replica(3.5, 2, Role.GONE),
        ],
        partitions=[leads, follows],
        log_dirs=[LogDirSample(2_500_000, 1, PATHS[1], is_online=False)],
        nodes=[NodeSample(3_500_000, "broker-2", is_up=False)],
        faults=[FaultSample(2_400_000, 3_000_000, "broker-1", PATHS[1], "eio")],
    )


def test_times_count_from_when_the_clients_began(samples: Samples) -> None:
    run = played(samples)
    assert [line.at_ms for line in run.story] == [-1_000, 2_000]
    assert (run.frames[0].at_ms, run.frames[-1].at_ms) == (-1_000, 2_000)
    assert (run.name, run.seed, run.replay, run.is_ok) == ("a", 3, "again", True)


def test_a_disk_fails_where_it_did(samples: Samples) -> None:
    run = played(samples)
    disks = [at(run, at_ms).brokers[0].log_dirs[0] for at_ms in (399, 500)]
    assert [disk.is_online for disk in disks] == [True, False]
    assert [disk.path for disk in disks] == ["b1/d1", "b1/d1"]
    assert [at(run, at_ms).partitions[0].leader for at_ms in (0, 500)] == [1, 2]
    assert [len(at(run, at_ms).faults) for at_ms in (0, 450, 1_100)] == [0, 1, 0]


def test_a_broker_that_is_down_still_has_what_it_held(samples: Samples) -> None:
    run = played(samples)
    (before,), (after,) = (
        at(run, at_ms).brokers[1].log_dirs[0].replicas for at_ms in (1_400, 1_600)
    )
    assert (before.is_in_sync, after.is_in_sync) == (True, False)
    assert (before.size_bytes, after.size_bytes) == (7, 7)
    assert [at(run, at_ms).brokers[1].state for at_ms in (1_400, 1_600)] == ["running", "down"]


def test_a_run_with_very_many_moments_is_thinned(samples: Samples) -> None:
    samples.nodes = [
        NodeSample(1_000_000 + 1_000 * number, "broker-2", is_up=True) for number in range(2_900)
    ]
    frames = played(samples).frames
    assert FRAMES_MAX // 2 < len(frames) <= FRAMES_MAX + 1
    assert frames[-1].at_ms == 2_000
