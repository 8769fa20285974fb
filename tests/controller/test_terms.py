"""Terms of a controller over a ZooKeeper in memory, with brokers that speak over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from controller.terms import Terms, cause_of
from protocol.cluster_file.spec import cluster_spec
from protocol.messages.control import LeaderAndIsrRequest, UpdateMetadataRequest
from protocol.metrics.writer import MetricWriter
from protocol.zookeeper import paths
from protocol.zookeeper.znodes import PartitionStateZnode, decode
from protocol.zookeeper_client.port import NoZookeeperError
from tests.controller.fake_broker import FakeBroker
from tests.controller.running import with_port
from tests.controller.zookeeper.lab import (
    CLUSTER_ID,
    FixedClock,
    broker_znode,
    connected,
    put_topic,
    server_with_brokers,
)
from tests.deadlines import DEADLINE_MS, DEADLINE_S
from tests.protocol.zookeeper_client.fake_zookeeper import FakeServer, FakeZookeeper

_SESSION = 1000


class Lab:
    """Brokers 1 and 4, of which 4 stands for election; a topic that 1 leads."""

    def __init__(
        self,
        folder: Path,
        ports: dict[int, int],
        zookeeper: FakeZookeeper | None = None,
        *,
        session_timeout_ms: int = DEADLINE_MS,
    ) -> None:
        self.server: FakeServer = server_with_brokers()
        for broker_id, port in ports.items():
            self.server.put(paths.broker_path(broker_id), broker_znode(port), owner=_SESSION)
        put_topic(self.server, "t", [1, 4])
        self.zookeeper = zookeeper or FakeZookeeper(self.server)
        self.observer = connected(self.server)
        document = {
            "cluster_id": CLUSTER_ID,
            "zookeeper": {"connect": "in memory", "session_timeout_ms": session_timeout_ms},
            "controller": {"port": 9, "id": 4},
            "brokers": [{"id": 4, "port": 9094, "log_dirs": [{"path": "d"}]}],
        }
        spec = with_port(cluster_spec(document, base_dir=folder, source="lab"), 0)
        self.terms = Terms(spec, self.zookeeper, FixedClock(), Random(1), MetricWriter)

    @property
    def state(self) -> PartitionStateZnode:
        path = paths.partition_state_path("t", 0)
        return decode(self.server.znodes[path], PartitionStateZnode, path)

    async def wait_for_leader(self, leader: int) -> None:
        path, changed = paths.partition_state_path("t", 0), asyncio.Event()
        async with asyncio.timeout(DEADLINE_S):
            while self.state.leader != leader:
                changed.clear()
                await self.observer.find(path, changed.set)
                if self.state.leader != leader:
                    await changed.wait()


@asynccontextmanager
async def running(folder: Path) -> AsyncGenerator[tuple[Lab, dict[int, FakeBroker]]]:
    brokers = {each: FakeBroker(each, CLUSTER_ID, 1) for each in (1, 4)}
    for broker in brokers.values():
        await broker.start()
    lab = Lab(folder, {each: broker.port for each, broker in brokers.items()})
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(lab.terms.run())
        yield lab, brokers
        lab.terms.stop()
    for broker in brokers.values():
        await broker.stop()


async def test_who_is_elected_leads_with_the_id_of_its_broker_and_elects(tmp_path: Path) -> None:
    async with running(tmp_path) as (lab, brokers):
        await brokers[4].until(UpdateMetadataRequest)
        lab.server.remove(paths.broker_path(1))
        await lab.wait_for_leader(4)

        assert (lab.state.leader_epoch, lab.state.isr, lab.state.controller_epoch) == (1, [4], 1)
        assert lab.server.versions[paths.partition_state_path("t", 0)] == 1
        told = (await brokers[4].until(LeaderAndIsrRequest))[-1]
        assert (told.controller_id, told.controller_epoch) == (4, 1)
        assert told.broker_epoch == lab.server.czxids[paths.broker_path(4)]
    assert paths.CONTROLLER not in lab.server.znodes


async def test_each_term_begins_with_what_zookeeper_has(tmp_path: Path) -> None:
    async with running(tmp_path) as (lab, brokers):
        await brokers[4].until(UpdateMetadataRequest)
        lab.zookeeper.connect()
        lab.server.remove(paths.broker_path(1))
        await lab.wait_for_leader(4)
        assert lab.server.znodes[paths.CONTROLLER_EPOCH] == b"2"
        assert lab.state.controller_epoch == 2


class DeafZookeeper(FakeZookeeper):
    """Never connects."""

    def start(self) -> None:
        """Nobody answers."""
        self.trouble = "another CA"


async def test_without_zookeeper_there_is_nothing_to_stand_for(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {}, DeafZookeeper(), session_timeout_ms=20)
    with pytest.raises(
        NoZookeeperError, match=r"within 20 ms: see zookeeper\.connect \(another CA\)"
    ):
        await lab.terms.run()

    patient = Lab(tmp_path, {}, DeafZookeeper(), session_timeout_ms=DEADLINE_MS)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(patient.terms.run())
        await asyncio.sleep(0)
        patient.terms.stop()


def test_the_cause_of_groups_of_errors_is_the_first_one() -> None:
    first = ValueError("first")
    assert cause_of(ExceptionGroup("", [ExceptionGroup("", [first]), OSError()])) is first
