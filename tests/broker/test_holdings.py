"""What a running broker says it holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker.broker_control import BrokerControl
from broker.control import ControlError, FailRequest
from protocol.ids import uuid_text
from protocol.messages.lifecycle import BrokerHeartbeatRequest
from tests.broker.fake_controller import FakeController
from tests.broker.one_broker import TOPIC_ID, cluster_spec, running


@pytest.fixture
async def broker_control(
    tmp_path: Path, controller: FakeController
) -> AsyncIterator[BrokerControl]:
    async with running(cluster_spec(tmp_path, controller.port)) as started:
        await controller.until_heartbeats(1)
        await started.lead(0)
        yield started.broker.broker_control


async def test_a_replica_is_told_with_its_role_its_isr_and_its_offsets(
    broker_control: BrokerControl,
):
    told = broker_control.describe_replicas()

    (replica,) = told["replicas"]
    log_dir = replica.pop("log_dir")
    assert log_dir in [each["path"] for each in told["log_dirs"]]
    assert replica == {
        "topic": "orders",
        "partition": 0,
        "topic_id": uuid_text(TOPIC_ID),
        "future_log_dir": None,
        "role": "leader",
        "leader_epoch": 0,
        "isr": [1],
        "log_start_offset": 0,
        "log_end_offset": 0,
        "high_watermark": 0,
    }
    assert (told["pid"] > 0, told["tail_bytes"], told["offline_replicas"]) == (True, 0, [])
    assert told["tail_bytes_max"] == 32 * 1024 * 1024


async def test_a_failed_log_dir_and_its_replica_are_told_as_offline(
    broker_control: BrokerControl, controller: FakeController
):
    path = broker_control.describe_replicas()["replicas"][0]["log_dir"]
    broker_control.fail_log_dir(FailRequest(path=path, mode="eio"))
    await controller.until(
        lambda: any(each.offline_log_dirs for each in controller.of(BrokerHeartbeatRequest))
    )

    told = broker_control.describe_replicas()

    assert [each["path"] for each in told["log_dirs"] if not each["is_online"]] == [path]
    assert told["replicas"] == []
    (offline,) = told["offline_replicas"]
    assert (offline["topic"], offline["partition"], offline["log_dir"]) == ("orders", 0, path)


async def test_a_broker_that_still_starts_holds_nothing_yet(broker_control: BrokerControl):
    engine, broker_control.engine = broker_control.engine, None

    with pytest.raises(ControlError, match="still starting"):
        broker_control.describe_replicas()
    broker_control.engine = engine
