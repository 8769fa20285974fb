"""The steps of the demo that need a running cluster, each with what it measures."""

from __future__ import annotations

import time
from typing import Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.moves import watch_move
from jbodlab.demo.narrator import Narrator
from jbodlab.errors import ExitCode, LabError
from jbodlab.load import (
    Acknowledged,
    Load,
    LoadReport,
    Verification,
    dump_load,
    read_numbers,
    verify,
)
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.neighbours import kind_of
from jbodlab.tables import log_dirs_table, partitions_table
from protocol.admin.cluster import PartitionView
from protocol.cluster_file.spec import TopicSpec
from protocol.errors import ErrorCode
from protocol.faults.model import broker_node

TOPIC: Final = "orders"
PARTITIONS: Final = 6
RECORDS_BEFORE: Final = 2000
RECORDS_AFTER: Final = 1500
RECORD_BYTES: Final = 1000
DEADLINE_MS: Final = 120_000
RECORDS_BESIDE: Final = 1000
FILL_RECORDS: Final = 800
FILL_RECORD_BYTES: Final = 50_000
FILL_LOAD: Final = 10_000_000
SECOND_LOAD: Final = 20_000_000
"""First numbers of the loads around the move, far above those of the load before."""


def show_start(cluster: Cluster, narrator: Narrator, took_ms: float) -> None:
    """Tell what was started and what it takes."""
    narrator.step("Start one controller and three brokers with three log dirs each")
    sizes = [process.rss_bytes() >> 20 for process in cluster.processes.values()]
    narrator.found(
        f"{len(sizes)} processes answered metadata after {took_ms / 1000:.2f} s, "
        f"{max(sizes)} MiB each at most",
        start_ms=round(took_ms),
        rss_mib_max=max(sizes),
    )


