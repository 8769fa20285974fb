"""Two runs of a cluster, the second with a disk that slows and then fails: a dump with everything.

After that a replica changes its log dir, and another one its broker.

It takes about two minutes, for a report's buckets are two seconds.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Final

import jbodlab
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.fill import fill
from jbodlab.load import Load, dump_load
from jbodlab.processes.cluster import Cluster as ClusterProcesses
from tests.integration.labs import FAST, PATIENT_MS

TOPIC: Final = "orders"
LONE: Final = "lone"
"""Has one replica, so that nobody takes over: it is unavailable while its disk is."""
ARCHIVE: Final = "archive"
"""Has two replicas, so that there is a broker for one of them to go to."""
ARCHIVE_BYTES: Final = 16 << 20
PARTITIONS: Final = 6
THROTTLE: Final = {"replica.alter.log.dirs.io.max.bytes.per.second": "2000000"}
REASSIGNED_BYTES_PER_S: Final = 2_000_000
"""Four buckets long."""
PACE_MS: Final = 20
OFFLINE_SAMPLES: Final = 5
"""An outage is seen once a leader misses more than one sample."""
RECORDS: Final = 1500
"""That a stage lasts: some ten seconds."""


def write_dump_of_two_runs(folder: Path) -> None:
    """Write the metric rows of both runs below ``folder``."""
    configs = FAST | THROTTLE
    for is_broken in (False, True):
        with jbodlab.Cluster(configs=configs, session_timeout_ms=PATIENT_MS) as cluster:
            _run(cluster, is_broken=is_broken)
            shutil.copytree(cluster.folder / "data" / "metrics", folder, dirs_exist_ok=True)


def _run(cluster: jbodlab.Cluster, *, is_broken: bool) -> None:
    processes = ClusterProcesses(cluster.folder / "cluster.yaml")
    cluster.create_topic(TOPIC, PARTITIONS)
    with ClusterAdmin(processes.spec) as admin:
        for _ in fill(admin, TOPIC, size_bytes=24 << 20, record_bytes=1024, chance=Random(1)):
            pass
    servers = cluster.bootstrap_servers.split(",")
    load = Load(servers, TOPIC, partitions=PARTITIONS, size_bytes=2000, pace_ms=PACE_MS).start()
    _write_more(cluster, load, RECORDS)
    if is_broken:
        _break(cluster, load)
    acknowledged = load.stop().acknowledged
    dump_load(processes.spec, processes.run_id, TOPIC, list(acknowledged))


def _break(cluster: jbodlab.Cluster, load: Load) -> None:
    """Have the disk of a leader slow, fail and come back, and a replica moved meanwhile."""
    disk = cluster.log_dir_of(TOPIC, 0)
    cluster.create_topic(LONE, assignment={0: [disk.broker_id]})
    if cluster.log_dir_of(LONE, 0).path != disk.path:
        cluster.move(LONE, 0, disk)
    disk.fail("slow", delay_ms=25)
    _write_more(cluster, load, RECORDS)
    disk.fail("eio")
    disk.wait_until_offline()
    _write_more(cluster, load, RECORDS // 2)
    _await_samples(cluster, OFFLINE_SAMPLES)
    disk.heal()
    disk.restart()
    leader = cluster.partition(TOPIC, 1).leader
    source = cluster.log_dir_of(TOPIC, 1)
    target = next(each for each in cluster.broker(leader).log_dirs if each.path != source.path)
    cluster.move(TOPIC, 1, target)
    _write_more(cluster, load, RECORDS // 2)
    _reassign(cluster)
    _write_more(cluster, load, RECORDS // 2)


def _reassign(cluster: jbodlab.Cluster) -> None:
    """Give a replica of ``ARCHIVE`` to a broker that has none, as an operator does."""
    file = cluster.folder / "cluster.yaml"
    cluster.create_topic(ARCHIVE, assignment={0: [1, 2]})
    with ClusterAdmin(ClusterProcesses(file).spec) as admin:
        for _ in fill(
            admin, ARCHIVE, size_bytes=ARCHIVE_BYTES, record_bytes=1024, chance=Random(2)
        ):
            pass
    plan = cluster.folder / "plan.json"
    moved = {"topic": ARCHIVE, "partition": 0, "replicas": [1, 3]}
    plan.write_text(json.dumps({"version": 1, "partitions": [moved]}), encoding="utf-8")
    run = [sys.executable, "-m", "jbodlab", "rebalance", "run", str(plan), "--config", str(file)]
    throttled = ["--throttle", str(REASSIGNED_BYTES_PER_S)]
    subprocess.run([*run, *throttled], check=True, stdout=subprocess.DEVNULL)


def _await_samples(cluster: jbodlab.Cluster, count: int) -> None:
    """Wait until each broker has sampled its log dirs so many times more."""

    def sampled() -> int:
        files = (cluster.folder / "data" / "metrics" / "log_dir").rglob("*.jsonl")
        return sum(file.read_bytes().count(b"\n") for file in files)

    rows = count * sum(len(broker.log_dirs) for broker in cluster.brokers)
    wanted = sampled() + rows
    cluster.wait_until(lambda: sampled() >= wanted, f"log dirs were sampled {count} times more")


def _write_more(cluster: jbodlab.Cluster, load: Load, records: int) -> None:
    wanted = load.acknowledged_count + records
    what = f"{records} more records are acknowledged"
    cluster.wait_until(lambda: load.acknowledged_count >= wanted, what)
