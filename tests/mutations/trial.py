"""One run of a cluster that may have a mutant in it, from its start to what the checkers find."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from broker.core.partition import Partition
from broker.engine.engine import Engine
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, ServiceLevel
from simulation.core.checkers.table import check_all
from simulation.core.history import History
from simulation.workload.admin import Admin
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.workload.consumer import ConsumerSettings, ConsumerWorkload
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.workload.topic_answers import TopicAnswers
from simulation.world.clock import SimClock
from simulation.world.cluster import SimCluster
from simulation.world.sampler import Sampler
from simulation.world.transport import SimTransport
from tests.simulation.world.worlds import sim_loop, small_cluster

TP = TopicPartition("orders", 0)


class Trial:
    """A cluster that is watched, and clients to work on it."""

    def __init__(self, configs: str) -> None:
        self.loop = sim_loop()
        self.cluster = SimCluster(self.loop, small_cluster(configs=configs))
        self.observer = Sampler(self.cluster)
        self.history = History(lambda: self.loop.now_us)
        self.clock = SimClock(lambda: self.loop.now_us)
        self.topic_answers = TopicAnswers()
        self.client = self.new_client("client")
        self.admin = Admin(self.new_client("admin"), self.history)
        self._workloads = 0

    @classmethod
    async def begin(cls, *replicas: int, topic: str = "orders", configs: str = "{}") -> Trial:
        """Start a cluster with one partition on these brokers, the first one leads."""
        trial = cls(configs)
        trial.observer.start()
        await trial.cluster.start()
        await trial.create(topic, *replicas)
        return trial

    async def create(
        self, topic: str, *replicas: int, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic of one partition and wait until it is led."""
        await self.admin.create_topic(topic, assignment=[replicas], configs=configs)
        await self.until_led(TopicPartition(topic, 0), replicas[0])

    async def until_led(self, tp: TopicPartition, leader: int) -> None:
        """Wait until metadata tells of this leader."""
        async with asyncio.timeout(60):
            while True:
                seen = (await self.client.view([tp.topic])).by_partition
                if tp in seen and seen[tp].leader == leader:
                    return
                await asyncio.sleep(0.05)

    async def until_isr(self, tp: TopicPartition, *isr: int) -> None:
        """Wait until the leader has exactly this Isr from the controller."""
        async with asyncio.timeout(60):
            while True:
                if self.partition(isr[0], tp).isr.isr == isr:
                    return
                await asyncio.sleep(0.05)

    def new_client(self, client_id: str) -> ClusterClient:
        """Return a client of its own."""
        addresses = addresses_of(self.cluster.spec)
        return ClusterClient(addresses, client_id, topic_answers=self.topic_answers)

    def engine(self, broker: int) -> Engine:
        """Return the engine of a broker."""
        running = self.cluster.brokers[broker].broker
        assert running is not None
        assert running.broker_control.engine is not None
        return running.broker_control.engine

    def state(self, broker: int) -> EngineState:
        """Return what a broker knows."""
        return self.engine(broker).state

    def partition(self, broker: int, tp: TopicPartition = TP) -> Partition:
        """Return a partition of a broker."""
        return self.replica(broker, tp).partition

    def log(self, broker: int, tp: TopicPartition = TP) -> PartitionLog:
        """Return a log of a broker."""
        return self.replica(broker, tp).log.files

    def log_dir(self, broker: int, tp: TopicPartition = TP) -> LogDir:
        """Return where a log of a broker lies."""
        return self.replica(broker, tp).log.dir

    def server_ends(self, broker: int, client_process: str) -> list[SimTransport]:
        """Return a broker's ends of the connections from one process."""
        port = self.cluster.spec.broker(broker).port
        return [
            end
            for end in self.loop.network.ends
            if end.addresses["sockname"][1] == port and end.peer.process.name == client_process
        ]

    def producer(self, topic: str = "orders", **settings: int) -> ProducerWorkload:
        """Return an idempotent producer for a topic."""
        self._workloads += 1
        number = self._workloads
        shape = ProducerSettings(
            topic=topic,
            is_idempotent=True,
            interval_ms=settings.get("interval_ms", 20),
            records_max=settings.get("records_max", 10),
            delivery_timeout_ms=settings.get("delivery_timeout_ms", 30_000),
        )
        client = self.new_client(f"writer-{number}")
        return ProducerWorkload(number, client, self.history, shape, self.clock)

    async def read(self, topic: str = "orders", seconds: float = 2) -> None:
        """Read a topic from its beginning, with a new client."""
        settings = ConsumerSettings(topic=topic)
        consumer = ConsumerWorkload(self.new_client("reader"), self.history, settings)
        async with asyncio.TaskGroup() as group:
            group.create_task(consumer.run())
            await asyncio.sleep(seconds)
            consumer.stop()

    async def findings(self, *, heals: bool = False, rest_s: float = 10) -> list[str]:
        """End the run after some rest, and return the names of the checkers that complain."""
        if heals:
            self.observer.samples.healed_us = self.loop.now_us
        await asyncio.sleep(rest_s)
        samples = await self.observer.finish()
        samples.views, samples.denials = self.topic_answers.views, self.topic_answers.denials
        evidence = Evidence(
            history=self.history.operations, samples=samples, service_level=ServiceLevel()
        )
        return list(dict.fromkeys(each.checker for each in check_all(evidence)))

    def replica(self, broker: int, tp: TopicPartition = TP) -> Replica:
        """Return a replica of a broker."""
        replica = self.state(broker).hosted.online_replica(tp)
        assert replica is not None
        return replica
