"""kafka-log-dirs: sizes, lags and errors of every log dir, for people and programs."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.labs import Lab
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


def test_brokers_and_topics_are_chosen(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic)
    printed = tools.run(f"kafka-log-dirs --describe --broker-list 3,1 --topic-list {topic},nothing")
    found = described(printed, *sorted((1, 3)))
    for log_dirs in found.values():
        names = [replica["partition"] for one in log_dirs for replica in one["partitions"]]
        assert names == [f"{topic}-0"]


def test_a_broker_that_is_not_there_is_missed(tools: KafkaTools):
    assert tools.run("kafka-log-dirs --describe --broker-list 1,9") == Printed(
        1,
        "",
        "ERROR: The given brokers do not exist from --broker-list: 9. "
        "Current existent brokers: 1,2,3\n",
    )
