"""Every API that jbodlab knows: key, name, message classes, versions.

Messages are imported on first use, so that a broker pays only for what it speaks. Who serves an API
is not said here: handlers register themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from protocol.wire.table import META, Versions


@dataclass(frozen=True, slots=True)
class Api:
    """One API of Kafka's protocol."""

    key: int
    name: str
    """Kafka's name, such as ``DescribeLogDirs``."""
    module: str
    """The module of ``protocol.messages`` that has its messages."""
    _types: dict[str, type[Any]] = field(default_factory=dict[str, type[Any]], repr=False)

    @property
    def request(self) -> type[Any]:
        """The class of its requests."""
        return self._load("Request")

    @property
    def response(self) -> type[Any]:
        """The class of its responses."""
        return self._load("Response")

    @property
    def versions(self) -> Versions:
        """All versions of Apache Kafka 3.9 and 4.3 together; a handler may serve fewer."""
        return META[self.request].versions

    def _load(self, kind: str) -> type[Any]:
        found = self._types.get(kind)
        if found is None:
            module = import_module(f"{__package__}.messages.{self.module}")
            found = self._types[kind] = getattr(module, self.name + kind)
        return found


_ROWS: Final = (
    (0, "Produce", "produce"),
    (1, "Fetch", "fetch"),
    (2, "ListOffsets", "offsets"),
    (3, "Metadata", "metadata"),
    (4, "LeaderAndIsr", "control"),
    (5, "StopReplica", "control"),
    (6, "UpdateMetadata", "control"),
    (7, "ControlledShutdown", "lifecycle"),
    (8, "OffsetCommit", "group_offsets"),
    (9, "OffsetFetch", "group_offsets"),
    (10, "FindCoordinator", "coordinators"),
    (11, "JoinGroup", "groups"),
    (12, "Heartbeat", "groups"),
    (13, "LeaveGroup", "groups"),
    (14, "SyncGroup", "groups"),
    (15, "DescribeGroups", "groups"),
    (16, "ListGroups", "groups"),
    (17, "SaslHandshake", "sasl"),
    (18, "ApiVersions", "api_versions"),
    (19, "CreateTopics", "topics"),
    (20, "DeleteTopics", "topics"),
    (21, "DeleteRecords", "topics"),
    (22, "InitProducerId", "producer_ids"),
    (23, "OffsetForLeaderEpoch", "offsets"),
    (24, "AddPartitionsToTxn", "transactions"),
    (25, "AddOffsetsToTxn", "transactions"),
    (26, "EndTxn", "transactions"),
    (27, "WriteTxnMarkers", "transactions"),
    (28, "TxnOffsetCommit", "transactions"),
    (29, "DescribeAcls", "acls"),
    (30, "CreateAcls", "acls"),
    (31, "DeleteAcls", "acls"),
    (32, "DescribeConfigs", "configs"),
    (33, "AlterConfigs", "configs"),
    (34, "AlterReplicaLogDirs", "log_dirs"),
    (35, "DescribeLogDirs", "log_dirs"),
    (36, "SaslAuthenticate", "sasl"),
    (37, "CreatePartitions", "topics"),
    (38, "CreateDelegationToken", "delegation_tokens"),
    (39, "RenewDelegationToken", "delegation_tokens"),
    (40, "ExpireDelegationToken", "delegation_tokens"),
    (41, "DescribeDelegationToken", "delegation_tokens"),
    (42, "DeleteGroups", "groups"),
    (43, "ElectLeaders", "elections"),
    (44, "IncrementalAlterConfigs", "configs"),
    (45, "AlterPartitionReassignments", "reassignments"),
    (46, "ListPartitionReassignments", "reassignments"),
    (47, "OffsetDelete", "group_offsets"),
    (48, "DescribeClientQuotas", "quotas"),
    (49, "AlterClientQuotas", "quotas"),
    (50, "DescribeUserScramCredentials", "scram"),
    (51, "AlterUserScramCredentials", "scram"),
    (55, "DescribeQuorum", "cluster"),
    (56, "AlterPartition", "control"),
    (57, "UpdateFeatures", "cluster"),
    (58, "Envelope", "cluster"),
    (60, "DescribeCluster", "cluster"),
    (61, "DescribeProducers", "producer_ids"),
    (62, "BrokerRegistration", "lifecycle"),
    (63, "BrokerHeartbeat", "lifecycle"),
    (65, "DescribeTransactions", "transactions"),
    (66, "ListTransactions", "transactions"),
    (67, "AllocateProducerIds", "producer_ids"),
    (68, "ConsumerGroupHeartbeat", "consumer_groups"),
    (69, "ConsumerGroupDescribe", "consumer_groups"),
    (73, "AssignReplicasToDirs", "log_dirs"),
    (74, "ListConfigResources", "configs"),
    (75, "DescribeTopicPartitions", "topic_partitions"),
)

NOT_SERVED: Final[dict[int, str]] = {
    52: "Vote",
    53: "BeginQuorumEpoch",
    54: "EndQuorumEpoch",
    59: "FetchSnapshot",
    64: "UnregisterBroker",
    70: "ControllerRegistration",
    71: "GetTelemetrySubscriptions",
    72: "PushTelemetry",
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
    82: "UpdateRaftVoter",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
    88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
}
"""APIs of Kafka 3.9 and 4.3 that jbodlab has no messages for."""

APIS: Final[dict[int, Api]] = {key: Api(key, name, module) for key, name, module in _ROWS}
BY_NAME: Final[dict[str, Api]] = {api.name: api for api in APIS.values()}

_API_VERSIONS: Final = 18
_CONTROLLED_SHUTDOWN: Final = 7


def api_of(name_or_key: str | int) -> Api:
    """Return the API with this name, such as "Fetch", or key.

    Raises:
        KeyError: jbodlab has no messages for it; names it.
    """
    found = APIS.get(name_or_key) if isinstance(name_or_key, int) else BY_NAME.get(name_or_key)
    if found is not None:
        return found
    name = NOT_SERVED.get(name_or_key) if isinstance(name_or_key, int) else name_or_key
    if name is None:
        raise KeyError(f"Kafka has no API with key {name_or_key}")
    raise KeyError(f"jbodlab has no messages for {name}; it has {', '.join(BY_NAME)}")


def request_header_version(key: int, version: int) -> int:
    """Return the version of the header before a request: 2 when flexible, else 1.

    ControlledShutdown v0 alone has header v0, without a client id.
    """
    if key == _CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if version in META[APIS[key].request].flexible else 1


def response_header_version(key: int, version: int) -> int:
    """Return the version of the header before a response: 1 when flexible, else 0.

    ApiVersions always has header v0: the client does not know yet what the server speaks.
    """
    if key == _API_VERSIONS:
        return 0
    return 1 if version in META[APIS[key].response].flexible else 0
