"""Views become tables that a person can read."""

from __future__ import annotations

from rich.console import Console

from jbodlab.asking.reassignments import ReassignmentProgress
from jbodlab.tables import log_dirs_table, partitions_table, reassignments_table
from protocol.admin.cluster import PartitionView
from protocol.admin.log_dirs import LogDirView, ReplicaView


def test_the_table_tells_offline_dirs_by_their_error() -> None:
    replica = ReplicaView(topic="t", partition=0, size_bytes=3 << 20, offset_lag=0, is_future=False)
    views = [
        LogDirView(
            broker=1,
            path="/x/d1",
            error_code=0,
            total_bytes=8 << 20,
            usable_bytes=0,
            replicas=(replica,),
        ),
        LogDirView(
            broker=1, path="/x/d2", error_code=56, total_bytes=-1, usable_bytes=-1, replicas=()
        ),
    ]
    console = Console(width=120, record=True)
    with console.capture() as shown:
        console.print(log_dirs_table(views, lambda path: path.removeprefix("/x/")))
    good, bad = [line for line in shown.get().splitlines() if "d1" in line or "d2" in line]
    assert "online" in good
    assert "3.0 MiB" in good
    assert "8 MiB" in good
    assert "offline KAFKA_STORAGE_ERROR" in bad


def test_the_table_shows_a_partition_without_a_leader() -> None:
    view = PartitionView(
        topic="t",
        partition=3,
        leader=-1,
        leader_epoch=7,
        replicas=(1, 2),
        isr=(1,),
        offline_replicas=(1, 2),
        error_code=5,
    )
    console = Console(width=120)
    with console.capture() as shown:
        console.print(partitions_table([view]))
    row = next(line for line in shown.get().splitlines() if "t-3" in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == [
        "t-3",
        "none",
        "7",
        "1, 2",
        "1",
        "1, 2",
        "LEADER_NOT_AVAILABLE",
    ]


def test_the_table_shows_how_far_a_reassignment_is() -> None:
    half = ReassignmentProgress(
        topic="t",
        partition=3,
        replicas=(3, 1),
        adding=(3,),
        removing=(1,),
        copied_bytes=1 << 20,
        total_bytes=3 << 20,
        bytes_per_second=1 << 19,
    )
    console = Console(width=120)
    with console.capture() as shown:
        console.print(reassignments_table([half]))
    row = next(line for line in shown.get().splitlines() if "t-3" in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == [
        "t-3",
        "3, 1",
        "3",
        "1",
        "1.0 of 3.0 MiB",
        "0.5 MiB/s",
        "4 s",
    ]
