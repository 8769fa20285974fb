"""``jbodlab.Cluster``, as scripts and tests of others use it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import jbodlab
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST, PATIENT_MS

pytestmark = pytest.mark.sampled_among("clusters in Python", kept=2)


@pytest.fixture(scope="module")
def running_cluster() -> Generator[jbodlab.Cluster]:
    with jbodlab.Cluster(configs=FAST, session_timeout_ms=PATIENT_MS) as cluster:
        yield cluster


@pytest.fixture
def cluster(running_cluster: jbodlab.Cluster) -> jbodlab.Cluster:
    running_cluster.reset()
    return running_cluster


def topics(cluster: jbodlab.Cluster) -> list[str]:
    return sorted({tp.topic for b in cluster.brokers for d in b.log_dirs for tp in d.replicas})


def test_a_failed_log_dir_is_noticed_healed_and_back(cluster: jbodlab.Cluster) -> None:
    cluster.create_topic("orders", configs={"min.insync.replicas": "2"})
    leader = cluster.wait_for_leader("orders")
    log_dir = cluster.log_dir_of("orders")
    log_dir.fail()
    log_dir.wait_until_offline()
    assert cluster.wait_for_leader("orders", other_than=leader) != leader
    assert cluster.partition("orders").offline_replicas == (leader,)
    assert "injected" in log_dir.signs()["reason"]
    log_dir.heal()
    log_dir.restart()
    log_dir.wait_until_online()
    cluster.wait_for_full_isr("orders")
    assert "data/b" in cluster.story()
    assert "fails with eio" in cluster.story()


def test_a_log_dir_is_replaced_by_an_empty_disk(cluster: jbodlab.Cluster) -> None:
    cluster.create_topic("orders")
    log_dir = cluster.log_dir_of("orders", broker_id=2)
    log_dir.replace(force=True)
    assert [each.topic for each in log_dir.replicas] == ["orders"]


def test_replicas_move_between_log_dirs_and_between_brokers(cluster: jbodlab.Cluster) -> None:
    cluster.create_topic("orders", assignment={0: [1, 2]})
    target = next(
        each
        for each in cluster.broker(1).log_dirs
        if each.number != cluster.log_dir_of("orders").number
    )
    cluster.move("orders", 0, to=target)
    assert cluster.log_dir_of("orders", broker_id=1).path == target.path
    cluster.reassign({("orders", 0): [3, 2]})
    assert cluster.partition("orders").replicas == (3, 2)


def test_a_fault_by_rule_counts_what_it_met_and_ends_with_its_block(
    cluster: jbodlab.Cluster,
) -> None:
    log_dir = cluster.log_dir(1, 2)
    with cluster.add_fault("slow", log_dir=log_dir.path, delay_ms=1) as fault:
        cluster.wait_until(lambda: fault.hits > 0, "the fault met something")
        hits = fault.hits  # Asked first: both grow meanwhile.
        assert fault.matches >= hits
    assert log_dir.signs()["fault"] is None


def test_processes_are_killed_paused_and_started(cluster: jbodlab.Cluster) -> None:
    cluster.create_topic("orders")
    broker = cluster.broker(2)
    broker.kill()
    assert not broker.is_running
    with pytest.raises(jbodlab.LabError, match="broker-2 does not run"):
        broker.kill()
    broker.start()
    broker.restart()
    cluster.controller.restart()
    cluster.wait_for_full_isr("orders")
    broker.pause()
    broker.resume()
    assert "broker-2" in broker.log


def test_reset_takes_back_all_that_a_test_has_done(cluster: jbodlab.Cluster) -> None:
    cluster.create_topic("orders")
    cluster.add_fault("slow", log_dir=cluster.log_dir(1, 1).path, delay_ms=1)
    failed = cluster.log_dir(2, 1)
    failed.fail()
    failed.wait_until_offline()
    cluster.broker(3).kill()
    cluster.broker(1).pause()
    cluster.reset()
    assert all(each.is_running for each in cluster.brokers)
    assert all(each.is_online for broker in cluster.brokers for each in broker.log_dirs)
    assert all(each.signs()["faults"] == [] for each in cluster.broker(1).log_dirs)
    cluster.create_topic("orders")
    assert topics(cluster) == ["orders"]


async def test_a_cluster_runs_for_the_length_of_an_async_block(tmp_path: Path) -> None:
    async with jbodlab.Cluster(brokers=1, log_dirs=1, folder=tmp_path / "lab") as cluster:
        await asyncio.to_thread(cluster.create_topic, "orders")
        assert cluster.bootstrap_servers == cluster.broker(1).address
        assert cluster.folder == tmp_path / "lab"
    assert (tmp_path / "lab" / "cluster.yaml").exists()
    with pytest.raises(jbodlab.LabError, match="does not run"):
        _ = cluster.bootstrap_servers


def test_a_temporary_folder_goes_with_its_cluster() -> None:
    with jbodlab.Cluster(brokers=1, log_dirs=1) as cluster:
        folder = cluster.folder
        assert folder.exists()
    assert not folder.exists()


def test_a_script_that_ends_by_an_error_leaves_nothing_running(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import jbodlab\n"
        "cluster = jbodlab.Cluster(brokers=1, log_dirs=1).start()\n"
        "print(cluster.folder)\n"
        "raise SystemExit(3)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 3
    assert not Path(done.stdout.strip()).exists()


def test_mistakes_are_said_with_what_there_is(cluster: jbodlab.Cluster) -> None:
    with pytest.raises(jbodlab.LabError, match="a broker with a log dir at least"):
        jbodlab.Cluster(brokers=0)
    with pytest.raises(jbodlab.LabError, match=r"there is no broker 9 in .*, only 1, 2, 3"):
        cluster.broker(9)
    with pytest.raises(jbodlab.LabError, match="has log dirs 1 to 3, none with number 4"):
        cluster.log_dir(1, 4)
    with pytest.raises(jbodlab.LabError, match="cannot fail with 'fire', only: eio"):
        cluster.log_dir(1, 1).fail("fire")
    with pytest.raises(jbodlab.LabError, match="no broker knows nothing-0"):
        cluster.partition("nothing")
    with pytest.raises(jbodlab.LabError, match="was started already"):
        cluster.start()