class DemoSteps:
    """What the steps hand from one to the next."""

    def __init__(self, cluster: Cluster, narrator: Narrator) -> None:
        self._cluster = cluster
        self._narrator = narrator
        self._admin = ClusterAdmin(cluster)
        self._acknowledged: list[Acknowledged] = []
        self._load: Load | None = None
        self._broken_broker = 0
        self._broken_dir = ""

    def write_client_rows(self) -> None:
        """Write what the loads saw beside the brokers' metric rows."""
        dump_load(self._cluster.spec, self._cluster.run_id, TOPIC, self._acknowledged)

    def close(self) -> None:
        """End a load that an error left behind, and all connections."""
        if self._load is not None:
            self._load.abandon()
        self._admin.close()

    def create_topic(self) -> None:
        """Create the topic that all steps use."""
        self._narrator.step(
            f"Create topic {TOPIC}: 6 partitions, 3 replicas, min.insync.replicas 2"
        )
        began = time.monotonic()
        self._admin.create_topic(
            TopicSpec(
                name=TOPIC,
                partitions=PARTITIONS,
                replication_factor=3,
                configs={"min.insync.replicas": "2"},
            )
        )
        self._cluster.wait_until(
            lambda admin: all(len(each.isr) == 3 for each in _partitions(admin)),
            "every partition has three replicas in its Isr",
        )
        took_ms = (time.monotonic() - began) * 1000
        self._narrator.found(
            f"created, every replica in the Isr after {took_ms:.0f} ms", create_ms=round(took_ms)
        )

    def produce_and_consume(self) -> None:
        """Begin the load with kafka-python and read back what it wrote."""
        self._narrator.step("Produce with kafka-python (acks=all, idempotent) and consume it")
        load = self._start_load(0)
        self._wait_for_records(load, RECORDS_BEFORE)
        numbers = self._read()
        self._narrator.found(
            f"{load.acknowledged_count} records of {RECORD_BYTES} B acknowledged, "
            f"{len(numbers)} read while the load goes on"
        )

    def break_log_dir(self) -> None:
        """Fail the log dir of a leader under load and tell what everybody sees."""
        assert self._load is not None
        victim = self._victim()
        self._broken_broker = victim.leader
        self._broken_dir, led = self._log_dir_of_leader(victim)
        self._narrator.step(
            f"Break the log dir that holds the leader of {TOPIC}-{victim.partition}, under load "
            f"({self._cluster.short(self._broken_dir)}, EIO)"
        )
        broken_at = time.monotonic()
        self._control().fail(self._broken_dir, "eio")
        self._cluster.wait_until(
            lambda admin: all(
                _partition(admin, index).leader not in (-1, victim.leader) for index in led
            ),
            "new leaders",
        )
        known_ms = (time.monotonic() - broken_at) * 1000
        self._wait_for_records(self._load, self._load.acknowledged_count + RECORDS_AFTER)
        report = self._end_load(self._load)
        gap_ms = report.longest_gap_ms(led, after=broken_at)
        self._narrator.found(
            f"new leaders of {len(led)} partition(s) in metadata after {known_ms:.0f} ms; the "
            f"producer waited [bold]{gap_ms:.0f} ms[/] at most, {len(report.failed)} errors",
            failover_metadata_ms=round(known_ms),
            failover_client_ms=round(gap_ms),
            producer_errors=len(report.failed),
        )
        self._show_offline()

    def tell_controller(self) -> None:
        """Tell who has elected the new leaders, and that is no broker of jbodlab."""
        controller_id = self._admin.any_view([]).controller_id
        kind = kind_of(self._cluster.spec, broker_node(controller_id)) or "jbodlab"
        self._narrator.found(
            f"they were elected by broker {controller_id}, the controller: {kind}",
            controller_id=controller_id,
            controller_kind=kind,
        )

    def verify(self) -> None:
        """Hold every acknowledged record against what a consumer reads."""
        self._narrator.step("Read back every acknowledged record")
        check = self._verify()
        self._narrator.found(
            f"{check.acknowledged} acknowledged, {check.read} read: "
            f"[bold green]{len(check.lost)} lost, {len(check.twice)} twice[/]",
            acknowledged=check.acknowledged,
            lost=len(check.lost),
            twice=len(check.twice),
        )

    def move_replica(self) -> None:
        """Move a replica between log dirs of one healthy broker while producing."""
        broker, source, target, partition = self._move_to_make()
        self._narrator.step(
            f"Move {TOPIC}-{partition} of broker {broker} from {self._cluster.short(source)} to "
            f"{self._cluster.short(target)}, while producing"
        )
        self._fill(partition)
        load = self._start_load(SECOND_LOAD)
        began = time.monotonic()
        self._admin.move_replicas(broker, target, {TOPIC: [partition]})
        moved_bytes = 0
        with self._narrator.bytes_bar(f"{TOPIC}-{partition}") as bar:
            for progress in watch_move(self._admin, broker, TOPIC, partition, target):
                moved_bytes = progress.total_bytes
                bar.update(progress.copied_bytes, progress.total_bytes)
        took_ms = (time.monotonic() - began) * 1000
        self._wait_for_records(load, RECORDS_BESIDE)
        report = self._end_load(load)
        self._narrator.found(
            f"AlterReplicaLogDirs copied and swapped {moved_bytes / 1e6:.1f} MB in "
            f"{took_ms:.0f} ms; {report.records_per_second:.0f} records/s acknowledged beside it",
            moved_bytes=moved_bytes,
            move_ms=round(took_ms),
        )

    def repair(self) -> None:
        """Heal the log dir, restart its broker, and wait until its replicas are in sync again."""
        self._narrator.step(
            f"Repair {self._cluster.short(self._broken_dir)} and restart broker "
            f"{self._broken_broker}"
        )
        self._control().heal(self._broken_dir)
        began = time.monotonic()
        self._cluster.restart_broker(self._broken_broker)
        self._cluster.wait_until(
            lambda admin: all(
                len(each.isr) == 3 and not each.offline_replicas for each in _partitions(admin)
            ),
            "every replica is back in its Isr",
        )
        took_ms = (time.monotonic() - began) * 1000
        check = self._verify()
        self._narrator.found(
            f"every replica is back in its Isr after {took_ms:.0f} ms; {check.acknowledged} "
            f"acknowledged records: [bold green]{len(check.lost)} lost, "
            f"{len(check.twice)} twice[/]",
            rejoin_ms=round(took_ms),
        )
        self._narrator.show(partitions_table(_partitions(self._admin)))

    def _show_offline(self) -> None:
        offline = [
            f"{each.topic}-{each.partition}"
            for each in _partitions(self._admin)
            if self._broken_broker in each.offline_replicas
        ]
        self._narrator.found(f"Metadata, offline replicas: {', '.join(offline)}")
        self._narrator.found(f"DescribeLogDirs of broker {self._broken_broker}:")
        views = self._admin.log_dirs(self._broken_broker)
        self._narrator.show(log_dirs_table(views, self._cluster.short))
        broken = [view.path for view in views if view.error_code == ErrorCode.KAFKA_STORAGE_ERROR]
        if broken != [self._broken_dir] or not offline:
            raise LabError(ExitCode.FAILED, f"expected {self._broken_dir} offline, found {broken}")

    def _victim(self) -> PartitionView:
        """Return the first partition that a broker of jbodlab leads, whose disks can be broken."""
        own = {each.id for each in self._cluster.spec.brokers}
        return next(each for each in _partitions(self._admin) if each.leader in own)

    def _log_dir_of_leader(self, victim: PartitionView) -> tuple[str, list[int]]:
        """Return the log dir of a leader, and all partitions of the topic it leads from there."""
        leaders = {each.partition: each.leader for each in _partitions(self._admin)}
        for view in self._admin.log_dirs(victim.leader):
            held = [each.partition for each in view.replicas if each.topic == TOPIC]
            if victim.partition in held:
                return view.path, [each for each in held if leaders[each] == victim.leader]
        words = f"broker {victim.leader} holds no {TOPIC}-{victim.partition}"
        raise LabError(ExitCode.FAILED, words)

    def _move_to_make(self) -> tuple[int, str, str, int]:
        """Choose a healthy broker, one of its replicas and another of its log dirs."""
        broker = next(
            each.id for each in self._cluster.spec.brokers if each.id != self._broken_broker
        )
        views = self._admin.log_dirs(broker)
        source = next(view for view in views if view.replicas)
        target = next(view for view in views if view.path != source.path)
        replica = max(source.replicas, key=lambda each: each.size_bytes)
        return broker, source.path, target.path, replica.partition

    def _start_load(self, first_number: int) -> Load:
        self._load = Load(
            self._cluster.bootstrap_servers,
            TOPIC,
            partitions=PARTITIONS,
            size_bytes=RECORD_BYTES,
            first_number=first_number,
        )
        return self._load.start()

    def _end_load(self, load: Load) -> LoadReport:
        report = load.stop()
        self._load = None
        self._acknowledged.extend(report.acknowledged)
        return report

    def _fill(self, partition: int) -> None:
        """Give the move something to copy."""
        self._load = Load(
            self._cluster.bootstrap_servers,
            TOPIC,
            partitions=[partition],
            size_bytes=FILL_RECORD_BYTES,
            pace_ms=2,
            first_number=FILL_LOAD,
        ).start()
        self._wait_for_records(self._load, FILL_RECORDS)
        self._end_load(self._load)

    def _wait_for_records(self, load: Load, count: int) -> None:
        self._cluster.wait_until(
            lambda _: load.acknowledged_count >= count, f"{count} acknowledged records", DEADLINE_MS
        )

    def _verify(self) -> Verification:
        check = verify(self._acknowledged, self._read())
        if not check.is_clean:
            raise LabError(
                ExitCode.FAILED,
                f"{len(check.lost)} acknowledged records lost, {len(check.twice)} there twice",
            )
        return check

    def _read(self) -> list[int]:
        return read_numbers(self._cluster.bootstrap_servers, TOPIC, partitions=PARTITIONS)

    def _control(self) -> ControlClient:
        broker = self._cluster.spec.broker(self._broken_broker)
        return ControlClient(broker.id, broker.control_port)


def _partitions(admin: ClusterAdmin) -> list[PartitionView]:
    return list(admin.any_view([TOPIC]).partitions)


def _partition(admin: ClusterAdmin, index: int) -> PartitionView:
    return admin.any_view([TOPIC]).partition(TOPIC, index)
