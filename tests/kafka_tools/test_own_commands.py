"""Our commands print what Kafka's tools print, line by line: on a jbodlab and on a real Kafka."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from benchmarks.peer.kafka import KafkaPeer, PeerMissingError
from tests.deadlines import DEADLINE_S
from tests.integration.hanging_transactions import STRANGER, plant_hanging_transaction
from tests.integration.labs import PATIENT_MS, Lab
from tests.kafka_tools.both import Both, plain
from tests.kafka_tools.conftest import BUILD
from tests.kafka_tools.tools import JVM_FLAGS, KafkaTools

RELEASE = "3.9.2"
# None of its brokers is killed: one that answers late is not dead.
PATIENT = {"auto.leader.rebalance.enable": "false", "broker.session.timeout.ms": str(PATIENT_MS)}
# The other side's may still be under way.
EXECUTE = "kafka-reassign-partitions --execute --additional --reassignment-json-file FILE"
VERIFY = "kafka-reassign-partitions --verify --reassignment-json-file FILE"
CANCEL = "kafka-reassign-partitions --cancel --reassignment-json-file FILE"
GENERATE = "kafka-reassign-partitions --generate --topics-to-move-json-file FILE --broker-list"


of_kafka = pytest.mark.sampled_among("our commands asking three brokers of Kafka", kept=0)
"""They take as long to start as half of these tests."""
beside_kafka = pytest.mark.sampled_among("our commands beside Kafka's", kept=5)
"""Half of those that it keeps ask the brokers of Kafka, and are left out by the other mark."""


@pytest.fixture(scope="module", params=["jbodlab", pytest.param("kafka", marks=of_kafka)])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Both]:
    """A jbodlab, then a real Apache Kafka, each with both sets of tools."""
    folder = tmp_path_factory.mktemp("own-commands")
    try:
        if request.param == "jbodlab":
            lab: Lab = request.getfixturevalue("lab")
            spec = lab.cluster.spec
            tools = KafkaTools(RELEASE, BUILD, folder, ",".join(lab.servers))
            yield Both(tools, lambda b: [each.path for each in spec.broker(b).log_dirs], folder)
            tools.close()
            return
        peer = KafkaPeer(folder / "peer", BUILD, PATIENT, JVM_FLAGS)
    except PeerMissingError as error:
        pytest.skip(str(error))
    try:
        peer.launch()
        peer.wait_until_up()
        tools = KafkaTools(RELEASE, BUILD, folder, peer.bootstrap)
        yield Both(tools, lambda b: [str(path) for path in peer.log_dirs(b)], folder)
        tools.close()
    finally:
        peer.stop()


def entry(partition: int, replicas: list[int], *log_dirs: str) -> dict[str, Any]:
    fields = {"topic": "TOPIC", "partition": partition, "replicas": replicas}
    return {**fields, "log_dirs": list(log_dirs)} if log_dirs else fields


def plan(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "partitions": list(entries)}


def named(topic: str, content: Any) -> Any:
    return json.loads(json.dumps(content).replace("TOPIC", topic))


@pytest.mark.parametrize(
    "command",
    [
        "kafka-log-dirs --describe --broker-list 1,9,8",
        "kafka-log-dirs --describe --broker-list 1,a",
        "kafka-log-dirs --broker-list 1",
        "kafka-log-dirs --describe --nope",
        "kafka-topics --describe --topic nothing-here --if-exists",
        "kafka-topics --list --describe",
        "kafka-topics --create",
        "kafka-topics --create --topic x --replica-assignment 1:2,2",
        "kafka-topics --create --topic x --replica-assignment 1:1",
        "kafka-topics --create --topic x --partitions 0",
        "kafka-topics --create --topic x --replication-factor 9",
        "kafka-topics --create --topic x --config nope=1",
        "kafka-topics --create --topic x --config retention.ms=x",
        "kafka-topics --describe --partitions 2",
        "kafka-topics --list --topic '*'",
        "kafka-topics --describe --topic-id zz",
        "kafka-topics --describe --topic-id zzzzz",
        "kafka-topics --describe --topic-id 'zz*z'",
        "kafka-topics --describe --topic-id AAAAAAAAAAAAAAAAAAAABAAAA",
        "kafka-configs --describe --broker x",
        "kafka-configs --describe --broker 1",
        "kafka-configs --describe --broker 2 --all",
        "kafka-configs --describe --entity-type brokers",
        "kafka-configs --alter --broker 1 --delete-config nope",
        "kafka-configs --alter --topic x --add-config a",
        "kafka-configs --alter --topic nothing-here --add-config retention.ms=5",
        "kafka-configs --alter --broker 1 --add-config log.dirs=/x",
        "kafka-reassign-partitions --list",
        "kafka-reassign-partitions --list --throttle 5",
        "kafka-reassign-partitions --execute --verify",
        "kafka-reassign-partitions --verify --reassignment-json-file /no/such",
        "kafka-leader-election --election-type preferred",
        "kafka-leader-election --election-type preferred --topic nothing-here --partition 0",
        "kafka-leader-election --election-type unclean --path-to-json-file /no/such",
        "kafka-transactions find-hanging",
        "kafka-transactions find-hanging --broker-id 1 --partition 0",
        "kafka-transactions abort --topic t --partition 0",
        "kafka-transactions abort --topic t --partition 0 --producer-id 5",
        "kafka-transactions abort --topic t --partition 0 --producer-id 5 --producer-epoch 0",
        "kafka-transactions list --duration-filter 999999999",
        "kafka-transactions find-hanging --broker-id 2",
        "kafka-consumer-groups --list --group g",
        "kafka-consumer-groups --list --members",
        "kafka-consumer-groups --list --state nope",
        "kafka-consumer-groups --list --type nope",
        "kafka-consumer-groups --group g",
        "kafka-consumer-groups --delete --group g --topic t",
        "kafka-consumer-groups --describe --group g --state --members",
        "kafka-consumer-groups --reset-offsets --group g --topic t --dry-run --execute",
        "kafka-consumer-groups --reset-offsets --group g --to-latest --dry-run",
    ],
)
def test_the_same_is_answered_and_refused(both: Both, command: str):
    both.same(command)


@beside_kafka
def test_topics_live_alike(both: Both):
    both.create("--topic TOPIC-life --replica-assignment 1:2:3,2:3:1 --config retention.ms=900000")
    described = both.alike("kafka-topics --describe --topic TOPIC-life")
    assert described.out.count("Partition: ") == 2
    both.alike("kafka-topics --create --topic TOPIC-life")
    both.alike("kafka-topics --create --topic TOPIC-life --if-not-exists")
    both.alike("kafka-topics --alter --topic TOPIC-life --partitions 1")
    both.alike(
        "kafka-topics --alter --topic TOPIC-life --partitions 3 "
        "--replica-assignment 1:2:3,2:3:1,3:1:2"
    )
    for side in ("java", "ours"):
        both.until(f"kafka-topics --describe --topic TOPIC-{side}-life", "PartitionCount: 3")
    both.alike("kafka-topics --list --topic TOPIC-life")
    both.alike("kafka-topics --delete --topic TOPIC-life")


@beside_kafka
def test_settings_live_alike(both: Both):
    both.create("--topic TOPIC-settings --replica-assignment 1:2")
    topic = "--topic TOPIC-settings"
    for change in (
        "--add-config cleanup.policy=[compact,delete],retention.ms=5000000",
        "--add-config segment.bytes=x",
        "--add-config retention.ms=6000000 --delete-config retention.ms",
        "--delete-config segment.bytes",
        "--add-config retention.bytes=7 --delete-config cleanup.policy",
    ):
        both.alike(f"kafka-configs --alter {topic} {change}")
        both.alike(f"kafka-configs --describe {topic}")
    rate = "leader.replication.throttled.rate"
    for entity in ("--broker 1", "--broker-defaults"):
        for value in ("1000", "2000"):
            assert (
                both.ours(f"kafka-configs --alter {entity} --add-config {rate}={value}").code == 0
            )
            both.until(f"kafka-configs --describe {entity}", f"{rate}={value}")
            both.same_in_the_end(f"kafka-configs --describe {entity}")
        both.ours(f"kafka-configs --alter {entity} --delete-config {rate}")
        both.until_without(f"kafka-configs --describe {entity}", rate)
        both.same_in_the_end(f"kafka-configs --alter {entity} --delete-config {rate}")


@beside_kafka
def test_log_dirs_are_described_alike(both: Both):
    both.create("--topic TOPIC-dirs --replica-assignment 1:2")
    command = "kafka-log-dirs --describe --topic-list TOPIC-java-dirs"
    printed = [both.java.run(command), both.ours(command)]
    java, ours = (json.loads(each.lines[2]) for each in printed)
    assert printed[0].lines[:2] == printed[1].lines[:2]
    for broker in (*java["brokers"], *ours["brokers"]):
        broker["logDirs"].sort(key=itemgetter("logDir"))
    assert ours == java
    found = {one["logDir"] for broker in ours["brokers"] for one in broker["logDirs"]}
    assert found == {path for broker in (1, 2, 3) for path in both.log_dirs(broker)}


@beside_kafka
def test_replicas_move_alike(both: Both):
    both.create("--topic TOPIC-moves --replica-assignment 1:2,2:3")
    move = named("TOPIC-moves", plan(entry(0, [3, 1], "any", both.log_dirs(1)[1])))
    both.alike(f"{EXECUTE} --throttle 9000000 --replica-alter-log-dirs-throttle 9000000", move)
    for side in ("java", "ours"):
        file = both.write(json.loads(json.dumps(move).replace("TOPIC", f"TOPIC-{side}")))
        verify = VERIFY.replace("FILE", file) + " --preserve-throttles"
        both.until(verify, f"Reassignment of partition TOPIC-{side}-moves-0 is completed.")
        both.until(verify, f"replica TOPIC-{side}-moves-0-1 completed successfully.")
    both.alike("kafka-configs --describe --topic TOPIC-moves")
    both.same("kafka-configs --describe --broker 1")
    both.alike(VERIFY, move)
    both.alike(CANCEL, move)
    both.alike("kafka-configs --describe --topic TOPIC-moves")
    both.alike("kafka-topics --describe --topic TOPIC-moves")
    both.alike(VERIFY, named("TOPIC-moves", plan(entry(0, [1, 3], both.log_dirs(1)[2], "any"))))


@beside_kafka
def test_plans_are_refused_alike(both: Both):
    both.create("--topic TOPIC-bad --replica-assignment 1:2")
    for entries in (
        [],
        [entry(0, [])],
        [entry(0, [1]), entry(0, [2])],
        [entry(0, [1, 1])],
        [entry(0, [1, 2], "any")],
        [entry(0, [1, 9])],
        [entry(1, [1, 2])],
        [entry(7, [1, 2])],
        [entry(0, [1, 2], "/no/such", "any")],
    ):
        both.alike(EXECUTE, named("TOPIC-bad", plan(*entries)))
    topics = {"topics": [{"topic": "TOPIC-bad"}], "version": 1}
    for brokers in ("1,1", "1", "9", "1,a"):
        both.alike(f"{GENERATE} {brokers}", topics)
    both.alike(f"{GENERATE} 1,2", {**topics, "version": 2})


@beside_kafka
def test_leaders_are_elected_alike(both: Both):
    both.create("--topic TOPIC-led --replica-assignment 1:2")
    elect = "kafka-leader-election --election-type preferred --topic TOPIC-led --partition 0"
    both.alike(elect)
    # Another order of the same replicas leaves the leader where it is.
    both.alike(EXECUTE, named("TOPIC-led", plan(entry(0, [2, 1]))))
    for side in ("java", "ours"):
        both.until(f"kafka-topics --describe --topic TOPIC-{side}-led", "Replicas: 2,1")
    assert both.alike(elect).out.startswith("Successfully completed leader election (PREFERRED)")
    partitions = {"partitions": [{"topic": "TOPIC-led", "partition": 0}]}
    file = "kafka-leader-election --election-type UNCLEAN --path-to-json-file FILE"
    both.alike(file, partitions)
    both.alike(file, {"partitions": partitions["partitions"] * 2})


@beside_kafka
def test_groups_live_alike(both: Both):
    both.create("--topic TOPIC-group --partitions 1 --replication-factor 1")
    of_group = "--group TOPIC-group"
    for side in ("java", "ours"):
        topic = f"TOPIC-{side}-group"
        both.java.run(f"kafka-console-producer --topic {topic}", stdin="1\n2\n3\n")
    reset = f"kafka-consumer-groups --reset-offsets {of_group} --topic TOPIC-group"
    resets = {"--to-offset 2 --execute": "2", "--shift-by -1 --execute": "1", "--to-latest": "3"}
    for to, offset in resets.items():
        # 3.9 writes all rows in one line.
        assert both.words_alike(f"{reset} {to}")[-2:] == ["0", offset]
    described = both.alike(f"kafka-consumer-groups --describe {of_group}")
    assert "has no active members" in described.err
    both.alike(f"kafka-consumer-groups --describe {of_group} --members --verbose")
    both.same("kafka-consumer-groups --describe --group TOPIC-ours-group --state")
    both.alike(f"{reset} --to-latest --export --dry-run")
    both.words_alike(f"kafka-consumer-groups --delete-offsets {of_group} --topic TOPIC-group:0")
    both.words_alike(f"{reset} --to-earliest --execute")
    both.alike(f"kafka-consumer-groups --delete {of_group}")


@beside_kafka
def test_groups_with_members_are_described_alike(both: Both):
    both.create("--topic TOPIC-live --partitions 2 --replication-factor 1")
    topic, group = "TOPIC-ours-live", "live"
    both.java.run(f"kafka-console-producer --topic {topic}", stdin="1\n2\n3\n")
    consumer = Consumer(
        {
            "bootstrap.servers": both.java.bootstrap,
            "group.id": group,
            "client.id": "me",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([topic])
        end = time.monotonic() + DEADLINE_S
        while consumer.poll(0.1) is None:
            assert time.monotonic() < end, f"{group} reads nothing"
        consumer.commit(asynchronous=False)
        for view in ("--offsets", "--members", "--members --verbose", "--state"):
            both.same(f"kafka-consumer-groups --describe --group {group} {view}")
        for command in ("--delete", "--reset-offsets --all-topics --to-latest --execute"):
            refused = both.ours(f"kafka-consumer-groups {command} --group {group}")
            assert refused.code == 1
            # Kafka's goes to stdout, with the names of exceptions and of columns.
            java = plain(both.java.run(f"kafka-consumer-groups {command} --group {group}"))
            assert (
                plain(refused).err.splitlines()
                == java.out.splitlines()[: refused.err.count("\n") - 1]
            )
    finally:
        consumer.close()


@beside_kafka
def test_programs_read_documents(both: Both, tmp_path: Path):
    both.create("--topic TOPIC-json --replica-assignment 1:2")
    described = json.loads(both.ours("kafka-topics --describe --topic TOPIC-ours-json --json").out)
    (topic,) = described["topics"]
    assert topic["partitions"] == [{"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1, 2]}]
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan(entry(0, [1, 2]))).replace("TOPIC", "TOPIC-ours-json"))
    command = f"kafka-reassign-partitions --execute --reassignment-json-file {file} --json"
    started = json.loads(both.ours(command).out)
    assert started["started"] == ["TOPIC-ours-json-0"]
    # What was there is told with its log dirs, and may be used as the next plan.
    file.write_text(json.dumps(started["rollback"]))
    assert started["rollback"]["partitions"][0]["log_dirs"][0] in both.log_dirs(1)
    assert json.loads(both.ours(command).out)["moves"].keys() == {
        "TOPIC-ours-json-0-1",
        "TOPIC-ours-json-0-2",
    }


@beside_kafka
def test_transactions_that_hang_are_found_and_aborted_alike(both: Both):
    """One hangs in each topic; what is shown of it is the same, and so is what its log says."""
    both.create("--topic TOPIC-hangs --replica-assignment 1:2")
    for side in ("java", "ours"):
        plant_hanging_transaction(both.java.bootstrap, f"TOPIC-{side}-hangs")
    for side in ("java", "ours"):
        of_one = f"--topic TOPIC-{side}-hangs"
        both.same(f"kafka-transactions find-hanging {of_one} --partition 0")
        described = both.same(f"kafka-transactions describe-producers {of_one} --partition 0")
        assert described.lines[1].split()[0::5] == [str(STRANGER), "0"]
    abort = "kafka-transactions abort --topic TOPIC-hangs --partition 0 --start-offset"
    assert both.alike(f"{abort} 7").code == 1
    assert both.alike(f"{abort} 0").code == 0
    both.alike("kafka-transactions find-hanging --topic TOPIC-hangs")
    (_, row) = both.ours(
        "kafka-transactions describe-producers --topic TOPIC-ours-hangs --partition 0"
    ).lines
    assert row.split()[-1] == "None"


@beside_kafka
def test_a_transaction_is_shown_alike(both: Both):
    both.create("--topic TOPIC-paid --replica-assignment 1:2")
    client = Producer({"bootstrap.servers": both.java.bootstrap, "transactional.id": "pay-both"})
    client.init_transactions(DEADLINE_S)
    client.begin_transaction()
    client.produce("TOPIC-ours-paid", b"v", partition=0)
    client.flush(DEADLINE_S)
    both.same("kafka-transactions list")
    java, ours = (
        run("kafka-transactions describe --transactional-id pay-both").lines[1].split()
        for run in (both.java.run, both.ours)
    )
    del java[7], ours[7]  # For how long it is open: it goes on.
    assert ours == java
    both.same("kafka-transactions describe-producers --topic TOPIC-ours-paid --partition 0")
    assert both.same("kafka-transactions find-hanging --topic TOPIC-ours-paid").code == 0
    client.abort_transaction(DEADLINE_S)
