"""kafka-log-dirs: sizes, lags and errors of every log dir, for people and programs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.labs import Lab, produce_with_confluent
from tests.kafka_tools.faults import offline
from tests.kafka_tools.tools import KafkaTools, Printed


def described(printed: Printed, *brokers: int) -> dict[int, list[dict[str, Any]]]:
    """Return the log dirs by broker."""
    assert (printed.code, printed.err) == (0, "")
    first, second, text = printed.lines
    assert first == "Querying brokers for log directories information"
    listed = ",".join(map(str, brokers))
    assert second == f"Received log directory information from brokers {listed}"
    document = json.loads(text)
    assert document["version"] == 1
    return {one["broker"]: one["logDirs"] for one in document["brokers"]}


@pytest.mark.scenario(121)
def test_every_log_dir_of_every_broker_is_described(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic, partitions=2)
    found = described(tools.run("kafka-log-dirs --describe"), 1, 2, 3)
    for broker in lab.cluster.spec.brokers:
        log_dirs = found[broker.id]
        paths = sorted(one["logDir"] for one in log_dirs)
        assert paths == sorted(one.path for one in broker.log_dirs)
        assert all(one["error"] is None for one in log_dirs)
        replicas = [
            r
            for one in log_dirs
            for r in one["partitions"]
            if r["partition"].startswith(f"{topic}-")
        ]
        assert sorted(replica["partition"] for replica in replicas) == [f"{topic}-0", f"{topic}-1"]
        for replica in replicas:
            assert (replica["size"], replica["offsetLag"], replica["isFuture"]) == (0, 0, False)


@pytest.mark.scenario(121)
def test_brokers_and_topics_are_chosen(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic)
    printed = tools.run(
        f"kafka-log-dirs --describe --broker-list 3,1,3 --topic-list {topic},nothing"
    )
    found = described(printed, *sorted((1, 3)))
    for log_dirs in found.values():
        names = [replica["partition"] for one in log_dirs for replica in one["partitions"]]
        assert names == [f"{topic}-0"]


@pytest.mark.kafka_bug("KAFKA-12454")
@pytest.mark.scenario(121)
def test_a_broker_that_is_not_there_is_missed(tools: KafkaTools):
    assert tools.run("kafka-log-dirs --describe --broker-list 1,9") == Printed(
        1,
        "",
        "ERROR: The given brokers do not exist from --broker-list: 9. "
        "Current existent brokers: 1,2,3\n",
    )


def test_empty_items_of_a_list_are_ignored(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic)
    printed = tools.run(f"kafka-log-dirs --describe --broker-list ,2,,2, --topic-list ,{topic},")
    (log_dirs,) = described(printed, 2).values()
    assert sum(len(one["partitions"]) for one in log_dirs) == 1


@pytest.mark.scenario(121)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--describe --broker-list x", 'For input string: "x"'),
        ("", 'Missing required argument "[describe]"'),
        ("--describe --nope", "nope is not a recognized option"),
    ],
)
def test_arguments_without_sense_are_refused(tools: KafkaTools, options: str, message: str):
    printed = tools.run(f"kafka-log-dirs {options}")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith(f"{message}\n")


def test_an_offline_log_dir_has_an_error_and_no_partitions(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic)
    with offline(lab, 2, topic) as path:
        found = described(tools.run("kafka-log-dirs --describe --broker-list 2"), 2)[2]
    by_path = {one["logDir"]: one for one in found}
    failed = by_path.pop(path)
    assert failed["error"] == "org.apache.kafka.common.errors.KafkaStorageException"
    assert failed["partitions"] == []
    assert [one["error"] for one in by_path.values()] == [None, None]


def test_a_move_under_way_is_in_both_log_dirs(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic)
    produce_with_confluent(lab, topic, [bytes(1000)] * 50, **{"batch.num.messages": 10})
    rate = "replica.alter.log.dirs.io.max.bytes.per.second"
    tools.run(f"kafka-configs --alter --broker 1 --add-config {rate}=1")
    source = lab.log_dir_of(1, topic).path
    target = lab.other_dir(1, source)
    lab.admin.move_replicas(1, target, {topic: [0]})

    command = f"kafka-log-dirs --describe --broker-list 1 --topic-list {topic}"
    found = {
        one["logDir"]: (replica["isFuture"], replica["offsetLag"])
        for one in described(tools.run(command), 1)[1]
        for replica in one["partitions"]
    }

    assert found[source] == (False, 0)
    is_future, lag = found[target]
    assert is_future
    assert 0 < lag <= 50
    tools.run(f"kafka-configs --alter --broker 1 --delete-config {rate}")
    lab.wait_for_move(1, topic, target)
