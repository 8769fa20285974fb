"""kafka-configs: describe and alter topics, brokers, all brokers, loggers; every refusal."""

from __future__ import annotations

import pytest

from jbodlab.asking.rpc import BlockingClient
from protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from tests.integration.labs import Lab
from tests.kafka_tools.tools import KafkaTools, Printed

NOTHING_TO_DO = (
    "At least one of --add-config, --add-config-file, or --delete-config must be specified with "
    "--alter\n"
)


@pytest.fixture
def created(lab: Lab, topic: str) -> str:
    """A topic that is there."""
    lab.create(topic)
    return topic


def described(tools: KafkaTools, entity: str) -> list[str]:
    """Return the lines behind the heading."""
    printed = tools.run(f"kafka-configs --describe {entity}")
    assert (printed.code, printed.err) == (0, "")
    return printed.lines[1:]


def cordoned(lab: Lab, broker_id: int) -> list[str]:
    """Return the log dirs that the broker says are cordoned, in its order."""
    broker = lab.cluster.spec.broker(broker_id)
    client = BlockingClient(broker.advertised_host, broker.advertised_port)
    try:
        response: DescribeLogDirsResponse
        response = client.request(DescribeLogDirsRequest(topics=[]), 5)
    finally:
        client.close()
    return [result.log_dir for result in response.results if result.is_cordoned]


def used_by(lab: Lab, broker_id: int, topic: str) -> list[str]:
    """Return the log dirs of a broker that hold partitions of a topic."""
    views = lab.admin.log_dirs(broker_id)
    return [view.path for view in views if any(r.topic == topic for r in view.replicas)]


def changed(tools: KafkaTools, entity: str, change: str, done: str) -> None:
    """Change something that is accepted."""
    printed = tools.run(f"kafka-configs --alter {entity} {change}")
    assert printed == Printed(0, f"Completed updating {done}.\n")


def test_a_topics_settings_come_and_go(tools: KafkaTools, created: str):
    entity, done = f"--topic {created}", f"config for topic {created}"
    minimum = (
        "  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:"
        "min.insync.replicas=2, DEFAULT_CONFIG:min.insync.replicas=1}"
    )
    assert described(tools, entity) == [minimum]
    changed(tools, entity, "--add-config cleanup.policy=[compact,delete],retention.ms=5", done)
    assert described(tools, entity) == [
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:"
        "cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete}",
        minimum,
        "  retention.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5}",
    ]
    changed(tools, entity, "--delete-config cleanup.policy,retention.ms", done)
    assert described(tools, entity) == [minimum]


def test_all_settings_of_a_topic_are_shown(tools: KafkaTools, created: str):
    lines = described(tools, f"--topic {created} --all")
    assert len(lines) >= 36
    assert lines == sorted(lines)
    assert (
        "  segment.bytes=1073741824 sensitive=false "
        "synonyms={DEFAULT_CONFIG:log.segment.bytes=1073741824}"
    ) in lines


def test_a_brokers_settings_go_before_everyones(tools: KafkaTools):
    key = "log.flush.interval.messages"
    own, everyone = "--broker 1", "--broker-defaults"
    everyones = "default config for brokers in the cluster"
    default = f"DEFAULT_CONFIG:{key}=9223372036854775807"

    changed(tools, everyone, f"--add-config {key}=7000", everyones)
    changed(tools, own, f"--add-config {key}=6000", "config for broker 1")
    assert described(tools, everyone) == [
        f"  {key}=7000 sensitive=false synonyms={{DYNAMIC_DEFAULT_BROKER_CONFIG:{key}=7000}}"
    ]
    assert described(tools, own) == [
        f"  {key}=6000 sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:{key}=6000, "
        f"DYNAMIC_DEFAULT_BROKER_CONFIG:{key}=7000, {default}}}"
    ]

    changed(tools, own, f"--delete-config {key}", "config for broker 1")
    changed(tools, everyone, f"--delete-config {key}", everyones)
    assert described(tools, own) == described(tools, everyone) == []


def test_all_brokers_are_described_with_their_defaults(tools: KafkaTools):
    assert tools.run("kafka-configs --describe --entity-type brokers") == Printed(
        0,
        "Dynamic configs for broker 1 are:\n"
        "Dynamic configs for broker 2 are:\n"
        "Dynamic configs for broker 3 are:\n"
        "Default configs for brokers in the cluster are:\n",
    )


