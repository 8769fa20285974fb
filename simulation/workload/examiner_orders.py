"""What an examiner orders between its cases: what a cluster keeps beside topics, and what it may.

Cases set a value once and take it back. Here few names have few values, which change, under way
and again: quotas, passwords, configurations of groups, rights. It asks whether something could be
done, which does nothing, and has topics made by hand wherever there may be no room.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from conformance.cluster_access import CLIENT_ID_TYPE, Access
from conformance.core.script import CONTROLLER, Form
from conformance.core.security_forms import (
    ALL,
    ALLOW,
    CLUSTER,
    CLUSTER_NAME,
    DENY,
    LITERAL,
    PREFIXED,
    matching,
    rule,
)
from protocol.acls.model import OPERATIONS, AclOperation, AclResourceType
from protocol.configs.types import AlterOperation, ResourceType
from protocol.errors import ErrorCode
from protocol.security.scram import ITERATIONS_MIN
from simulation.client_host import EXAMINER_HOST
from simulation.core.plan import EXAMINED
from simulation.workload.mover import RandomSource

MARK: Final = "ex"
"""In all names, by which what is left is found."""
T = TypeVar("T")
_RIGHTS_MAX: Final = 4
_WORDS: Final[Mapping[AclResourceType, tuple[str, ...]]] = {
    AclResourceType.TOPIC: ("", "topic1", "topic2", "none"),
    AclResourceType.GROUP: ("", "group", "none"),
    AclResourceType.TRANSACTIONAL_ID: ("", "txn"),
}
"""Kind -> how the names go on that a right is about; "": however they do."""
_ANYBODY: Final = "User:*"
_HOSTS: Final = ("*", EXAMINER_HOST)
_TAKEN: Final = tuple(
    each for each in OPERATIONS[AclResourceType.CLUSTER] if each is not AclOperation.ALTER
)
"""What it takes from itself; without the right to alter the cluster it could give nothing back."""
_QUOTAS: Final = ("producer_byte_rate", "controller_mutation_rate")
_LIMITS: Final = (1e7, 1e8, 1e9)
_GROUP_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "consumer.session.timeout.ms": ("45000", "50000"),
    "consumer.heartbeat.interval.ms": ("5000", "6000"),
}
_SALT: Final = base64.b64encode(b"salt").decode()


class ExaminerOrders:
    """Orders of one examiner; each is one request, with one answer."""

    def __init__(self, access: Access, chance: RandomSource) -> None:
        self._access = access
        self._chance = chance
        self._rights = 0
        self._topics = 0
        self._may_have_authorizer = True
        self._kinds: Sequence[Callable[[], Awaitable[object]]] = (
            self._order_quotas,
            self._order_passwords,
            self._order_group_configs,
            self._validate,
            self._order_by_hand,
        )

    async def order(self) -> None:
        """Order something; rights as often as all else, as long as there may be an authorizer.

        Raises:
            OSError, ConformanceError: it is not answered, or nobody is there to be asked.
        """
        if self._may_have_authorizer and self._is_so():
            await self._order_rights()
        else:
            await self._one_of(self._kinds)()

    async def end(self) -> None:
        """Take back the rights that were given, of which all others live."""
        if self._may_have_authorizer:
            await self._take_rights_back()

    async def _order_rights(self) -> None:
        """Allow or deny something to everybody, or take all of that back."""
        if self._rights == _RIGHTS_MAX:
            self._rights = 0
            await self._take_rights_back()
            return
        self._rights += 1
        kind = self._one_of((*_WORDS, AclResourceType.CLUSTER))
        if kind is AclResourceType.CLUSTER:
            await self._create(self._of_cluster())
            return
        name, operation = EXAMINED + self._one_of(_WORDS[kind]), self._one_of(OPERATIONS[kind])
        permission = self._one_of((DENY, ALLOW))
        said = {"resourcePatternType": PREFIXED, "permissionType": permission}
        await self._create([rule(kind, name, operation, **said, host=self._one_of(_HOSTS))])

    def _of_cluster(self) -> list[Form]:
        """Deny itself something; all others go on to do everything: without a right all may."""
        taken = self._one_of(_TAKEN)
        return [
            rule(CLUSTER, CLUSTER_NAME, ALL),
            rule(CLUSTER, CLUSTER_NAME, taken, permissionType=DENY, host=EXAMINER_HOST),
        ]

    async def _create(self, rights: list[Form]) -> None:
        creations = [{**right, "principal": _ANYBODY} for right in rights]
        answer = await self._ask("CreateAcls", {"creations": creations})
        code = answer["results"][0]["errorCode"]
        self._may_have_authorizer = code != ErrorCode.SECURITY_DISABLED

    async def _take_rights_back(self) -> None:
        of_cluster = matching(
            resourceTypeFilter=CLUSTER, patternTypeFilter=LITERAL, principalFilter=_ANYBODY
        )
        filters = [matching(patternTypeFilter=PREFIXED), of_cluster]
        await self._ask("DeleteAcls", {"filters": filters})

    async def _order_quotas(self) -> None:
        """Give one or two clients, whom nobody is, limits, or take some off."""
        entries = [
            {
                "entity": [{"entityType": CLIENT_ID_TYPE, "entityName": _name("client", number)}],
                "ops": [self._limit(key) for key in self._some_of(_QUOTAS)],
            }
            for number in self._some_of((0, 1))
        ]
        form = {"entries": entries, "validateOnly": self._is_seldom()}
        await self._ask("AlterClientQuotas", form)

    def _limit(self, key: str) -> Form:
        if self._is_seldom():
            return {"key": key, "value": 0.0, "remove": True}
        return {"key": key, "value": self._one_of(_LIMITS), "remove": False}

    async def _order_passwords(self) -> None:
        """Give one or two users, whom nobody is, passwords, or take some off."""
        deletions: list[Form] = []
        upsertions: list[Form] = []
        for number in self._some_of((0, 1)):
            row: dict[str, Any] = {"name": _name("user", number), "mechanism": self._one_of((1, 2))}
            if self._is_seldom():
                deletions.append(row)
            else:
                salted = base64.b64encode(bytes([self._chance.randrange(256)]) * 32).decode()
                more = {"iterations": ITERATIONS_MIN, "salt": _SALT, "saltedPassword": salted}
                upsertions.append({**row, **more})
        form = {"deletions": deletions, "upsertions": upsertions}
        await self._ask("AlterUserScramCredentials", form)

    async def _order_group_configs(self) -> None:
        configs: list[Form] = []
        for key in self._some_of(tuple(_GROUP_VALUES)):
            is_off = self._is_seldom()
            operation = AlterOperation.DELETE if is_off else AlterOperation.SET
            value = None if is_off else self._one_of(_GROUP_VALUES[key])
            configs.append({"name": key, "configOperation": operation, "value": value})
        resource = {
            "resourceType": ResourceType.GROUP,
            "resourceName": _name("group", self._chance.randrange(2)),
            "configs": configs,
        }
        form = {"resources": [resource], "validateOnly": self._is_seldom()}
        await self._ask("IncrementalAlterConfigs", form)

    async def _validate(self) -> None:
        """Ask whether any topic could grow, or another one be made."""
        found = (await self._access.request("Metadata", {"topics": None}))["topics"]
        if not found or self._is_seldom():
            await self._make_topic({"numPartitions": 1, "replicationFactor": 1}, is_only_asked=True)
            return
        topic = self._one_of(found)
        count = len(topic["partitions"]) + 1 + self._chance.randrange(2)
        row = {"name": topic["name"], "count": count, "assignments": None}
        form = {"topics": [row], "timeoutMs": self._access.timeout_ms, "validateOnly": True}
        await self._ask("CreatePartitions", form)

    async def _order_by_hand(self) -> None:
        """Have a topic made on a broker, or two, whatever they have room for."""
        brokers = self._some_of(tuple(self._access.brokers))[:2]
        row = {"partitionIndex": 0, "brokerIds": brokers}
        counted = {"numPartitions": -1, "replicationFactor": -1, "assignments": [row]}
        await self._make_topic(counted, is_only_asked=False)

    async def _make_topic(self, counted: Form, *, is_only_asked: bool) -> None:
        self._topics += 1
        topic: dict[str, Any] = {"assignments": [], "configs": [], **counted}
        form = {
            "topics": [{"name": _name("made", self._topics), **topic}],
            "timeoutMs": self._access.timeout_ms,
            "validateOnly": is_only_asked,
        }
        await self._ask("CreateTopics", form)

    async def _ask(self, api: str, form: Form) -> Form:
        return await self._access.request(api, form, CONTROLLER)

    def _is_so(self) -> bool:
        return not self._chance.randrange(2)

    def _is_seldom(self) -> bool:
        return not self._chance.randrange(5)

    def _one_of(self, among: Sequence[T]) -> T:
        return among[self._chance.randrange(len(among))]

    def _some_of(self, among: Sequence[T]) -> list[T]:
        """Return one or more, in any order."""
        left = list(among)
        count = 1 + self._chance.randrange(len(left))
        return [left.pop(self._chance.randrange(len(left))) for _ in range(count)]


def _name(word: str, number: int) -> str:
    return f"{EXAMINED}{word}{number}-{MARK}"
