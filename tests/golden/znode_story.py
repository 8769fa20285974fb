"""The story of the golden znodes: what three brokers of Apache Kafka write into ZooKeeper.

Brokers 1 and 2 have the protocol version of 3.9 between brokers. Broker 3 has that of 2.6 until it
is upgraded: such a leader writes its Isr itself and tells of it. Broker 1 leads the cluster first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from protocol.admin.configs import alter_configs_request, alter_outcomes
from protocol.admin.elections import ElectionType, elect_outcomes, elect_request
from protocol.cluster_file.spec import TopicSpec
from protocol.configs.types import ResourceType
from protocol.ids import TopicPartition
from protocol.messages.coordinators import FindCoordinatorRequest
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.topics import CreatePartitionsRequest, CreatePartitionsTopic
from tests.mixed.apache_nodes import ApacheNodes

BROKER_IDS: Final = (1, 2, 3)
QUIET_S: Final = 2.0
"""A chapter ends when ZooKeeper was told nothing for so long."""
_CONFIGS: Final[Mapping[int, Mapping[str, str]]] = {
    1: {"broker.rack": "a"},
    2: {"broker.rack": "b"},
    3: {"broker.rack": "c", "inter.broker.protocol.version": "2.6"},
}
_OF_ALL: Final = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.flush.offset.checkpoint.interval.ms": "1000",
}
_UPGRADED: Final = {"broker.rack": "c", **_OF_ALL}
_TIMEOUT_MS: Final = 60_000


class ZnodeStory:
    """Told once on nodes of which none runs yet."""

    def __init__(self, nodes: ApacheNodes) -> None:
        self._nodes = nodes
        self._admin: ClusterAdmin | None = None
        self.ends_ms: dict[str, int] = {}
        """When each chapter was over, in their order."""

    def tell(self) -> None:
        """Play all chapters."""
        try:
            for name, play in self._chapters().items():
                play()
                self._nodes.wait_until(self._is_quiet, f"{name} is over")
                self.ends_ms[name] = _now_ns() // 1_000_000
        finally:
            if self._admin is not None:
                self._admin.close()

    def _chapters(self) -> dict[str, Callable[[], None]]:
        return {
            "zookeeper-starts": self._nodes.start_zookeeper,
            "broker-1-starts": lambda: self._start(1),
            "broker-2-starts": lambda: self._start(2),
            "broker-3-starts": lambda: self._start(3),
            "topics-are-created": self._create,
            "topics-grow": self._grow,
            "configs-change": self._configure,
            "quotas-change": self._set_quotas,
            "a-producer-id-is-given": self._give_producer_id,
            "a-group-is-looked-for": self._find_coordinator,
            "replicas-are-reassigned": self._reassign,
            "a-leader-of-2.6-changes-its-isr": self._reassign_under_broker_3,
            "a-log-dir-fails": self._break_log_dir,
            "a-topic-is-deleted": self._delete,
            "broker-3-stops": lambda: self._nodes.stop_broker(3),
            "broker-1-stops-and-2-leads": lambda: self._nodes.stop_broker(1),
            "broker-3-is-upgraded": lambda: self._nodes.start_brokers({3: _UPGRADED}),
            "broker-1-returns": self._return,
            "preferred-leaders-are-elected": self._elect,
        }

    def _start(self, broker_id: int) -> None:
        self._nodes.start_brokers({broker_id: {**_CONFIGS[broker_id], **_OF_ALL}})

    def _create(self) -> None:
        self._admin = ClusterAdmin(cluster_behind(self._nodes.bootstrap))
        configs = {"min.insync.replicas": "2", "retention.ms": "60000"}
        self._new("orders", {0: (1, 2, 3), 1: (2, 3, 1)}, configs)
        self._new("moved", {0: (1,), 1: (2,)})
        self._new("old.leader", {0: (3,)})
        self._new("deleted", {0: (1, 2)})

    def _grow(self) -> None:
        topic = CreatePartitionsTopic(name="moved", count=3, assignments=None)
        answer = self._ask(CreatePartitionsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS), 2)
        assert [result.error_code for result in answer.results] == [0]

    def _configure(self) -> None:
        changes: list[tuple[ResourceType, str, dict[str, str | None]]] = [
            (ResourceType.TOPIC, "orders", {"retention.ms": None, "segment.bytes": "1048576"}),
            (ResourceType.BROKER, "1", {"log.cleaner.threads": "2"}),
            (ResourceType.BROKER, "", {"message.max.bytes": "2000000"}),
            (ResourceType.BROKER, "1", {"log.cleaner.threads": None}),
        ]
        for kind, name, values in changes:
            request = alter_configs_request(kind, {name: values})
            assert self._admin is not None
            for outcome in alter_outcomes(self._admin.ask(request, 1, 1)):
                outcome.check()

    def _set_quotas(self) -> None:
        rate = OpData(key="producer_byte_rate", value=1_000_000.0, remove=False)
        for entity in (
            {"user": "alice"},
            {"client-id": None},
            {"user": "alice", "client-id": "app"},
            {"ip": "10.0.0.1"},
        ):
            of = [
                AlterClientQuotasRequestEntityData(entity_type=kind, entity_name=name)
                for kind, name in entity.items()
            ]
            connections = OpData(key="connection_creation_rate", value=10.0, remove=False)
            op = connections if "ip" in entity else rate
            entry = AlterClientQuotasRequestEntryData(entity=of, ops=[op])
            answer = self._ask(AlterClientQuotasRequest(entries=[entry], validate_only=False), 1)
            assert [each.error_code for each in answer.entries] == [0]

    def _give_producer_id(self) -> None:
        request = InitProducerIdRequest(transactional_id=None)
        self._nodes.wait_until(
            lambda: self._ask(request, 4).error_code == 0, "a producer id is given"
        )

    def _find_coordinator(self) -> None:
        request = FindCoordinatorRequest(key="group", key_type=0)
        self._nodes.wait_until(
            lambda: self._ask(request, 3).error_code == 0, "the group has a coordinator"
        )

    def _reassign(self) -> None:
        """Two at a time, one of them with more replicas, the other elsewhere; then one alone."""
        self._reassign_to({("moved", 0): (2, 1), ("moved", 1): (1,)})
        self._reassign_to({("orders", 0): (3, 2, 1)})

    def _reassign_under_broker_3(self) -> None:
        self._reassign_to({("old.leader", 0): (3, 2)})
        self._nodes.pause_broker(2)
        try:
            self._wait_for("old.leader", lambda isr: isr == {3})
        finally:
            self._nodes.resume_broker(2)
        self._wait_for("old.leader", lambda isr: isr == {2, 3})
        self._wait_for("orders", lambda isr: isr == {1, 2, 3})

    def _break_log_dir(self) -> None:
        self._nodes.break_log_dir(1, "d1")
        self._nodes.wait_until(
            lambda: "Stopping serving logs in dir" in self._nodes.log(1), "broker 1 misses it"
        )

    def _delete(self) -> None:
        assert self._admin is not None
        self._admin.delete_topic("moved")

    def _return(self) -> None:
        self._nodes.repair_log_dir(1, "d1")
        self._start(1)
        self._wait_for("orders", lambda isr: isr == {1, 2, 3})

    def _elect(self) -> None:
        """Broker 3, which was away when broker 1 left it, leads it again."""
        wanted = [TopicPartition("orders", 0)]
        request = elect_request(ElectionType.PREFERRED, wanted, timeout_ms=_TIMEOUT_MS)
        elect_outcomes(self._ask(request, 2)).check()

    # Steps.

    def _new(
        self,
        name: str,
        assignment: Mapping[int, tuple[int, ...]],
        configs: Mapping[str, str] | None = None,
    ) -> None:
        assert self._admin is not None
        topic = TopicSpec(
            name=name, partitions=len(assignment), replication_factor=1, configs=configs or {}
        )
        self._admin.create_topic(topic, assignment=assignment)

    def _reassign_to(self, targets: Mapping[tuple[str, int], tuple[int, ...]]) -> None:
        admin = self._admin
        assert admin is not None
        admin.reassign(targets)
        self._nodes.wait_until(lambda: not admin.reassignments(), "the reassignment is over")

    def _wait_for(self, topic: str, condition: Callable[[set[int]], bool]) -> None:
        admin = self._admin
        assert admin is not None

        def holds() -> bool:
            view = admin.view(3, [topic])
            return all(condition(set(partition.isr)) for partition in view.partitions)

        self._nodes.wait_until(holds, f"the Isr of {topic} is as wanted")

    def _ask(self, request: Any, version: int) -> Any:
        """Ask the controller: it alone takes what changes the cluster."""
        assert self._admin is not None
        controller = self._admin.any_view([]).controller_id
        return self._admin.ask(request, version, controller)

    def _is_quiet(self) -> bool:
        written = [path.stat().st_mtime_ns for path in self._nodes.zookeeper_data.glob("log.*")]
        return not written or _now_ns() - max(written) > QUIET_S * 1e9


def _now_ns() -> int:
    """Return the time by which files and ZooKeeper's transactions are stamped."""
    return time.time_ns()
