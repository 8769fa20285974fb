"""What the control endpoint shows of a running broker, and what it does to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from broker.broker_control import BrokerControl
from broker.control import ControlError, FailRequest
from broker.exit_codes import ExitCode
from protocol.messages.lifecycle import BrokerHeartbeatRequest
from tests.broker.fake_controller import FakeController
from tests.broker.one_broker import DEADLINE_S, RunningBroker, cluster_spec, http, running


@pytest.fixture
async def run(tmp_path: Path, controller: FakeController) -> AsyncIterator[RunningBroker]:
    async with running(cluster_spec(tmp_path, controller.port)) as started:
        await controller.until_heartbeats(1)
        await started.lead(0)
        yield started


@pytest.fixture
def broker_control(run: RunningBroker) -> BrokerControl:
    return run.broker.broker_control


async def log_dirs(broker_control: BrokerControl) -> dict[str, Any]:
    return {Path(one["path"]).name: one for one in await broker_control.describe_log_dirs()}


async def test_the_status_says_who_it_is_and_how_it_does(
    run: RunningBroker, broker_control: BrokerControl
):
    status = broker_control.status()
    assert (status["broker_id"], status["cluster_id"]) == (1, "cluster")
    assert (status["state"], status["port"]) == ("running", run.port)
    assert (status["broker_epoch"], status["is_controller_connected"]) == (7, True)
    assert (status["partition_count"], status["leader_count"]) == (1, 1)
    assert len(status["online_log_dirs"]) == 2


async def test_log_dirs_are_described_with_replicas_and_faults(broker_control: BrokerControl):
    described = await log_dirs(broker_control)
    assert sum(len(one["replicas"]) for one in described.values()) == 1
    assert described["d1"]["online"]
    assert len(described["d1"]["directory_id"]) == 22
    assert described["d1"]["fault"] is None
    broker_control.fail_log_dir(FailRequest(path=described["d1"]["path"], mode="slow", delay_ms=1))
    fault = (await log_dirs(broker_control))["d1"]["fault"]
    assert (fault["mode"], fault["delay_ms"]) == ("slow", 1)


async def test_an_idle_log_dir_notices_its_fault_at_once(
    broker_control: BrokerControl, controller: FakeController
):
    path = (await log_dirs(broker_control))["d2"]["path"]
    broker_control.fail_log_dir(FailRequest(path=path, mode="eio"))
    await controller.until(
        lambda: any(b.offline_log_dirs for b in controller.of(BrokerHeartbeatRequest))
    )
    failed = (await log_dirs(broker_control))["d2"]
    assert not failed["online"]
    assert "injected" in failed["reason"]
    assert failed["fault"]["hits"] >= 1
    healed = broker_control.heal_log_dir(path)
    assert (healed["online"], healed["cleared"]) == (False, 1)
    assert "jbodlab log-dirs restart" in healed["hint"]
    assert (await log_dirs(broker_control))["d2"]["fault"] is None


async def test_faults_are_added_all_or_none_and_cleared_by_their_ids(broker_control: BrokerControl):
    path = (await log_dirs(broker_control))["d1"]["path"]
    slow = {"mode": "slow", "broker": 1, "log_dir": path, "delay_ms": 1, "id": "sluggish"}
    with pytest.raises(ControlError, match=r"faults\[1\].node: this is broker-1, not broker-2"):
        broker_control.add_faults([slow, {"mode": "eio", "broker": 2}])
    assert broker_control.faults.describe() == []
    assert broker_control.add_faults([slow, {"mode": "bit_flip", "broker": 1, "nth": 9999}]) == [
        "sluggish",
        "fault-1",
    ]
    assert (await log_dirs(broker_control))["d1"]["fault"]["mode"] == "slow"
    with pytest.raises(ControlError, match="ids: none not among sluggish, fault-1"):
        broker_control.clear_faults(["none"])
    (cleared,) = broker_control.clear_faults(["sluggish"])
    assert (cleared["id"], cleared["is_in_force"]) == ("sluggish", False)
    assert [each["is_in_force"] for each in broker_control.faults.describe()] == [False, True]
    assert [each["id"] for each in broker_control.clear_faults(None)] == ["fault-1"]


async def test_a_fault_that_fails_every_write_bites_at_once_a_narrow_one_waits(
    broker_control: BrokerControl,
):
    described = await log_dirs(broker_control)
    rules = [
        {"mode": "sync_failure", "broker": 1, "log_dir": described["d1"]["path"], "times": 1},
        {"mode": "sync_failure", "broker": 1, "log_dir": described["d2"]["path"]},
    ]
    broker_control.add_faults(rules)
    await broker_control.log_dirs[described["d2"]["path"]].released.wait()
    described = await log_dirs(broker_control)
    assert [described[name]["online"] for name in ("d1", "d2")] == [True, False]


async def test_a_log_dir_has_the_last_fault_it_was_given_by_name_alone(
    broker_control: BrokerControl,
):
    path = (await log_dirs(broker_control))["d1"]["path"]
    broker_control.fail_log_dir(FailRequest(path=path, mode="slow", delay_ms=1))
    broker_control.fail_log_dir(FailRequest(path=path, mode="bit_flip"))
    in_force = [each["fault"] for each in broker_control.faults.describe() if each["is_in_force"]]
    assert in_force == [{"mode": "bit_flip", "node": "broker-1", "log_dir": path}]
    with pytest.raises(ControlError, match="lost_entry: a real file system"):
        broker_control.fail_log_dir(FailRequest(path=path, mode="lost_entry"))


async def test_gauges_follow_the_log_dirs(
    broker_control: BrokerControl, controller: FakeController
):
    path = (await log_dirs(broker_control))["d2"]["path"]
    broker_control.fail_log_dir(FailRequest(path=path, mode="eio"))
    await controller.until(
        lambda: any(b.offline_log_dirs for b in controller.of(BrokerHeartbeatRequest))
    )
    families = {family.name: family.samples for family in broker_control.metric_families()}
    assert families["kafka_log_logmanager_offlinelogdirectorycount"][0].value == 1
    assert families["kafka_server_replicamanager_leadercount"][0].value == 1
    assert families["kafka_server_kafkaserver_brokerstate"][0].value == 3
    uncleanable = families["kafka_log_logcleanermanager_uncleanable_partitions_count"]
    assert [sample.value for sample in uncleanable] == [0] * len(uncleanable)


async def test_an_unknown_log_dir_is_refused_with_the_known_ones(broker_control: BrokerControl):
    with pytest.raises(ControlError, match="'/nowhere' is none of") as error:
        broker_control.fail_log_dir(FailRequest(path="/nowhere"))
    assert error.value.status == 400


async def test_over_http_a_broker_is_shut_down_cleanly(run: RunningBroker):
    port = run.broker.control_port
    assert (await http(port, "GET", "/status"))[1]["state"] == "running"
    status, _ = await http(port, "POST", "/shutdown")
    assert status == 202
    async with asyncio.timeout(DEADLINE_S):
        assert await run.end() is ExitCode.CLEAN
