"""What is not compared, in one place: the values of an answer that differ from run to run.

Every rule goes by the name of a field, or of a field in one API; docs/conform.md lists them for
users. What no rule names is compared as it is.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from conformance.core.script import Form
from protocol.errors import Malformed
from protocol.records.batch import MAGIC, BatchHeader, check_crc, iterate_batches

PLACES: Final = {
    "errorMessage": "text",
    "batchIndexErrorMessage": "text",
    "topicErrorMessage": "text",
    "throttleTimeMs": "time",
    "clusterId": "cluster",
    "host": "host",
    "clientHost": "host",
    "port": "port",
    "rack": "rack",
    "logDir": "log dir",
    "totalBytes": "bytes",
    "usableBytes": "bytes",
    "logAppendTimeMs": "time",
    "transactionStartTimeMs": "time",
    "finalizedFeaturesEpoch": "epoch",
    "maxVersionLevel": "level",
    "minVersionLevel": "level",
    "heartbeatIntervalMs": "interval",
    "nodeId": "a broker",
    "controllerId": "a broker",
    "brokerId": "a broker",
    "coordinatorEpoch": "epoch",
    "DescribeQuorum.leaderId": "a broker",
    "DescribeQuorum.leaderEpoch": "epoch",
    "DescribeQuorum.highWatermark": "offset",
    "hmac": "hmac",
    "RenewDelegationToken.expiryTimestampMs": "time",
    "ExpireDelegationToken.expiryTimestampMs": "time",
}
"""Each becomes its word; null, negative and empty values stay."""
ZERO_STAYS: Final = ("throttleTimeMs",)
"""Of these, 0 stays: whether a client is to wait is compared, not how long."""
EVERY_LISTENERS: Final = "SCRAM-SHA-256"
"""The mechanism that the listener of a secured cluster has to take; others are its own affair."""
HOSTS_OF_ACLS: Final = ("DescribeAcls.host", "DeleteAcls.host")
"""They stay as they are: a client says them."""
SPANS: Final = ("expiryTimestamp", "maxTimestamp")
"""Times of tokens: what stays is how many minutes they are after the token was made."""
EVEN_NULL: Final = ("rack",)
"""Of these, null is replaced as well: the cluster may have none."""
IDS: Final = {
    "topicId": "topic id",
    "producerId": "producer",
    "currentTxnProducerId": "producer",
    "memberId": "member",
    "leader": "member",
    "sessionId": "session",
    "tokenId": "token",
}
"""Each becomes its word and a number, the same for the same value within a case."""
BROKERS: Final = (
    "leaderId",
    "replicaNodes",
    "isrNodes",
    "offlineReplicas",
    "replicas",
    "addingReplicas",
    "removingReplicas",
    "eligibleLeaderReplicas",
    "lastKnownElr",
    "preferredReadReplica",
)
"""Ids of brokers become their place among the ids of the cluster."""
UNORDERED: Final = (
    "apiKeys",
    "supportedFeatures",
    "finalizedFeatures",
    "isrNodes",
    "offlineReplicas",
    "configs",
    "synonyms",
    "members",
    "brokers",
    "credentialInfos",
    "Metadata.topics",
    "OffsetCommit.partitions",
    "Produce.responses",
    "Produce.partitionResponses",
    "DeleteRecords.partitions",
    "DeleteTopics.responses",
    "UpdateFeatures.results",
    "WriteTxnMarkers.markers",
    "WriteTxnMarkers.topics",
    "WriteTxnMarkers.partitions",
    "AddPartitionsToTxn.resultsByPartition",
    "DescribeTransactions.partitions",
    "ListGroups.groups",
    "DescribeAcls.resources",
    "DescribeAcls.acls",
    "DeleteAcls.matchingAcls",
    "DescribeDelegationToken.tokens",
    "DescribeDelegationToken.renewers",
    "DescribeLogDirs.results",
    "DescribeLogDirs.topics",
    "DescribeLogDirs.partitions",
)
"""Lists without a meaning in their order are sorted."""
PUT_TOGETHER: Final = (
    "AddPartitionsToTxn.resultsByTopicV3AndBelow",
    "CreatePartitions.results",
    "CreateTopics.topics",
    "DeleteRecords.topics",
    "DescribeGroups.groups",
    "DescribeTopicPartitions.topics",
    "ElectLeaders.replicaElectionResults",
    "Fetch.responses",
    "FindCoordinator.coordinators",
    "ListOffsets.topics",
    "OffsetCommit.topics",
    "OffsetDelete.topics",
    "OffsetFetch.topics",
    "TxnOffsetCommit.topics",
)
"""Lists that are sorted, too, where what a user may do and may not do is put together."""
EACH_ONCE: Final = (
    "brokers",
    "DescribeLogDirs.results",
    "DescribeQuorum.currentVoters",
    "DescribeQuorum.observers",
    "DescribeQuorum.nodes",
)
"""Lists whose length is that of the cluster: what is the same after all rules stands once."""
OWN_ONLY: Final = {
    "Metadata.topics": "name",
    "ListGroups.groups": "groupId",
    "DescribeLogDirs.topics": "name",
    "ListTransactions.transactionStates": "transactionalId",
    "ListPartitionReassignments.topics": "name",
    "ListConfigResources.configResources": "resourceName",
}
"""Lists of all that the cluster has: what is not the case's own, and no error, is left out."""
EMPTY_ONES: Final = {"DescribeLogDirs.results": "topics"}
"""Lists in which what has nothing of the case's own is left out beside what has: a broker may have
one log dir or many."""
LEFT_OUT: Final = ("DescribeQuorum.currentVoters", "DescribeQuorum.observers")
"""Lists that say how the cluster is made up."""
CONFIG_VALUES: Final = ("DescribeConfigs", "CreateTopics")
"""APIs whose ``value`` of a configuration is the cluster's own unless the topic set it."""
FILLED_UP: Final = (249, 250)
"""Lengths of the longest name that a topic may have, and of one that is longer."""
_FILLING: Final = re.compile(r"x{20,}$")
_TOPIC_SOURCE: Final = 1
_ZERO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"