def test_all_settings_of_a_broker_are_shown(tools: KafkaTools, lab: Lab):
    lines = described(tools, "--broker 2 --all")
    paths = ",".join(one.path for one in lab.cluster.spec.broker(2).log_dirs)
    assert (
        f"  log.dirs={paths} sensitive=false synonyms={{STATIC_BROKER_CONFIG:log.dirs={paths}}}"
        in lines
    )
    assert (
        "  num.recovery.threads.per.data.dir=1 sensitive=false "
        "synonyms={DEFAULT_CONFIG:num.recovery.threads.per.data.dir=1}"
    ) in lines


@pytest.mark.parametrize(
    "key",
    [
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ],
)
def test_throttles_are_shown_only_while_they_are_set(tools: KafkaTools, key: str):
    assert not any(line.startswith(f"  {key}=") for line in described(tools, "--broker 3 --all"))
    changed(tools, "--broker 3", f"--add-config {key}=1000", "config for broker 3")
    assert described(tools, "--broker 3")[0].startswith(f"  {key}=1000 sensitive=false")
    changed(tools, "--broker 3", f"--delete-config {key}", "config for broker 3")
    assert described(tools, "--broker 3") == []


@pytest.mark.scenario(242)
def test_a_cordoned_log_dir_takes_nothing_new(tools: KafkaTools, lab: Lab, topic: str):
    first, *others = [one.path for one in lab.cluster.spec.broker(2).log_dirs]
    key, done = "cordoned.log.dirs", "config for broker 2"

    changed(tools, "--broker 2", f"--add-config {key}=[{','.join(others)}]", done)
    assert cordoned(lab, 2) == others
    tools.run(f"kafka-topics --create --topic {topic}-1 --replica-assignment 2,2,2")
    assert used_by(lab, 2, f"{topic}-1") == [first]

    changed(tools, "--broker 2", f"--add-config {key}=*", done)
    assert cordoned(lab, 2) == [first, *others]
    changed(tools, "--broker 2", f"--delete-config {key}", done)
    assert cordoned(lab, 2) == []
    tools.run(f"kafka-topics --create --topic {topic}-2 --replica-assignment {'2,' * 29}2")
    assert used_by(lab, 2, f"{topic}-2") == [first, *others]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[/a,]", "Configuration 'cordoned.log.dirs' values must not be empty."),
        (
            "[*,/a]",
            "requirement failed: When cordoned.log.dirs is set to *, "
            "it must not contain other values",
        ),
        (
            "/a",
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or "
            "log.dir. Missing entries : /a",
        ),
    ],
    ids=["empty", "star", "unknown"],
)
def test_cordons_that_cannot_be_are_refused(tools: KafkaTools, value: str, message: str):
    change = f"--add-config cordoned.log.dirs={value}"
    printed = tools.run(f"kafka-configs --alter --broker 1 {change}")
    assert printed.code == 1
    assert f"InvalidRequestException: {message}\n" in printed.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--add-config nope=1", "InvalidConfigurationException: Unknown topic config name: nope"),
        (
            "--add-config segment.bytes=x",
            "Invalid value x for configuration segment.bytes: Not a number of type INT",
        ),
        (
            "--add-config min.compaction.lag.ms=10,max.compaction.lag.ms=5",
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
    ],
    ids=["unknown", "no number", "conflict"],
)
def test_a_topics_bad_settings_are_refused(
    tools: KafkaTools, created: str, change: str, message: str
):
    printed = tools.run(f"kafka-configs --alter --topic {created} {change}")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith("Error while executing config command with args")
    assert message in printed.err


def test_a_topic_that_is_not_there_is_missed(tools: KafkaTools, topic: str):
    printed = tools.run(f"kafka-configs --alter --topic {topic} --add-config retention.ms=5")
    assert printed.code == 1
    assert "UnknownTopicOrPartitionException" in printed.err


