"""The cluster that is judged: its brokers, what they announce, and topics for the cases.

Everything that a run makes has the run's suffix in its name; ``clean_up`` deletes by that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jbodlab.asking.rpc import BlockingClient
from jbodlab.conformance.connection import Connection
from jbodlab.conformance.core.forms import fitted
from jbodlab.conformance.core.script import CLIENT_ID, CONTROLLER, Coordinator, Form, Node, To
from jbodlab.errors import ExitCode, LabError
from protocol.apis import BY_NAME
from protocol.errors import ErrorCode
from protocol.ids import uuid_text
from protocol.json_form import from_json, to_json
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.security.client import OPEN, ClientSecurity

LOOK_S: Final = 0.05
FOREVER_MS: Final = "-1"
_LIST_OFFSETS: Final = 5
_DELETED_AT_ONCE: Final = 100
_REFUSALS: Final = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


@dataclass(frozen=True, slots=True)
class Broker:
    """Where one broker listens."""

    id: int
    host: str
    port: int


@dataclass(slots=True)
class Access:
    """What a run knows of the cluster. Threads may share it: each asks with clients of its own."""

    brokers: dict[int, Broker]
    announced: dict[int, tuple[int, int]]
    """By API key, as the first broker announces it."""
    timeout_ms: int
    security: ClientSecurity = OPEN
    """What is brought along to the listeners."""
    _controller_id: int = -1
    _local: threading.local = field(default_factory=threading.local)
    _clients: list[BlockingClient] = field(default_factory=list[BlockingClient])

    def version_of(self, api: str) -> int:
        """Return the newest version that both sides know.

        Raises:
            LabError: the cluster does not announce the API.
        """
        found = BY_NAME[api]
        if found.key not in self.announced:
            raise LabError(ExitCode.FAILED, f"the cluster does not announce {api}")
        return min(self.announced[found.key][1], found.versions.high)

    def request(
        self, api: str, form: Form, to: To = 1, *, version: int | None = None
    ) -> dict[str, Any]:
        """Ask one broker, well-formed, in the newest version unless one is named.

        Raises:
            OSError: it does not answer.
        """
        at = self.version_of(api) if version is None else version
        cls = BY_NAME[api].request
        message = from_json(cls, at, fitted(api, "request", at, form))
        return to_json(self._client(self.broker(to)).request(message, at), at)

    def broker(self, to: To) -> Broker:
        """Return the broker that is meant.

        Raises:
            LabError: there is none.
        """
        match to:
            case int():
                return self.brokers[sorted(self.brokers)[to - 1]]
            case Node(id=id_):
                return self.brokers[id_]
            case Coordinator():
                return self._coordinator(to)
            case _:
                assert to == CONTROLLER, to
                return self._controller()

    def _controller(self) -> Broker:
        """Return the same broker each time: with KRaft the cluster names another one each time."""
        if self._controller_id not in self.brokers:
            self._controller_id = self.request("Metadata", {"topics": []})["controllerId"]
        return self.brokers.get(self._controller_id) or self.broker(1)

    def _coordinator(self, of: Coordinator) -> Broker:
        form = {"key": of.key, "keyType": of.key_type, "coordinatorKeys": [of.key]}

        def look() -> Broker | None:
            answer = self.request("FindCoordinator", form)
            found = answer["coordinators"][0] if "coordinators" in answer else answer
            if found["errorCode"] in _REFUSALS:
                words = f"the cluster answers {ErrorCode(found['errorCode']).name}"
                raise LabError(ExitCode.FAILED, f"{words}: it has to be asked as a super user")
            return None if found["errorCode"] else self.brokers[found["nodeId"]]

        return self.until(look, f"{of.key} has a coordinator")

    def until(self, look: Callable[[], Any], what: str) -> Any:
        """Return what ``look`` returns as soon as it returns something.

        Raises:
            LabError: TIMED_OUT.
        """
        end = time.monotonic() + self.timeout_ms / 1000
        while (found := look()) is None or found is False:
            if time.monotonic() > end:
                raise LabError(ExitCode.TIMED_OUT, f"not so after {self.timeout_ms} ms: {what}")
            time.sleep(LOOK_S)
        return found

    def create_topic(
        self, name: str, partitions: int, replicas: Sequence[int], configs: Form
    ) -> str:
        """Make a topic, wait until every broker knows its leaders, and return its id."""
        ids = [self.broker(index).id for index in replicas]
        topic = {
            "name": name,
            "numPartitions": -1,
            "replicationFactor": -1,
            "assignments": [
                {"partitionIndex": index, "brokerIds": ids} for index in range(partitions)
            ],
            "configs": [
                {"name": key, "value": value}
                for key, value in {"retention.ms": FOREVER_MS, **configs}.items()
            ],
        }
        form = {"topics": [topic], "timeoutMs": self.timeout_ms}
        answer = self.request("CreateTopics", form, CONTROLLER)
        code = answer["topics"][0]["errorCode"]
        if code:
            raise LabError(ExitCode.FAILED, f"topic {name} was not made: {ErrorCode(code).name}")
        self.until(
            lambda: all(self._knows(index, name, partitions, ids) for index in self._places()),
            f"every broker knows topic {name}",
        )
        leader = Node(ids[0])
        self.until(lambda: self._leads(leader, name, partitions), f"{ids[0]} leads topic {name}")
        return self._topic_id(name)

    def _places(self) -> range:
        return range(1, len(self.brokers) + 1)

    def _knows(self, index: int, name: str, partitions: int, ids: Sequence[int]) -> bool:
        form = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
        found = self.request("Metadata", form, index)["topics"][0]["partitions"]
        return len(found) == partitions and all(
            each["leaderId"] == ids[0] and len(each["isrNodes"]) == len(ids) for each in found
        )

    def _leads(self, leader: Node, name: str, partitions: int) -> bool:
        """Ask whether the leader knows that it is: it may tell of itself before it is ready."""
        rows = [{"partitionIndex": index, "timestamp": -1} for index in range(partitions)]
        form = {"replicaId": -1, "topics": [{"name": name, "partitions": rows}]}
        answer = self.request("ListOffsets", form, leader, version=_LIST_OFFSETS)
        return all(each["errorCode"] == 0 for each in answer["topics"][0]["partitions"])

    def _topic_id(self, name: str) -> str:
        form = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
        return self.request("Metadata", form)["topics"][0].get("topicId", uuid_text(bytes(16)))

    def clean_up(self, suffix: str) -> list[str]:
        """Delete topics and groups whose names have ``suffix``; return what is left."""
        mark = f"-{suffix}"
        left: list[str] = []
        everything = self.request("Metadata", {"topics": None})["topics"]
        names = [each["name"] for each in everything if mark in (each["name"] or "")]
        for at in range(0, len(names), _DELETED_AT_ONCE):
            left += self._delete_topics(names[at : at + _DELETED_AT_ONCE])
        for index in self._places():
            listed = self.request("ListGroups", {}, index)["groups"]
            groups = [each["groupId"] for each in listed if mark in each["groupId"]]
            answer = self.request("DeleteGroups", {"groupsNames": groups}, index)
            left += [each["groupId"] for each in answer["results"] if each["errorCode"]]
        return left

    def _delete_topics(self, names: Sequence[str]) -> list[str]:
        form = {
            "topics": [{"name": name} for name in names],
            "topicNames": names,
            "timeoutMs": self.timeout_ms,
        }
        answer = self.request("DeleteTopics", form, CONTROLLER)
        gone = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return [one["name"] for one in answer["responses"] if one["errorCode"] not in gone]

    def connection(self, broker: Broker) -> Connection:
        """Connect to a broker, for bytes.

        Raises:
            OSError: nobody listens there, or the login is refused.
        """
        return Connection(self._new_client(broker).hand_over())

    def close(self) -> None:
        """Hang up."""
        for client in self._clients:
            client.close()

    def _client(self, broker: Broker) -> BlockingClient:
        clients: dict[int, BlockingClient] = self._local.__dict__.setdefault("clients", {})
        if broker.id not in clients:
            clients[broker.id] = self._new_client(broker)
            self._clients.append(clients[broker.id])
        return clients[broker.id]

    def _new_client(self, broker: Broker) -> BlockingClient:
        return BlockingClient(
            broker.host,
            broker.port,
            timeout_ms=self.timeout_ms,
            client_id=CLIENT_ID,
            security=self.security,
        )


def find_cluster(bootstrap: str, timeout_ms: int, security: ClientSecurity = OPEN) -> Access:
    """Look at a cluster by one of its brokers, ``host:port``.

    Raises:
        LabError: nobody answers there, or not as a broker of Kafka.
    """
    host, _, port = bootstrap.split(",", maxsplit=1)[0].strip().rpartition(":")
    if not port.isdigit():
        raise LabError(ExitCode.USAGE, f"{bootstrap!r} is not HOST:PORT")
    client = BlockingClient(
        host, int(port), timeout_ms=timeout_ms, client_id=CLIENT_ID, security=security
    )
    try:
        answer = client.request(
            ApiVersionsRequest(client_software_name="", client_software_version=""), 0
        )
        announced = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        first = Access({0: Broker(0, host, int(port))}, announced, timeout_ms, security)
        metadata = first.request("Metadata", {"topics": []})
        first.close()
    except OSError as error:
        why = f"{bootstrap} does not answer as a Kafka broker ({error}): is that its address?"
        raise LabError(ExitCode.NOT_RUNNING, why) from error
    finally:
        client.close()
    found = [Broker(each["nodeId"], each["host"], each["port"]) for each in metadata["brokers"]]
    return Access({each.id: each for each in found}, announced, timeout_ms, security)
