"""The cluster that is judged: its brokers, what they announce, and topics for the cases.

Everything that a run makes has the run's suffix in its name; ``clean_up`` deletes by that.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from conformance.connection import Connection, connect
from conformance.core.forms import read_answer, sent_bytes
from conformance.core.script import BARE, CONTROLLER, As, Coordinator, Form, Node, Request, To
from conformance.errors import (
    AddressError,
    ConformanceError,
    NoClusterError,
    NotInTimeError,
)
from protocol.apis import BY_NAME
from protocol.errors import ErrorCode, Malformed, MalformedAnswer
from protocol.ids import uuid_text
from protocol.security.client import OPEN, ClientSecurity
from protocol.security.sasl_client import Login

LOOK_S: Final = 0.05
FOREVER_MS: Final = "-1"
_LIST_OFFSETS: Final = 5
_DELETED_AT_ONCE: Final = 100
_GROUP_GONE: Final = (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
"""A group whose last offset was one of a topic that was deleted goes with it."""
_QUOTAS: Final = "DescribeClientQuotas"
_USERS: Final = "DescribeUserScramCredentials"
CLIENT_ID_TYPE: Final = "client-id"
_ANY_NAME: Final = 2
_CORRELATION_ID: Final = 1
"""One request at a time goes over a connection of these."""
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
    """What a run knows of the cluster; tasks may share it."""

    brokers: dict[int, Broker]
    announced: dict[int, tuple[int, int]]
    """By API key, as the first broker announces it."""
    timeout_ms: int
    security: ClientSecurity = OPEN
    """What is brought along to the listeners."""
    _secret: str = ""
    """Drawn with the first password: what it hangs on beside its user's name."""
    _controller_id: int = -1
    _idle: dict[int, list[Connection]] = field(default_factory=dict[int, list[Connection]])
    """By broker: connections of ours by which nothing is asked at the moment."""

    def version_of(self, api: str) -> int:
        """Return the newest version that both sides know.

        Raises:
            ConformanceError: the cluster does not announce the API.
        """
        found = BY_NAME[api]
        if found.key not in self.announced:
            raise ConformanceError(f"the cluster does not announce {api}")
        return min(self.announced[found.key][1], found.versions.high)

    async def request(
        self,
        api: str,
        form: Form,
        to: To = 1,
        *,
        version: int | None = None,
        who: As | None = None,
    ) -> Form:
        """Ask one broker, well-formed, in the newest version unless one is named.

        Raises:
            OSError: it does not answer, or not so that it can be read (MalformedAnswer).
        """
        at = self.version_of(api) if version is None else version
        broker = await self.broker(to)
        connection = await self._idle_connection(broker, who)
        try:
            await connection.send(sent_bytes(Request(api, at, form), _CORRELATION_ID))
            frame = await connection.frame(self.timeout_ms / 1000)
        except asyncio.CancelledError:
            connection.close()
            raise
        if frame is None:
            connection.close()
            kind = ConnectionError if connection.is_closed else TimeoutError
            raise kind(f"{broker.host}:{broker.port} sent no answer to {api}")
        if who is None:
            self._idle.setdefault(broker.id, []).append(connection)
        else:
            connection.close()
        try:
            return read_answer(api, at, frame)
        except Malformed as error:
            words = f"{broker.host}:{broker.port} sent no answer to {api}: {error}"
            raise MalformedAnswer(words) from error

    async def hear_versions(self, to: To = 1) -> None:
        """Ask a broker what it announces.

        Raises:
            OSError: as ``request``.
        """
        answer = await self.request("ApiVersions", {}, to, version=0)
        self.announced.update(
            (each["apiKey"], (each["minVersion"], each["maxVersion"])) for each in answer["apiKeys"]
        )

    async def broker(self, to: To) -> Broker:
        """Return the broker that is meant.

        Raises:
            ConformanceError: there is none.
        """
        match to:
            case int():
                return self.brokers[sorted(self.brokers)[to - 1]]
            case Node(id=id_):
                return self.brokers[id_]
            case Coordinator():
                return await self._coordinator(to)
            case _:
                assert to == CONTROLLER, to
                return await self._controller()

    async def _controller(self) -> Broker:
        """Return the same broker each time: with KRaft the cluster names another one each time."""
        if self._controller_id not in self.brokers:
            found = await self.request("Metadata", {"topics": []})
            self._controller_id = found["controllerId"]
        return self.brokers.get(self._controller_id) or await self.broker(1)

    async def _coordinator(self, of: Coordinator) -> Broker:
        form = {"key": of.key, "keyType": of.key_type, "coordinatorKeys": [of.key]}

        async def look() -> Broker | None:
            answer = await self.request("FindCoordinator", form)
            found = answer["coordinators"][0] if "coordinators" in answer else answer
            if found["errorCode"] in _REFUSALS:
                words = f"the cluster answers {ErrorCode(found['errorCode']).name}"
                raise ConformanceError(f"{words}: it has to be asked as a super user")
            return None if found["errorCode"] else self.brokers[found["nodeId"]]

        return await self.until(look, f"{of.key} has a coordinator")

    async def until(self, look: Callable[[], Awaitable[Any]], what: str) -> Any:
        """Return what ``look`` returns as soon as it returns something.

        Raises:
            NotInTimeError: it does not.
        """
        now_s = asyncio.get_running_loop().time
        end_s = now_s() + self.timeout_ms / 1000
        while (found := await look()) is None or found is False:
            if now_s() > end_s:
                raise NotInTimeError(f"not so after {self.timeout_ms} ms: {what}")
            await asyncio.sleep(LOOK_S)
        return found

    async def create_topic(
        self, name: str, partitions: int, replicas: Sequence[int], configs: Form
    ) -> str:
        """Make a topic, wait until every broker knows its leaders, and return its id."""
        ids = [(await self.broker(index)).id for index in replicas]
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
        answer = await self.request("CreateTopics", form, CONTROLLER)
        code = answer["topics"][0]["errorCode"]
        if code:
            raise ConformanceError(f"topic {name} was not made: {ErrorCode(code).name}")

        async def is_known() -> bool:
            known = [await self._knows(index, name, partitions, ids) for index in self._places()]
            return all(known)

        async def is_led() -> bool:
            return await self._leads(Node(ids[0]), name, partitions)

        await self.until(is_known, f"every broker knows topic {name}")
        await self.until(is_led, f"{ids[0]} leads topic {name}")
        return await self._topic_id(name)

    def _places(self) -> range:
        return range(1, len(self.brokers) + 1)

    async def _knows(self, index: int, name: str, partitions: int, ids: Sequence[int]) -> bool:
        form = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
        answer = await self.request("Metadata", form, index)
        found = answer["topics"][0]["partitions"]
        return len(found) == partitions and all(
            each["leaderId"] == ids[0] and len(each["isrNodes"]) == len(ids) for each in found
        )

    async def _leads(self, leader: Node, name: str, partitions: int) -> bool:
        """Ask whether the leader knows that it is: it may tell of itself before it is ready."""
        rows = [{"partitionIndex": index, "timestamp": -1} for index in range(partitions)]
        form = {"replicaId": -1, "topics": [{"name": name, "partitions": rows}]}
        answer = await self.request("ListOffsets", form, leader, version=_LIST_OFFSETS)
        return all(each["errorCode"] == 0 for each in answer["topics"][0]["partitions"])

    async def _topic_id(self, name: str) -> str:
        form = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
        answer = await self.request("Metadata", form)
        return answer["topics"][0].get("topicId", uuid_text(bytes(16)))

    async def clean_up(self, suffix: str) -> list[str]:
        """Delete topics and groups whose names have ``suffix``; return what is left."""
        mark = f"-{suffix}"
        left: list[str] = []
        everything = (await self.request("Metadata", {"topics": None}))["topics"]
        names = [each["name"] for each in everything if mark in (each["name"] or "")]
        for at in range(0, len(names), _DELETED_AT_ONCE):
            left += await self._delete_topics(names[at : at + _DELETED_AT_ONCE])
        for index in self._places():
            listed = (await self.request("ListGroups", {}, index))["groups"]
            groups = [each["groupId"] for each in listed if mark in each["groupId"]]
            answer = await self.request("DeleteGroups", {"groupsNames": groups}, index)
            left += [
                each["groupId"]
                for each in answer["results"]
                if each["errorCode"] not in _GROUP_GONE
            ]
        return left + await self._lift_quotas(mark) + await self._delete_users(mark)

    async def _lift_quotas(self, mark: str) -> list[str]:
        """Take off the quotas of client ids that have ``mark``; return whose could not be."""
        if BY_NAME[_QUOTAS].key not in self.announced:
            return []
        rows = [{"entityType": CLIENT_ID_TYPE, "matchType": _ANY_NAME, "match": None}]
        found = await self.request(_QUOTAS, {"components": rows, "strict": True})
        entries = [
            {
                "entity": each["entity"],
                "ops": [{"key": one["key"], "remove": True} for one in each["values"]],
            }
            for each in found["entries"] or ()
            if mark in (each["entity"][0]["entityName"] or "")
        ]
        answer = await self.request("AlterClientQuotas", {"entries": entries}, CONTROLLER)
        bad = [each["entity"] for each in answer["entries"] if each["errorCode"]]
        return [entity[0]["entityName"] for entity in bad]

    async def _delete_users(self, mark: str) -> list[str]:
        """Delete the passwords of users that have ``mark``, one by one, as KRaft wants it."""
        if BY_NAME[_USERS].key not in self.announced:
            return []
        left: list[str] = []
        for user in (await self.request(_USERS, {"users": None}))["results"]:
            for each in user["credentialInfos"] if mark in user["user"] else ():
                row = {"name": user["user"], "mechanism": each["mechanism"]}
                form = {"deletions": [row], "upsertions": []}
                answer = await self.request("AlterUserScramCredentials", form, CONTROLLER)
                left += [one["user"] for one in answer["results"] if one["errorCode"]]
        return left

    async def _delete_topics(self, names: Sequence[str]) -> list[str]:
        form = {
            "topics": [{"name": name} for name in names],
            "topicNames": names,
            "timeoutMs": self.timeout_ms,
        }
        answer = await self.request("DeleteTopics", form, CONTROLLER)
        gone = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return [one["name"] for one in answer["responses"] if one["errorCode"] not in gone]

    async def connection(self, broker: Broker, who: As | None = None) -> Connection:
        """Connect to a broker, for bytes; by the login of ``security`` unless somebody is named.

        Raises:
            OSError: nobody listens there, or the login is refused.
        """
        security = self.security if who is None else self.security._replace(login=_login(who))
        return await connect(
            broker.host, broker.port, timeout_ms=self.timeout_ms, security=security
        )

    def password_of(self, name: str) -> str:
        """Return the password of a user of this run, the same each time."""
        self._secret = self._secret or secrets.token_hex(16)
        return sha256(f"{self._secret} {name}".encode()).hexdigest()

    def close(self) -> None:
        """Hang up."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def _idle_connection(self, broker: Broker, who: As | None) -> Connection:
        """Take a connection of ours that still holds, or make one."""
        if who is not None:
            return await self.connection(broker, who)
        idle = self._idle.setdefault(broker.id, [])
        while idle:
            connection = idle.pop()
            if connection.is_open:
                return connection
            connection.close()
        return await self.connection(broker)


def _login(who: As) -> Login | None:
    return None if who == BARE else Login(who.mechanism, who.user, who.password, who.is_token)


async def find_cluster(bootstrap: str, timeout_ms: int, security: ClientSecurity = OPEN) -> Access:
    """Look at a cluster by one of its brokers, ``host:port``.

    Raises:
        AddressError: that is none.
        NoClusterError: nobody answers there, or not as a broker of Kafka.
    """
    host, _, port = bootstrap.split(",", maxsplit=1)[0].strip().rpartition(":")
    if not port.isdigit():
        raise AddressError(f"{bootstrap!r} is not HOST:PORT")
    first = Access({0: Broker(0, host, int(port))}, {}, timeout_ms, security)
    try:
        await first.hear_versions()
        metadata = await first.request("Metadata", {"topics": []})
    except OSError as error:
        why = f"{bootstrap} does not answer as a Kafka broker ({error}): is that its address?"
        raise NoClusterError(why) from error
    finally:
        first.close()
    found = [Broker(each["nodeId"], each["host"], each["port"]) for each in metadata["brokers"]]
    return Access({each.id: each for each in found}, first.announced, timeout_ms, security)
