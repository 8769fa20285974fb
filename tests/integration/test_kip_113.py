"""The test plan of KIP-113, and moves in general, driven by kafka-python's admin client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jbodlab.processes.lab_spec import LabShape
from protocol.errors import ErrorCode
from tests.integration.labs import FAST, Lab, kafka_admin, running_lab


def leftovers(lab: Lab) -> list[str]:
    return [
        entry.name
        for broker in lab.cluster.spec.brokers
        for log_dir in broker.log_dirs
        for entry in Path(log_dir.path).iterdir()
        if entry.name.endswith("-future")
    ]


@pytest.mark.scenario(5, 92, 95, 256)
def test_plan_1_replicas_move_to_the_other_log_dir_under_load(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("moved", 3, replication_factor=1, configs={"min.insync.replicas": "1"})
    load = lab.load("moved", 3, size_bytes=2000)
    lab.wait_for_records(load, 1000)
    for partition in range(3):
        broker = lab.partition("moved", partition).leader
        source = lab.log_dir_of(broker, "moved", partition).path
        lab.move(broker, "moved", lab.other_dir(broker, source), partition)
    lab.wait_for_records(load, 100)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("moved", report.acknowledged, 3)
    assert leftovers(lab) == []


@pytest.mark.scenario(152)
def test_a_move_of_a_replicated_leader_disturbs_neither_isr_nor_epoch(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("calm", assignment={0: [2, 3, 1]})
    load = lab.load("calm")
    before = lab.partition("calm")
    source = lab.log_dir_of(2, "calm").path
    lab.move(2, "calm", lab.other_dir(2, source))
    lab.wait_for_records(load, 100)
    report = load.stop()
    after = lab.partition("calm")
    assert (after.leader, after.leader_epoch, sorted(after.isr)) == (
        before.leader,
        before.leader_epoch,
        sorted(before.isr),
    )
    assert report.failed == ()
    lab.assert_nothing_lost("calm", report.acknowledged)


@pytest.mark.scenario(93, 98)
def test_each_mistake_of_an_order_to_move_has_its_error(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("errors", assignment={0: [1, 2, 3]})
    path = lab.log_dir_of(1, "errors").path
    orders = {
        ("errors", 0, 1): "/nowhere",
        ("errors", 0, 2): path,
        ("nothing", 0, 3): lab.admin.log_dirs(3)[0].path,
    }
    with kafka_admin(lab) as client:
        results: dict[Any, Any] = client.alter_replica_log_dirs(orders)
    codes = {place.broker_id: error.errno for place, error in results.items()}
    assert codes == {
        1: ErrorCode.LOG_DIR_NOT_FOUND,
        2: ErrorCode.LOG_DIR_NOT_FOUND,
        3: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.sampled_among("moves that are disturbed", kept=1)
@pytest.mark.scenario(7)
def test_plan_2_good_log_dirs_do_not_notice_bad_ones(lab: Lab) -> None:
    lab.create("first", assignment={0: [1, 2, 3]})
    # One replica of it is left in the end, which must be enough.
    lab.create("second", assignment={0: [1, 2, 3]}, configs={"min.insync.replicas": "1"})
    for broker in (1, 2, 3):
        good, bad = [view.path for view in lab.admin.log_dirs(broker)][:2]
        if lab.log_dir_of(broker, "first").path != good:
            lab.move(broker, "first", good)
        if lab.log_dir_of(broker, "second").path != bad:
            lab.move(broker, "second", bad)
    first, second = lab.load("first"), lab.load("second")

    lab.control(2).fail(lab.log_dir_of(2, "second").path, "eio")
    lab.cluster.wait_until(
        lambda admin: admin.any_view(["second"]).partition("second", 0).offline_replicas == (2,),
        "a follower is offline",
    )
    lab.wait_for_records(first, 50)
    lab.wait_for_records(second, 50)

    lab.control(1).fail(lab.log_dir_of(1, "second").path, "eio")
    lab.cluster.wait_until(
        lambda admin: admin.any_view(["second"]).partition("second", 0).leader == 3,
        "the last replica leads",
    )
    second_report = second.stop()
    lab.control(3).fail(lab.log_dir_of(3, "second").path, "eio")
    lab.cluster.wait_until(
        lambda admin: admin.any_view(["second"]).partition("second", 0).leader == -1,
        "nobody leads the second topic",
    )

    lab.wait_for_records(first, 100)
    report = first.stop()
    assert report.failed == ()
    assert second_report.acknowledged
    view = lab.partition("first")
    assert (view.leader, sorted(view.isr), view.offline_replicas) == (1, [1, 2, 3], ())
    assert lab.running_brokers() == [1, 2, 3]
    lab.assert_nothing_lost("first", report.acknowledged)


@pytest.mark.sampled_among("moves that are disturbed", kept=1)
@pytest.mark.scenario(8, 117, 146)
def test_a_move_goes_on_after_a_restart_of_its_broker(tmp_path: Path) -> None:
    throttled = {**FAST, "replica.alter.log.dirs.io.max.bytes.per.second": "500000"}
    with running_lab(tmp_path, LabShape(configs=throttled)) as lab:
        lab.create("t", assignment={0: [1, 2, 3]})
        load = lab.load("t", size_bytes=10_000, pace_ms=5)
        lab.wait_for_records(load, 300)
        report = load.stop()
        source = lab.log_dir_of(1, "t").path
        target = lab.other_dir(1, source)
        lab.admin.move_replicas(1, target, {"t": [0]})
        lab.cluster.wait_until(
            lambda admin: any(
                replica.is_future and replica.offset_lag > 0
                for view in admin.log_dirs(1)
                if view.path == target
                for replica in view.replicas
            ),
            "the move is under way",
        )

        lab.cluster.restart_broker(1)

        lab.wait_for_move(1, "t", target)
        lab.wait_for_full_isr("t")
        lab.assert_nothing_lost("t", report.acknowledged)


@pytest.mark.sampled_among("moves that are disturbed", kept=1)
@pytest.mark.scenario(102)
def test_an_order_to_stay_cancels_a_move(tmp_path: Path) -> None:
    throttled = {**FAST, "replica.alter.log.dirs.io.max.bytes.per.second": "1000"}
    with running_lab(tmp_path, LabShape(configs=throttled)) as lab:
        lab.create("t", assignment={0: [1, 2, 3]})
        load = lab.load("t", size_bytes=10_000, pace_ms=5)
        lab.wait_for_records(load, 300)
        source = lab.log_dir_of(1, "t").path
        lab.admin.move_replicas(1, lab.other_dir(1, source), {"t": [0]})
        lab.admin.move_replicas(1, source, {"t": [0]})
        lab.wait_for_move(1, "t", source)
        report = load.stop()
        assert report.failed == ()
        lab.assert_nothing_lost("t", report.acknowledged)
