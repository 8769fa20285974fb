"""What concerns replicas and disks: log dirs, elections, reassignments; quotas, and the cluster."""

from __future__ import annotations

from conformance.core.cases.building import batch, produce
from conformance.core.catalogue import case
from conformance.core.script import CONTROLLER, Given, NewTopic, Request, Script, Talk, ask

_TOPIC = 2
_BROKER = 4
_METRICS = 16


@case("log-dirs/describe", "DescribeLogDirs", versions="all")
def describe_log_dirs(given: Given) -> Script:
    """Where a topic's replicas are, how large they are; partitions that are not there."""
    topic = yield NewTopic()
    yield Talk([Request("Produce", 8, produce(topic, batch(3)))])
    for name, partitions in ((topic.name, [0, 7]), (topic.name, [7]), (given.name("none"), [0])):
        form = {"topics": [{"topic": name, "partitions": partitions}]}
        yield from ask("DescribeLogDirs", given.version, form)


@case("log-dirs/describe-all", "DescribeLogDirs", versions="all")
def describe_all(given: Given) -> Script:
    """Without a list of topics all are described."""
    topic = yield NewTopic()
    yield Talk([Request("Produce", 8, produce(topic, batch(3)))])
    yield from ask("DescribeLogDirs", given.version, {"topics": None})


@case("log-dirs/alter-refused", "AlterReplicaLogDirs", versions="all")
def alter_refused(given: Given) -> Script:
    """A log dir that is not there, a path that is none, and a replica that is not here."""
    topic = yield NewTopic()
    for path in ("/no/such/log/dir", "not absolute", ""):
        yield from _alter(given.version, path, topic.name, [0])
    yield from _alter(given.version, "/no/such/log/dir", topic.name, [9])
    yield from _alter(given.version, "/no/such/log/dir", given.name("none"), [0])


@case("log-dirs/alter-to-itself", "AlterReplicaLogDirs", versions="all")
def alter_to_itself(given: Given) -> Script:
    """A replica is sent to the log dir it is in; one that is not here is promised a log dir."""
    topic = yield NewTopic()
    described = yield from ask(
        "DescribeLogDirs", 1, {"topics": [{"topic": topic.name, "partitions": [0]}]}, is_seen=False
    )
    paths = [each["logDir"] for each in described["results"] if each["topics"]]
    yield from _alter(given.version, paths[0], topic.name, [0])
    yield from _alter(given.version, paths[0], topic.name, [5])
    yield from _alter(given.version, paths[0], given.name("none"), [0])


def _alter(version: int, path: str, topic: str, partitions: list[int]) -> Script:
    dirs = [{"path": path, "topics": [{"name": topic, "partitions": partitions}]}]
    return ask("AlterReplicaLogDirs", version, {"dirs": dirs})


@case("typical/ElectLeaders", "ElectLeaders", versions="all", brokers=3)
def elect(given: Given) -> Script:
    """Nothing to elect, and partitions and topics that are not there."""
    topic = yield NewTopic(replicas=(1, 2))
    for type_ in (0, 1) if given.version else (0,):
        for name, partition in ((topic.name, 0), (topic.name, 8), (given.name("none"), 0)):
            rows = [{"topic": name, "partitions": [partition]}]
            form = {"electionType": type_, "topicPartitions": rows, "timeoutMs": 10_000}
            yield from ask("ElectLeaders", given.version, form, to=CONTROLLER)


@case("reassignments/refused", "AlterPartitionReassignments", versions="all")
def reassign_refused(given: Given) -> Script:
    """Replicas that cannot be, partitions that are not there, nothing to cancel."""
    topic = yield NewTopic()
    first = given.brokers[0]
    for replicas in ([9999], [first, first], [], [-1], None):
        yield from _reassign(given.version, topic.name, 0, replicas)
    yield from _reassign(given.version, topic.name, 4, [first])
    yield from _reassign(given.version, given.name("none"), 0, [first])
    yield from _reassign(given.version, topic.name, 0, [first])


