"""Log dirs come back while their broker runs (KIP-18): with their data, or as an empty disk."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from jbodlab.admin import ClusterAdmin
from jbodlab.errors import LabError
from jbodlab.returns import ReturnProgress, watch_return
from protocol.errors import KafkaError
from protocol.spec import TopicSpec
from tests.integration.labs import DEADLINE_MS, Lab, produce_with_confluent


def wait_for_return(lab: Lab, broker: int, path: str) -> ReturnProgress:
    *_, last = watch_return(lab.admin, lab.control(broker), path, deadline_ms=DEADLINE_MS)
    return last


def break_dir(lab: Lab, broker: int, topic: str, mode: str = "eio") -> str:
    """Break the log dir with a broker's replica of partition 0 and wait until it shows."""
    path = lab.log_dir_of(broker, topic).path
    lab.control(broker).fail(path, mode)
    lab.cluster.wait_until(
        lambda admin: broker in admin.any_view([topic]).partition(topic, 0).offline_replicas,
        f"{path} is offline",
    )
    return path


def test_a_failed_disk_is_replaced_by_an_empty_one_under_load(lab: Lab) -> None:
    lab.create("t", 6, configs={"min.insync.replicas": "2"})
    load = lab.load("t", 6)
    lab.wait_for_records(load, 200)
    pid = lab.control(1).status()["pid"]
    path = break_dir(lab, 1, "t")
    lab.wait_for_records(load, 200)

    lab.control(1).replace(path, accept_loss=False)
    progress = wait_for_return(lab, 1, path)

    assert (progress.found_count, progress.lost_count) == (0, progress.replica_count)
    assert progress.replica_count > 0
    assert lab.control(1).status()["pid"] == pid
    lab.wait_for_full_isr("t")
    assert lab.offline_dirs(1) == []
    lab.wait_for_records(load, 100)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged, 6)
    assert list(Path(path).parent.glob(f"{Path(path).name}.replaced-*"))


def test_an_empty_disk_is_filled_at_the_rate_that_was_asked_for(lab: Lab) -> None:
    rate, size = 1_000_000, 3_000_000
    configs = {"min.insync.replicas": "1"}
    lab.create("t", assignment={0: [2, 1]}, configs=configs, replication_factor=2)
    produce_with_confluent(lab, "t", [bytes(10_000)] * (size // 10_000))
    path = break_dir(lab, 1, "t")

    began = time.monotonic()
    lab.control(1).replace(path, accept_loss=False, throttle_bytes_per_second=rate)
    seen = list(watch_return(lab.admin, lab.control(1), path, deadline_ms=DEADLINE_MS))
    took_s = time.monotonic() - began

    assert rate in {progress.throttle_bytes_per_second for progress in seen}
    assert seen[-1].throttle_bytes_per_second is None
    assert seen[-1].copied_bytes >= size
    # The first second's worth comes at once, and one burst more.
    assert took_s >= 0.9 * (size / rate - 1.25)


def test_a_repaired_log_dir_comes_back_with_its_data_under_load(suspicious_lab: Lab) -> None:
    lab = suspicious_lab
    lab.create("t", assignment={0: [1, 2, 3]})
    load = lab.load("t")
    lab.wait_for_records(load, 200)
    path = break_dir(lab, 1, "t", "hang")
    lab.wait_for_records(load, 200)
    with pytest.raises(LabError, match="still fails with hang: heal it first"):
        lab.control(1).restart(path)

    lab.control(1).heal(path)
    lab.control(1).restart(path)
    progress = wait_for_return(lab, 1, path)

    assert (progress.found_count, progress.lost_count) == (1, 0)
    lab.wait_for_full_isr("t")
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged)
    with pytest.raises(LabError, match="is online: there is nothing to bring back"):
        lab.control(1).restart(path)


def test_one_partition_comes_back_alone_and_the_others_later(lab: Lab) -> None:
    configs = {"min.insync.replicas": "1"}
    lab.create("t", 6, assignment={n: [1, 2] for n in range(6)}, configs=configs)
    path = break_dir(lab, 1, "t")
    offline = [n for n in range(6) if 1 in lab.partition("t", n).offline_replicas]
    assert len(offline) > 1
    lab.control(1).heal(path)

    assert lab.control(1).restart_partition("t", offline[0]) == path

    def back(admin: ClusterAdmin) -> list[int]:
        view = admin.any_view(["t"])
        return [n for n in offline if 1 not in view.partition("t", n).offline_replicas]

    lab.cluster.wait_until(lambda admin: back(admin) == offline[:1], "one of them is back")
    lab.cluster.wait_until(
        lambda admin: 1 in admin.any_view(["t"]).partition("t", offline[0]).isr, "it is in sync"
    )
    for number in offline[1:]:
        lab.control(1).restart_partition("t", number)
        lab.cluster.wait_until(lambda admin, n=number: n in back(admin), f"t-{number} is back")
    lab.wait_for_full_isr("t")


def test_the_only_copy_is_not_made_anew_silently(lab: Lab) -> None:
    """Kafka lets an empty disk lead where its broker is alone in the Isr; see differences."""
    lab.create("t", assignment={0: [1]}, configs={"min.insync.replicas": "1"}, replication_factor=1)
    load = lab.load("t")
    lab.wait_for_records(load, 50)
    assert load.stop().failed == ()
    path = break_dir(lab, 1, "t")

    lab.control(1).replace(path, accept_loss=False)
    lab.cluster.wait_until(lambda _: return_state(lab, path) == "done", "the empty disk is in use")
    assert lab.partition("t").leader == -1
    assert lab.control(1).status()["offline_replica_count"] == 1

    lab.control(1).replace(path, accept_loss=True)
    wait_for_return(lab, 1, path)
    lab.wait_for_full_isr("t")
    again = lab.load("t")
    lab.wait_for_records(again, 50)
    assert again.stop().failed == ()


def test_a_deleted_topic_whose_log_was_on_a_replaced_disk_goes_away(lab: Lab) -> None:
    lab.create("t", assignment={0: [1, 2]}, configs={"min.insync.replicas": "1"})
    path = break_dir(lab, 1, "t")
    lab.admin.delete_topic("t")
    again = TopicSpec(name="t", partitions=1, replication_factor=2, configs={})
    with pytest.raises(KafkaError, match="marked for deletion"):
        lab.admin.create_topic(again)

    lab.control(1).replace(path, accept_loss=False)

    lab.cluster.wait_until(lambda admin: is_created(admin, again), "t is gone and made again")
    lab.wait_for_full_isr("t")


def return_state(lab: Lab, path: str) -> str:
    (found,) = [one for one in lab.control(1).log_dirs() if one["path"] == path]
    state: str = found["return"]["state"]
    return state


def is_created(admin: ClusterAdmin, topic: TopicSpec) -> bool:
    try:
        admin.create_topic(topic)
    except KafkaError:
        return False
    return True
