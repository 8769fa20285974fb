"""Starts a cluster, writes to it, breaks the leader's disk halfway, and counts what was lost."""

import sys
from typing import Any

from kafka import KafkaConsumer, KafkaProducer

import jbodlab

TOPIC = "orders"
COUNT = 2000


def write(servers: list[str], log_dir: jbodlab.LogDir) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)
    sent: list[Any] = []
    for number in range(COUNT):
        if number == COUNT // 2:
            log_dir.fail("eio")
        sent.append(producer.send(TOPIC, b"%d" % number))
    for each in sent:
        each.get(timeout=60)  # raises what was not acknowledged
    producer.close()


def read(servers: list[str]) -> list[bytes]:
    reader = KafkaConsumer(
        TOPIC,
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        consumer_timeout_ms=10_000,
    )
    values = [record.value for record in reader]
    reader.close()
    return values


with jbodlab.Cluster(brokers=3, log_dirs=3) as cluster:
    cluster.create_topic(TOPIC, partitions=6, configs={"min.insync.replicas": "2"})
    servers = cluster.bootstrap_servers.split(",")
    broken = cluster.log_dir_of(TOPIC, 0)  # under the leader of partition 0
    write(servers, broken)
    broken.wait_until_offline()
    values = read(servers)

lost, twice = COUNT - len(set(values)), len(values) - len(set(values))
print(f"{COUNT} acknowledged, {lost} lost, {twice} twice")
sys.exit(1 if lost or twice else 0)