@pytest.mark.parametrize(
    ("entity", "change", "message"),
    [
        (
            "--broker 1",
            "--add-config log.dirs=/x",
            "InvalidRequestException: Cannot update these configs dynamically: Set(log.dirs)",
        ),
        (
            "--broker-defaults",
            "--add-config cordoned.log.dirs=*",
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "Set(cordoned.log.dirs)",
        ),
        (
            "--broker 1",
            "--add-config num.replica.fetchers=9",
            "Dynamic thread count update validation failed for num.replica.fetchers=9, "
            "value should not be greater than double the current value 1",
        ),
        (
            "--broker 1",
            "--add-config log.segment.byte=1",
            "Unknown broker config name: log.segment.byte (did you mean log.segment.bytes?)",
        ),
    ],
    ids=["read-only", "per broker", "threads", "unknown"],
)
def test_a_brokers_bad_settings_are_refused(
    tools: KafkaTools, entity: str, change: str, message: str
):
    printed = tools.run(f"kafka-configs --alter {entity} {change}")
    assert (printed.code, printed.out) == (1, "")
    assert message in printed.err
    assert described(tools, entity) == []


def test_a_broker_has_a_number(tools: KafkaTools):
    assert tools.run("kafka-configs --alter --broker x --add-config a=b") == Printed(
        1, "", "The entity name for brokers must be a valid integer broker id, but it is: x\n"
    )


def test_an_alteration_alters_something(tools: KafkaTools):
    assert tools.run("kafka-configs --alter --broker 1") == Printed(1, "", NOTHING_TO_DO)


def test_loggers_are_shown_and_set(tools: KafkaTools):
    logger, done = "broker.app", "config for broker-logger 2"
    entity = "--broker-logger 2"

    changed(tools, entity, f"--add-config {logger}=ERROR", done)
    assert f"  {logger}=ERROR sensitive=false synonyms={{}}" in described(tools, entity)
    changed(tools, entity, f"--delete-config {logger}", done)
    assert f"  {logger}=INFO sensitive=false synonyms={{}}" in described(tools, entity)

    refused = tools.run(f"kafka-configs --alter {entity} --add-config nope=INFO")
    assert refused == Printed(1, "", "Invalid broker logger(s): nope\n")


@pytest.fixture
def group_tools(tools: KafkaTools) -> KafkaTools:
    """The tools of a release that knows settings of groups."""
    if tools.release == "3.9.2":
        pytest.skip("kafka-configs of 3.9.2 has no groups")
    return tools


def test_a_groups_settings_come_and_go(group_tools: KafkaTools, topic: str):
    """As Apache Kafka 4.3.1 was recorded; the group itself is not there."""
    entity, done = f"--entity-type groups --entity-name {topic}", f"config for group {topic}"
    session = "consumer.session.timeout.ms"
    line = (
        f"  {session}=50000 sensitive=false synonyms={{DYNAMIC_GROUP_CONFIG:{session}=50000,"
        f" DEFAULT_CONFIG:group.{session}=45000}}"
    )
    changed(group_tools, entity, f"--add-config {session}=50000", done)
    assert described(group_tools, entity) == [line]
    changed(group_tools, entity, f"--delete-config {session}", done)
    assert described(group_tools, entity) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("no.such=1", "Unknown group config name: no.such"),
        (
            "consumer.session.timeout.ms=1",
            "consumer.session.timeout.ms must be greater than or equal to"
            " group.consumer.min.session.timeout.ms",
        ),
        (
            "consumer.heartbeat.interval.ms=x",
            "Invalid value x for configuration consumer.heartbeat.interval.ms:"
            " Not a number of type INT",
        ),
    ],
)
def test_a_groups_settings_are_refused_as_apache_kafka_does(
    group_tools: KafkaTools, topic: str, change: str, message: str
):
    printed = group_tools.run(
        f"kafka-configs --alter --entity-type groups --entity-name {topic} --add-config {change}"
    )
    assert (printed.code, printed.out) == (1, "")
    assert f"InvalidConfigurationException: {message}\n" in printed.err


def test_all_groups_that_have_settings_are_described(group_tools: KafkaTools, topic: str):
    entity, done = f"--entity-type groups --entity-name {topic}", f"config for group {topic}"
    changed(group_tools, entity, "--add-config consumer.heartbeat.interval.ms=6000", done)
    printed = group_tools.run("kafka-configs --describe --entity-type groups")
    assert (printed.code, printed.err) == (0, "")
    assert f"Dynamic configs for group {topic} are:" in printed.lines
    changed(group_tools, entity, "--delete-config consumer.heartbeat.interval.ms", done)