@case("reassignments/list", "ListPartitionReassignments", versions="all")
def list_reassignments(given: Given) -> Script:
    """Nothing is under way for partitions that are there, nor for others."""
    topic = yield NewTopic()
    for name, partition in ((topic.name, 0), (topic.name, 9), (given.name("none"), 0)):
        rows = [{"name": name, "partitionIndexes": [partition]}]
        form = {"topics": rows, "timeoutMs": 10_000}
        yield from ask("ListPartitionReassignments", given.version, form, to=CONTROLLER)


def _reassign(version: int, topic: str, partition: int, replicas: list[int] | None) -> Script:
    rows = [{"partitionIndex": partition, "replicas": replicas}]
    form = {"topics": [{"name": topic, "partitions": rows}], "timeoutMs": 10_000}
    return ask("AlterPartitionReassignments", version, form, to=CONTROLLER)


@case("cluster/api-versions", "ApiVersions", versions="all")
def api_versions(given: Given) -> Script:
    """Twice on one connection, and with a name of a client that cannot be."""
    form = {"clientSoftwareName": "conform", "clientSoftwareVersion": "1"}
    for _ in range(2):
        yield Talk([Request("ApiVersions", given.version, form)])
    if given.version >= 3:
        for name in ("", "-x", "a b"):
            bad = form | {"clientSoftwareName": name}
            yield Talk([Request("ApiVersions", given.version, bad)])


@case("cluster/endpoint-type", "DescribeCluster", versions="all", since=1)
def endpoint_type(given: Given) -> Script:
    """Brokers are described to who asks a broker; controllers and unknown types are refused."""
    for type_ in (1, 2, 0, 99):
        yield from ask("DescribeCluster", given.version, {"endpointType": type_})


@case("typical/DescribeQuorum", "DescribeQuorum", versions="all")
def describe_quorum(given: Given) -> Script:
    """Who keeps the metadata; of partitions that have no quorum nothing is told."""
    for name, partition in (
        ("__cluster_metadata", 0),
        ("__cluster_metadata", 1),
        (given.name("none"), 0),
    ):
        rows = [{"topicName": name, "partitions": [{"partitionIndex": partition}]}]
        yield from ask("DescribeQuorum", given.version, {"topics": rows})


@case("typical/ListConfigResources", "ListConfigResources", versions="all")
def list_config_resources(given: Given) -> Script:
    """What can be configured: topics, brokers, metrics, and kinds that there are not."""
    yield NewTopic()
    kinds: tuple[list[int], ...] = ([_TOPIC], [_BROKER], [_METRICS], [_TOPIC, _BROKER], [99], [])
    for types in kinds if given.version else ([],):
        yield from ask("ListConfigResources", given.version, {"resourceTypes": types})


@case("cluster/quotas", "DescribeClientQuotas", versions="all")
def quotas(given: Given) -> Script:
    """Filters that find nothing, and that cannot be."""
    name = given.name("user")
    for type_, match, word in (("user", 0, name), ("sheep", 0, name), ("user", 9, name)):
        row = {"entityType": type_, "matchType": match, "match": word}
        form = {"components": [row], "strict": True}
        yield from ask("DescribeClientQuotas", given.version, form)


@case("cluster/alter-quotas", "AlterClientQuotas", versions="all")
def alter_quotas(given: Given) -> Script:
    """Quotas of a user, only validated: a good one, an unknown key, an unknown entity."""
    name = given.name("user")
    for type_, key in (
        ("user", "producer_byte_rate"),
        ("user", "x"),
        ("sheep", "consumer_byte_rate"),
    ):
        entity = [{"entityType": type_, "entityName": name}]
        entry = {"entity": entity, "ops": [{"key": key, "value": 1000.0, "remove": False}]}
        form = {"entries": [entry], "validateOnly": True}
        yield from ask("AlterClientQuotas", given.version, form, to=CONTROLLER)
