"""A simulated cluster with the clients that work on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from simulation.core.history import Function, History, Kind, Operation
from simulation.workload.admin import Admin
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.world.clock import SimClock
from simulation.world.cluster import SimCluster
from tests.simulation.world.worlds import sim_loop, small_cluster

TP = TopicPartition("orders", 0)


class Lab:
    """One world with a cluster in it."""

    def __init__(self, configs: str = "{}", racks: Sequence[str] = ()) -> None:
        loop = sim_loop()
        self.cluster = SimCluster(loop, small_cluster(configs=configs, racks=racks))
        self.history = History(lambda: loop.now_us)
        self.clock = SimClock(lambda: loop.now_us)
        self.client = self.new_client("client")
        self.admin = Admin(self.new_client("admin"), self.history)

    @classmethod
    async def running(cls) -> Lab:
        """Return one whose cluster serves."""
        made = cls()
        await made.cluster.start()
        return made

    def new_client(self, client_id: str) -> ClusterClient:
        """Return a client of its own; it ends with its world."""
        return ClusterClient(addresses_of(self.cluster.spec), client_id)

    async def create(
        self, name: str = "orders", *, partitions: int = 1, replication_factor: int = 1
    ) -> None:
        """Create a topic and wait until it is led."""
        code = await self.admin.create_topic(
            name, partitions=partitions, replication_factor=replication_factor
        )
        assert code is ErrorCode.NONE
        await self.until_led(name)

    async def until_led(self, topic: str, leader: int | None = None) -> None:
        """Wait until every partition is led, by this broker if one is named."""
        async with asyncio.timeout(60):
            while True:
                seen = (await self.client.view([topic])).partitions
                if seen and all(
                    each.leader >= 0 and leader in (None, each.leader) for each in seen
                ):
                    return
                await asyncio.sleep(0.05)

    def path(self, broker: int, number: int) -> str:
        """Return the path of a broker's log dir, the first one is 1."""
        return self.cluster.spec.broker(broker).log_dirs[number - 1].path

    def ended(self, function: Function, kind: Kind = Kind.OK) -> list[Operation]:
        """Return how the operations of one function ended."""
        return [each for each in self.history if (each.function, each.kind) == (function, kind)]
