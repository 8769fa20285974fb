"""Log dirs come back while their broker runs (KIP-18): with their data, or as an empty disk."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import Result

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.returns import ReturnProgress, watch_return
from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.spec import TopicSpec
from protocol.errors import KafkaError
from protocol.faults.model import broker_node
from tests.integration.labs import (
    DEADLINE_MS,
    Lab,
    consume_with_confluent,
    produce_with_confluent,
)
from tests.jbodlab.command_line import jbodlab as command_line

pytestmark = pytest.mark.sampled_among("log dirs that come back", kept=3)


def jbodlab(lab: Lab, *words: str) -> Result:
    return command_line(*words, "--config", str(lab.cluster.config_path))


def wait_for_return(lab: Lab, broker: int, path: str) -> ReturnProgress:
    *_, last = watch_return(lab.admin, lab.control(broker), path, patience_ms=DEADLINE_MS)
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
    seen = list(watch_return(lab.admin, lab.control(1), path, patience_ms=DEADLINE_MS))
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

    first = ("restart-partition", "t", str(offline[0]), "--broker", "1")
    said = jbodlab(lab, "log-dirs", *first, "--json")
    assert said.exit_code == ExitCode.OK, said.stderr
    assert json.loads(said.stdout)["log_dir"] == path
    again = jbodlab(lab, "log-dirs", *first)
    assert (again.exit_code, "is not offline on broker 1" in again.stderr) == (1, True)

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

    refused = jbodlab(lab, "log-dirs", "replace", path, "--patience", "600")
    assert refused.exit_code == ExitCode.FAILED
    assert "stay offline: t-0 (no other broker has it in sync); put what was set" in refused.stderr
    assert lab.partition("t").leader == -1
    assert lab.control(1).status()["offline_replica_count"] == 1
    with pytest.raises(LabError, match="or at once if its loss is accepted"):
        lab.control(1).restart_partition("t", 0)

    accepted = jbodlab(
        lab, "log-dirs", "restart-partition", "t", "0", "--broker", "1", "--accept-loss"
    )
    assert accepted.exit_code == ExitCode.OK, accepted.stderr
    lab.wait_for_full_isr("t")
    again = lab.load("t")
    lab.wait_for_records(again, 50)
    assert again.stop().failed == ()


def test_a_disk_that_was_set_aside_can_be_put_back(lab: Lab) -> None:
    lab.create("t", assignment={0: [1]}, configs={"min.insync.replicas": "1"}, replication_factor=1)
    produce_with_confluent(lab, "t", [b"kept"])
    path = Path(lab.log_dir_of(1, "t").path)
    refused = jbodlab(lab, "log-dirs", "replace", str(path))
    assert refused.exit_code == ExitCode.FAILED
    assert f"{path} works and nobody else has t-0 in sync; only by force" in refused.stderr
    assert lab.partition("t").leader == 1
    forced = jbodlab(lab, "log-dirs", "replace", str(path), "--force")
    assert forced.exit_code == ExitCode.FAILED
    assert "nobody else has what 1 of its replicas lost" in forced.stderr

    (aside,) = path.parent.glob(f"{path.name}.replaced-*")
    path.rename(path.with_suffix(".empty"))
    aside.rename(path)
    lab.cluster.wait_until(lambda _: lab.offline_dirs(1) == [str(path)], "the swap is seen")
    assert jbodlab(lab, "log-dirs", "restart", str(path)).exit_code == ExitCode.OK

    assert consume_with_confluent(lab, "t", 1) == [b"kept"]


def test_a_new_disk_that_fails_too_ends_the_wait(lab: Lab) -> None:
    lab.create("t", assignment={0: [2, 1]}, replication_factor=2)
    produce_with_confluent(lab, "t", [bytes(10_000)] * 100)
    path = break_dir(lab, 1, "t")
    lab.control(1).replace(path, accept_loss=False, throttle_bytes_per_second=100_000)
    watch = watch_return(lab.admin, lab.control(1), path, patience_ms=DEADLINE_MS)
    assert any(seen.state == "done" and seen.copied_bytes for seen in watch)

    lab.control(1).fail(path, "eio")
    with pytest.raises(LabError, match=r"it failed again: .*take its fault eio off") as caught:
        list(watch)

    assert caught.value.exit_code == ExitCode.FAILED
    lab.control(1).replace(path, accept_loss=False)
    wait_for_return(lab, 1, path)
    lab.wait_for_full_isr("t")


def test_a_disk_that_is_swapped_while_its_broker_is_stopped_is_filled_again(lab: Lab) -> None:
    """Nothing of it is elected or in the Isr before it has everything."""
    lab.create("t", 3, assignment={n: [1, 2, 3] for n in range(3)})
    load = lab.load("t", 3)
    lab.wait_for_records(load, 200)
    path = Path(lab.log_dir_of(1, "t").path)
    beside = Path(lab.other_dir(1, str(path)))
    old_id = (path / "meta.properties").read_text()

    lab.cluster.stop([broker_node(1)])
    lab.cluster.wait_until(
        lambda admin: all(1 not in lab.partition("t", n).isr for n in range(3)), "it left the Isr"
    )
    path.rename(path.with_suffix(".old"))
    path.mkdir()
    lab.wait_for_records(load, 100)
    lab.cluster.start_broker(1)

    empty = jbodlab(lab, "log-dirs", "describe", "--broker", "1", "--json")
    assert [one["error"] for one in json.loads(empty.stdout)] == ["NONE"] * 3
    lab.wait_for_full_isr("t")
    assert (path / "t-0").is_dir()
    assert (path / "meta.properties").read_text() != old_id
    assert any(beside.glob("t-*"))
    lab.wait_for_records(load, 100)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged, 3)


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


def is_created(admin: ClusterAdmin, topic: TopicSpec) -> bool:
    try:
        admin.create_topic(topic)
    except KafkaError:
        return False
    return True
