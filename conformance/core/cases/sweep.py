"""Every API a client may use, at every version: the least request, tags, cut bodies, versions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from conformance.core.catalogue import CLIENT_APIS, add
from conformance.core.forms import fitted, frame_of
from conformance.core.script import (
    CONTROLLER,
    Case,
    Coordinator,
    Given,
    Request,
    Script,
    Talk,
    To,
)
from protocol.apis import BY_NAME
from protocol.json_form import encode_body
from protocol.wire.table import META

FOR_CONTROLLER: Final = (
    *("CreateTopics", "DeleteTopics", "CreatePartitions", "ElectLeaders"),
    *("AlterPartitionReassignments", "ListPartitionReassignments", "UpdateFeatures"),
    *("AlterClientQuotas", "AlterUserScramCredentials"),
)
OF_GROUPS: Final = (
    *("OffsetCommit", "OffsetFetch", "JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup"),
    *("DescribeGroups", "DeleteGroups", "TxnOffsetCommit", "OffsetDelete"),
    *("ConsumerGroupHeartbeat", "ConsumerGroupDescribe"),
)
"""They are asked of who coordinates the group."""
OF_TRANSACTIONS: Final = (
    *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"),
    "DescribeTransactions",
)
"""They are asked of who coordinates the transactional id."""
_TAG: Final = bytes((1, 0xCF, 0x4E, 3)) + b"new"
"""One tagged field, of number 9999, with three bytes."""
_NO_TAG: Final = b"\0"
LEAST: Final[dict[str, Callable[[Given], dict[str, Any]]]] = {
    "Produce": lambda _: {"acks": -1, "timeoutMs": 1000},
    "ListOffsets": lambda _: {"replicaId": -1},
    "ElectLeaders": lambda _: {"electionType": 0, "topicPartitions": [], "timeoutMs": 1000},
    "DescribeLogDirs": lambda _: {"topics": []},
    "DescribeClientQuotas": lambda g: {
        "components": [{"entityType": "user", "matchType": 0, "match": g.name("user")}],
        "strict": True,
    },
    "DescribeUserScramCredentials": lambda g: {"users": [{"name": g.name("user")}]},
    "DescribeTopicPartitions": lambda g: {"topics": [{"name": g.name("none")}]},
    "DescribeAcls": lambda g: {
        "resourceTypeFilter": 2,
        "resourceNameFilter": g.name("none"),
        "patternTypeFilter": 3,
        "operation": 1,
        "permissionType": 1,
    },
    # Where there are tokens, none is made for a renewer of this kind.
    "CreateDelegationToken": lambda g: {
        "renewers": [{"principalType": "Sheep", "principalName": g.name("user")}]
    },
    "ApiVersions": lambda _: {"clientSoftwareName": "conform", "clientSoftwareVersion": "1.0"},
    "AddPartitionsToTxn": lambda g: {"transactions": [{"transactionalId": g.name("none")}]},
    "OffsetFetch": lambda g: {
        "groupId": g.name("none"),
        "groups": [{"groupId": g.name("none"), "topics": []}],
    },
    "FindCoordinator": lambda g: {"key": g.name("group"), "coordinatorKeys": [g.name("group")]},
}
"""The least request where an empty one would ask for all that the cluster has, or never end."""


def whom(api: str, given: Given) -> To:
    """Return who is asked by the least request of an API."""
    if api == "OffsetFetch":
        return Coordinator(given.name("none"))
    return CONTROLLER if api in FOR_CONTROLLER else 1


def least(api: str, given: Given) -> dict[str, Any]:
    """Return the least request of an API."""
    return LEAST[api](given) if api in LEAST else {}


def _minimal(api: str, given: Given) -> Script:
    request = Request(api, given.version, least(api, given))
    yield Talk([request], to=whom(api, given))


def _tags(api: str, given: Given) -> Script:
    """Send unknown tagged fields at the end of the header and at the end of the body."""
    form = least(api, given)
    if given.version in META[BY_NAME[api].request].flexible:
        yield Talk([Request(api, given.version, form, alter=_with_body_tag)], to=whom(api, given))
        head = len(frame_of(Request(api, given.version, form), 0)) - len(
            _body_of(api, given.version, form)
        )
        tagged = partial(_with_header_tag, head)
        yield Talk([Request(api, given.version, form, alter=tagged)], to=whom(api, given))


def _with_body_tag(frame: bytes) -> bytes:
    assert frame.endswith(_NO_TAG)
    return frame[:-1] + _TAG


def _with_header_tag(head: int, frame: bytes) -> bytes:
    assert frame[head - 1 : head] == _NO_TAG
    return frame[: head - 1] + _TAG + frame[head:]


def _body_of(api: str, version: int, form: dict[str, Any]) -> bytes:
    return encode_body(api, "request", version, fitted(api, "request", version, form))


def _cut(api: str, given: Given) -> Script:
    """Send bodies that end too early, and one that goes on behind its end."""
    form = least(api, given)
    size = len(_body_of(api, given.version, form))
    for missing in sorted({1, (size + 1) // 2, size} & set(range(1, size + 1))):
        cut = partial(_without_end, missing)
        yield Talk([Request(api, given.version, form, alter=cut)], to=whom(api, given))
    yield Talk([Request(api, given.version, form, alter=_with_more)], to=whom(api, given))
    yield Talk([Request(api, given.version, form)], to=whom(api, given))


def _without_end(missing: int, frame: bytes) -> bytes:
    return frame[:-missing]


def _with_more(frame: bytes) -> bytes:
    return frame + b"\0\1\2\3"


def _beyond(api: str, given: Given) -> Script:
    """Ask in the version behind the newest, in the largest there is, and in a negative one."""
    for number in (given.version + 1, 32767, -1):
        yield Talk([Request(api, given.version, least(api, given), alter=partial(_at, number))])
    yield Talk([Request("ApiVersions", 0)])


def _below(api: str, given: Given) -> Script:
    """Ask in the version before the oldest."""
    if given.version:
        older = partial(_at, given.version - 1)
        yield Talk([Request(api, given.version, least(api, given), alter=older)])


def _at(version: int, frame: bytes) -> bytes:
    return frame[:2] + version.to_bytes(2, "big", signed=True) + frame[4:]


def register() -> None:
    """Add the cases of all APIs."""
    rows = (
        ("minimal", "The least request of {} is answered as by Kafka", _minimal, "all"),
        ("tags", "Unknown tagged fields of {} are skipped", _tags, "newest"),
        ("cut", "A body of {} that is too short or too long", _cut, "ends"),
        ("beyond", "Versions of {} that are newer than all announced", _beyond, "newest"),
        ("below", "A version of {} that is older than all announced", _below, "oldest"),
    )
    for word, about, script, versions in rows:
        for api in CLIENT_APIS:
            add(Case(f"{word}/{api}", about.format(api), partial(script, api), api, versions))