class Normal:
    """The rules for the answers of one run of one case; it remembers which ids it has seen."""

    def __init__(
        self,
        suffix: str,
        broker_ids: Sequence[int],
        announced: Mapping[int, tuple[int, int]] | None = None,
        shared_suffix: str = "",
        me: str = "",
    ) -> None:
        """Prepare.

        Args:
            suffix: of names of the case.
            broker_ids: of the cluster.
            announced: versions, by API key.
            shared_suffix: of names that cases of a run share.
            me: the user that the run logs in as; empty without a login.
        """
        self._suffix = suffix
        self._me, self._shared = me, shared_suffix
        self._unordered = (*UNORDERED, *PUT_TOGETHER) if shared_suffix else UNORDERED
        shared = rf"|-{re.escape(shared_suffix)}$" if shared_suffix else ""
        self._drawn = re.compile(rf"-{re.escape(suffix)}(~\d+)?{shared}")
        self._announced = announced or {}
        self._brokers = {id_: index for index, id_ in enumerate(sorted(broker_ids), 1)}
        self._ids: dict[tuple[str, Any], str] = {}
        self._counts: dict[str, int] = {}

    def body(self, api: str, form: Form) -> dict[str, Any]:
        """Return the form of an answer as it is compared."""
        return self._struct(api, form)

    def know(self, field: str, value: Any) -> str:
        """Return the name of an id; the next one if it was never seen."""
        word = IDS[field]
        if (word, value) not in self._ids:
            self._counts[word] = self._counts.get(word, 0) + 1
            self._ids[word, value] = f"<{word} {self._counts[word]}>"
        return self._ids[word, value]

    def text(self, value: str) -> str:
        """Return a text without what was drawn for the run.

        Of a name that is filled up to a length, that length stands for what fills it up.
        """
        if len(value) in FILLED_UP and self._suffix in value and _FILLING.search(value):
            value = _FILLING.sub(f"<{len(value)} characters>", value)
        return self._drawn.sub("", value)

    def _struct(self, api: str, form: Form) -> dict[str, Any]:
        values = {key: self._field(api, key, value) for key, value in _with_spans(form).items()}
        if api in CONFIG_VALUES and "value" in form and form.get("configSource") != _TOPIC_SOURCE:
            values["value"] = "<value>"
            values.pop("configSource", None)
        return values

    def _field(self, api: str, key: str, value: Any) -> Any:
        scoped = f"{api}.{key}"
        if scoped in LEFT_OUT or (key == "apiKeys" and self._is_as_announced(value)):
            return "<left out>"
        if key in BROKERS and scoped not in PLACES:
            return self._sorted(key, self._broker(value))
        match value:
            case list():
                return self._list(api, key, cast("list[Any]", value))
            case dict():
                return self._struct(api, cast("Form", value))
            case str() if key == "records":
                return self._records(value)
            case _:
                return self._scalar(scoped, key, value)

    def _is_as_announced(self, rows: list[Any]) -> bool:
        """Whether versions are those that the run was told first: they are judged once."""
        found = {row["apiKey"]: (row["minVersion"], row["maxVersion"]) for row in rows}
        return found == self._announced and len(found) == len(rows)

    def _scalar(self, scoped: str, key: str, value: Any) -> Any:
        if key in EVEN_NULL:
            return f"<{PLACES[key]}>"
        if _is_unset(value) or (value == 0 and key in ZERO_STAYS):
            return value
        word = PLACES.get(scoped, PLACES.get(key))
        if word is not None and scoped not in HOSTS_OF_ACLS:
            return f"<{word}>"
        if key in IDS and not (key == "sessionId" and value == 0):
            return self.know(key, value)
        return self._own_text(scoped, value) if isinstance(value, str) else value

    def _own_text(self, scoped: str, value: str) -> Any:
        if scoped == "SaslAuthenticate.authBytes":
            return _scram(value)
        if value == self._me and scoped.lower().endswith("principalname"):
            return "<me>"
        return self.text(value)

    def _broker(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._broker(each) for each in cast("list[Any]", value)]
        return f"<broker {self._brokers[value]}>" if value in self._brokers else value

    def _sorted(self, key: str, value: Any) -> Any:
        if key in UNORDERED and isinstance(value, list):
            return sorted(cast("list[Any]", value), key=str)
        return value

    def _list(self, api: str, key: str, value: list[Any]) -> list[Any]:
        scoped = f"{api}.{key}"
        if scoped == "SaslHandshake.mechanisms":
            return [each for each in value if each == EVERY_LISTENERS]
        name = OWN_ONLY.get(scoped)
        if name is not None:
            value = [each for each in value if self._is_looked_at(each, name)]
        items = [self._field(api, f"{key}[]", each) for each in value]
        if key in self._unordered or scoped in self._unordered:
            items.sort(key=_order)
        if key in EACH_ONCE or scoped in EACH_ONCE:
            items = list({_order(each): each for each in items}.values())
        return _without_empty(items, EMPTY_ONES[scoped]) if scoped in EMPTY_ONES else items

    def _is_looked_at(self, element: Any, name: str) -> bool:
        text = str(element.get(name) or "")
        own = self._suffix in text or (self._shared != "" and text.endswith(f"-{self._shared}"))
        return own or element.get("errorCode", 0) != 0

    def _records(self, value: str) -> Any:
        data = base64.b64decode(value)
        try:
            if data and data[16] == MAGIC:
                return [self._batch(data, at, head) for at, head in iterate_batches(data)]
        except (Malformed, IndexError):
            return {"unreadable": value}
        return {"messageSet": value}

    def _batch(self, data: bytes, at: int, head: BatchHeader) -> dict[str, Any]:
        form: dict[str, Any] = dict(head._asdict())
        form["crc"] = "right" if check_crc(data, at, head) else "wrong"
        if head.producer_id >= 0:
            form["producer_id"] = self.know("producerId", head.producer_id)
        if head.is_control or head.is_log_append_time:
            for name in ("base_timestamp", "max_timestamp"):
                form[name] = "<time>"
        else:
            body = data[at + 61 : at + head.size_bytes]
            form["records"] = base64.b64encode(body).decode()
        return form


def _with_spans(form: Form) -> Form:
    """Return a token's times, where it has some, as what they are after it was made."""
    names = [name for name in form if name.removesuffix("Ms") in SPANS]
    made_ms = form.get("issueTimestampMs", form.get("issueTimestamp", 0))
    if not names or made_ms <= 0:
        return form
    known = {name: "<time>" for name in form if name.startswith("issueTimestamp")}
    spans = {name: f"{round((form[name] - made_ms) / 60_000)} minutes" for name in names}
    return {**form, **known, **spans}


def _scram(value: str) -> Any:
    """Return what a server says in an exchange of SCRAM, without what it draws and proves."""
    try:
        fields = [part.partition("=") for part in base64.b64decode(value).decode().split(",")]
    except ValueError:
        return value
    return {key: text if key in ("i", "e") else "<drawn>" for key, _, text in fields}


def _without_empty(items: list[Any], name: str) -> list[Any]:
    """Leave out what has no ``name`` and no error, where something has."""
    full = [each for each in items if each[name] or each["errorCode"]]
    return full or items


def _is_unset(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    return value < 0 if isinstance(value, int) else value in ("", _ZERO_ID)


def _order(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
