"""kafka-transactions, and what else of Kafka begins, reads and ends transactions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaException, Producer

from broker.core.coordination import partition_for
from protocol.configs.coordination import CoordinationConfig
from protocol.topic_names import TRANSACTION_STATE
from tests.deadlines import DEADLINE_S
from tests.integration.hanging_transactions import (
    LONG_AGO_MS,
    STRANGER,
    long_ago_ms,
    plant_hanging_transaction,
)
from tests.integration.labs import Lab
from tests.kafka_tools.both import JAVA, OURS, Both
from tests.kafka_tools.tools import KafkaTools, Printed

TOOL: Final = "kafka-transactions"
NO_ROWS: Final = 1
"""Lines: the names of the columns."""


@pytest.fixture
def ongoing(lab: Lab, tools: KafkaTools, topic: str) -> Producer:
    """A transaction of one record, by a transactional id that is named like the topic."""
    lab.create(topic)
    client = Producer({"bootstrap.servers": tools.bootstrap, "transactional.id": topic})
    client.init_transactions(DEADLINE_S)
    client.begin_transaction()
    client.produce(topic, b"v", timestamp=long_ago_ms())
    client.flush(DEADLINE_S)
    return client


def rows(printed: Printed) -> list[dict[str, str]]:
    """Return a printed table, each row by the names of its columns."""
    assert (printed.code, printed.err) == (0, "")
    names, *found = [line.split() for line in printed.lines]
    return [dict(zip(names, row, strict=True)) for row in found]


def state_of(tools: KafkaTools, transactional_id: str) -> str:
    (row,) = [
        row for row in rows(tools.run(f"{TOOL} list")) if row["TransactionalId"] == transactional_id
    ]
    return row["TransactionState"]


def wait_for_state(lab: Lab, tools: KafkaTools, transactional_id: str, state: str) -> None:
    lab.cluster.wait_until(
        lambda _admin: state_of(tools, transactional_id) == state,
        f"{transactional_id} is in {state}",
    )


def state_partition(transactional_id: str) -> int:
    partitions = CoordinationConfig().transaction_state_log_num_partitions
    return partition_for(transactional_id, partitions)


def test_an_open_transaction_is_listed_and_described(
    lab: Lab, tools: KafkaTools, topic: str, ongoing: Producer
):
    assert state_of(tools, topic) == "Ongoing"
    (found,) = rows(tools.run(f"{TOOL} describe --transactional-id {topic}"))
    assert (found["TransactionState"], found["TopicPartitions"]) == ("Ongoing", f"{topic}-0")
    assert (found["ProducerEpoch"], found["TransactionTimeoutMs"]) == ("0", "60000")
    (writer,) = rows(tools.run(f"{TOOL} describe-producers --topic {topic} --partition 0"))
    assert writer["ProducerId"] == found["ProducerId"]
    assert (writer["LastSequence"], writer["CurrentTransactionStartOffset"]) == ("0", "0")

    ongoing.commit_transaction(DEADLINE_S)
    wait_for_state(lab, tools, topic, "CompleteCommit")
    (writer,) = rows(tools.run(f"{TOOL} describe-producers --topic {topic} --partition 0"))
    assert int(writer["LatestCoordinatorEpoch"]) >= 0, "who leads the coordinator's partition"
    assert writer["CurrentTransactionStartOffset"] == "None"


def test_only_transactions_that_last_are_listed_where_that_is_asked(
    tools: KafkaTools, topic: str, ongoing: Producer
):
    listed = rows(tools.run(f"{TOOL} list --duration-filter 0"))
    assert topic in [row["TransactionalId"] for row in listed]
    later = rows(tools.run(f"{TOOL} list --duration-filter {LONG_AGO_MS}"))
    assert topic not in [row["TransactionalId"] for row in later]
    assert {row["TransactionState"] for row in later} <= {"Empty"}, "no transaction was ever begun"
    ongoing.abort_transaction(DEADLINE_S)


def test_transactions_are_listed_by_a_pattern_as_in_kafka(
    tools: KafkaTools, topic: str, ongoing: Producer, tmp_path: Path
):
    both = Both(tools, lambda _broker: [], tmp_path)
    listed = f"{TOOL} list --transactional-id-pattern"
    if tools.release.startswith("3."):
        refused = tools.run(f"{listed} .*")
        assert (refused.code, "unrecognized  arguments" in refused.err) == (1, True)
    else:
        for pattern, is_listed in (
            (topic, True),
            (f"(?i).*{topic[1:].upper()}", True),
            (topic[:-1], False),
            ("[^a-z].*", False),
        ):
            found = rows(both.same(f"{listed} '{pattern}'"))
            assert [row["TransactionalId"] for row in found] == [topic] * is_listed
        found = rows(both.same(f"{listed} {topic} --duration-filter {LONG_AGO_MS}"))
        assert found == []
        refused = tools.run(f"{listed} '('")
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith("Failed to list transactions: ")
    refused = both.ours(f"{listed} '('")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "Failed to list transactions: The regular expression is not valid.\n"
    ongoing.abort_transaction(DEADLINE_S)


def test_nobody_has_this_transactional_id(tools: KafkaTools, topic: str):
    printed = tools.run(f"{TOOL} describe --transactional-id {topic}")
    assert (printed.code, printed.out) == (1, "")
    assert "failed because the ID could not be found" in printed.err


def test_what_its_coordinator_knows_does_not_hang(tools: KafkaTools, topic: str, ongoing: Producer):
    assert rows(tools.run(f"{TOOL} find-hanging --topic {topic}")) == []
    ongoing.abort_transaction(DEADLINE_S)


def test_what_no_coordinator_knows_is_found_and_aborted(lab: Lab, tools: KafkaTools, topic: str):
    lab.create(topic)
    plant_hanging_transaction(tools.bootstrap, topic)
    (found,) = rows(tools.run(f"{TOOL} find-hanging --topic {topic}"))
    assert (found["Topic"], found["Partition"]) == (topic, "0")
    assert (found["ProducerId"], found["StartOffset"]) == (str(STRANGER), "0")

    assert tools.run(f"{TOOL} abort --topic {topic} --partition 0 --start-offset 0").code == 0
    assert rows(tools.run(f"{TOOL} find-hanging --topic {topic}")) == []
    again = tools.run(f"{TOOL} abort --topic {topic} --partition 0 --start-offset 0")
    assert (again.code, again.out) == (1, "")
    assert "Could not find any open transactions starting at offset 0" in again.err


def test_our_command_shows_what_kafkas_of_either_release_shows(
    lab: Lab, tools: KafkaTools, topic: str, ongoing: Producer, tmp_path: Path
):
    hanging = f"{topic}-hangs"
    lab.create(hanging)
    plant_hanging_transaction(tools.bootstrap, hanging, STRANGER + 1)
    both = Both(tools, lambda _broker: [], tmp_path)
    both.same(f"{TOOL} list")
    for name in (topic, hanging):
        both.same(f"{TOOL} describe-producers --topic {name} --partition 0")
    (found,) = rows(both.same(f"{TOOL} find-hanging --topic {hanging}"))
    assert found["ProducerId"] == str(STRANGER + 1)
    assert both.ours(f"{TOOL} abort --topic {hanging} --partition 0 --start-offset 0").code == 0
    assert rows(both.same(f"{TOOL} find-hanging --topic {hanging}")) == []
    ongoing.abort_transaction(DEADLINE_S)


@pytest.mark.parametrize("side", [JAVA, OURS])
def test_a_transaction_is_terminated_from_outside_and_its_producer_fenced(
    tools: KafkaTools, topic: str, ongoing: Producer, tmp_path: Path, side: str
):
    is_since_4 = not tools.release.startswith("3.")
    if side == JAVA and not is_since_4:
        pytest.skip("kafka-transactions terminates since 4.1")
    both = Both(tools, lambda _broker: [], tmp_path)
    command = f"{TOOL} forceTerminateTransaction"
    printed = (tools.run if side == JAVA else both.ours)(f"{command} --transactionalId {topic}")
    assert printed == Printed(0, "", "")
    described = tools.run(f"{TOOL} describe --transactional-id {topic}").lines[-1].split()
    # The id began anew after the abort; the timeout is the client's request.timeout.ms.
    assert described[4:6] == ["Empty", "30000"]
    with pytest.raises(KafkaException) as caught:
        ongoing.commit_transaction(DEADLINE_S)
    assert caught.value.args[0].fatal()
    if is_since_4:
        patient = both.write("request.timeout.ms=1000000\ndefault.api.timeout.ms=1000001\n")
        refused = f"{TOOL} --command-config {patient} forceTerminateTransaction"
        ours, java = (run(f"{refused} --transactionalId {topic}") for run in (both.ours, tools.run))
        assert (ours.code, ours.out) == (java.code, java.out) == (1, ""), "a timeout too long"
        assert java.err == ours.err.strip() + ". Enable debug logging for additional detail.\n"


def test_transactions_of_kafkas_own_producer_are_committed(lab: Lab, tools: KafkaTools, topic: str):
    lab.create(topic)
    # As many as the clock makes of one run; one run has at least one.
    for _ in range(2):
        printed = tools.run(
            f"kafka-producer-perf-test --topic {topic} --num-records 10 --record-size 10 "
            f"--throughput 200 --transactional-id {topic} --transaction-duration-ms 1 "
            f"--producer-props bootstrap.servers={tools.bootstrap}"
        )
        assert (printed.code, printed.err) == (0, "")
        assert printed.lines[-1].startswith("10 records sent, ")
        wait_for_state(lab, tools, topic, "CompleteCommit")
    read = tools.run(
        f"kafka-console-consumer --topic {topic} --partition 0 --offset earliest "
        "--isolation-level read_committed --max-messages 20"
    )
    assert (read.code, read.err) == (0, "Processed a total of 20 messages\n")
    end = tools.run(f"kafka-get-offsets --topic {topic}").lines[-1].rpartition(":")[2]
    assert int(end) > 21, "several transactions, each with its marker"


def test_what_is_stored_of_a_transaction_is_read_by_kafkas_own_formatter(
    tools: KafkaTools, topic: str, ongoing: Producer
):
    printed = tools.run(
        f"kafka-console-consumer --topic {TRANSACTION_STATE} --partition {state_partition(topic)} "
        "--offset earliest --timeout-ms 3000 "
        "--formatter org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"
    )
    # One object follows the other without a break.
    stored = json.loads(f"[{printed.out.strip().replace('}{', '},{')}]")
    stored = [one for one in stored if one["key"]["data"]["transactionalId"] == topic]
    empty, open_ = [one["value"]["data"] for one in stored]
    assert (empty["transactionStatus"], empty["transactionPartitions"]) == (0, None)
    partitions = [{"topic": topic, "partitionIds": [0]}]
    assert (open_["transactionStatus"], open_["transactionPartitions"]) == (1, partitions)
    ongoing.abort_transaction(DEADLINE_S)


def test_what_is_stored_of_a_transaction_is_decoded_by_kafka_dump_log(
    lab: Lab, tools: KafkaTools, topic: str, ongoing: Producer
):
    index = state_partition(topic)
    leader = lab.partition(TRANSACTION_STATE, index).leader
    log_dir = Path(lab.log_dir_of(leader, TRANSACTION_STATE, index).path)
    segment = log_dir / f"{TRANSACTION_STATE}-{index}" / f"{0:020}.log"
    printed = tools.run("kafka-dump-log --transaction-log-decoder --files", str(segment))
    assert (printed.code, printed.err) == (0, "")
    empty, open_ = [line for line in printed.lines if f"{topic}" in line.partition(" payload")[0]]
    # 4.3 prints JSON, 3.9 words of its own.
    assert "state=Empty" in empty or '"transactionStatus":0' in empty
    assert "state=Ongoing" in open_ or '"transactionStatus":1' in open_
    ongoing.abort_transaction(DEADLINE_S)
