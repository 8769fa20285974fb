"""kafka-transactions as it is called."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.producer_ids import ProducerState
from tests.jbodlab.kafka_tools.fake_cluster import API_KEYS, FakeCluster
from tests.jbodlab.kafka_tools.fake_transactions import FakeTransactions
from tests.jbodlab.kafka_tools.running import document, run

TOOL = "kafka-transactions"
FOO = TopicPartition("foo", 0)
LIST = 66
"""ListTransactions."""
LEADER_OF_FOO = 0


def producer(producer_id: int, start_offset: int = 5) -> ProducerState:
    """One that wrote 1970."""
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=3,
        last_sequence=9,
        last_timestamp=1_000,
        coordinator_epoch=-1,
        current_txn_start_offset=start_offset,
    )


@pytest.fixture
def transactions(cluster: FakeCluster) -> FakeTransactions:
    """Of three producers of foo-0 one is known to the coordinator, and one has nothing open."""
    made = FakeTransactions(
        open={"pay": (7, [FOO])}, producers={FOO: [producer(7), producer(8, 6), producer(9, -1)]}
    )
    made.offer(cluster)
    return made


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.usefixtures("transactions")
def test_transactions_are_listed_with_their_coordinators(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} list")
    assert rows(result.stdout) == [
        ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"],
        ["pay", "2", "7", "Ongoing"],
    ]
    (found,) = document(run(cluster, f"{TOOL} list --json"))["transactions"]
    assert (found["transactional_id"], found["coordinator"]) == ("pay", 2)


def test_transactions_are_listed_by_a_pattern(cluster: FakeCluster, transactions: FakeTransactions):
    transactions.open["rent"] = (9, [FOO])
    listed = run(cluster, f"{TOOL} list --transactional-id-pattern p.*")
    assert [row[0] for row in rows(listed.stdout)[1:]] == ["pay"]
    refused = run(cluster, f"{TOOL} list --transactional-id-pattern (")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "Failed to list transactions: The regular expression is not valid.\n"


@pytest.mark.usefixtures("transactions")
def test_a_filter_that_brokers_do_not_know_is_told(cluster: FakeCluster):
    def of_3_9(_broker: int, _request: object) -> ApiVersionsResponse:
        keys = [
            ApiVersion(api_key=key, min_version=0, max_version=1 if key == LIST else 20)
            for key in API_KEYS
        ]
        return ApiVersionsResponse(error_code=0, api_keys=keys)

    cluster.replies[ApiVersionsRequest] = of_3_9
    assert run(cluster, f"{TOOL} list --duration-filter 5").exit_code == 0
    result = run(cluster, f"{TOOL} list --transactional-id-pattern a")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "Failed to list transactions: Transactional ID pattern filter can be set only when using "
    )


def test_a_transaction_is_described_as_soon_as_its_coordinator_is_there(
    cluster: FakeCluster, transactions: FakeTransactions
):
    transactions.refusals = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    result = run(cluster, f"{TOOL} describe --transactional-id pay")
    _, row = rows(result.stdout)
    assert [*row[:7], row[8]] == ["2", "pay", "7", "0", "Ongoing", "60000", "1000", "foo-0"]
    found = document(run(cluster, f"{TOOL} describe --transactional-id pay --json"))
    assert found["transaction"]["partitions"] == [{"topic": "foo", "partition": 0}]


def test_who_may_not_ask_for_a_coordinator_is_told_of_what(
    cluster: FakeCluster, transactions: FakeTransactions
):
    transactions.refusals = [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    result = run(cluster, f"{TOOL} describe --transactional-id pay")
    assert result.exit_code == 1
    key = "CoordinatorKey(idValue='pay', type=TRANSACTION)"
    assert result.stderr.endswith(
        f"FindCoordinator request for transactionalId `{key}` failed due to authorization failure\n"
    )


@pytest.mark.usefixtures("transactions")
def test_a_transactional_id_that_is_not_there_is_told_in_one_line(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} describe --transactional-id nope")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Failed to describe transaction state of transactional-id `nope`: DescribeTransactions "
        "request for transactionalId `nope` failed because the ID could not be found\n"
    )


@pytest.mark.usefixtures("transactions")
def test_producers_of_a_partition_are_described(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} describe-producers --topic foo --partition 0")
    assert rows(result.stdout)[1:] == [
        ["7", "3", "-1", "9", "1000", "5"],
        ["8", "3", "-1", "9", "1000", "6"],
        ["9", "3", "-1", "9", "1000", "None"],
    ]
    asked = f"{TOOL} describe-producers --topic foo --partition 0 --broker-id 1 --json"
    assert len(document(run(cluster, asked))["producers"]) == 3


@pytest.mark.usefixtures("transactions")
def test_what_no_coordinator_knows_hangs(cluster: FakeCluster):
    for where in ("--topic foo", "--topic foo --partition 0", "--broker-id 0"):
        (found,) = document(run(cluster, f"{TOOL} find-hanging {where} --json"))["hanging"]
        assert (found["topic"], found["partition"], found["producer_id"]) == ("foo", 0, 8)
    _, row = rows(run(cluster, f"{TOOL} find-hanging --topic foo").stdout)
    assert row[:7] == ["foo", "0", "8", "3", "-1", "6", "1000"]
    long = run(cluster, f"{TOOL} find-hanging --topic foo --max-transaction-timeout 100000000")
    assert len(rows(long.stdout)) == 1


def test_what_hangs_is_aborted_by_whoever_leads(
    cluster: FakeCluster, transactions: FakeTransactions
):
    at = f"{TOOL} abort --topic foo --partition 0"
    assert run(cluster, f"{at} --start-offset 6").exit_code == 0
    leader = cluster.topics["foo"].partitions[0].leader
    assert transactions.aborted == [(leader, FOO, 8)]
    again = run(cluster, f"{at} --start-offset 6")
    assert (again.exit_code, again.stderr) == (
        1,
        "Could not find any open transactions starting at offset 6 on partition foo-0\n",
    )
    by_id = f"{at} --producer-id 4 --producer-epoch 1 --coordinator-epoch -1 --json"
    assert document(run(cluster, by_id))["aborted"]["producer_id"] == 4


def test_a_refused_abort_says_of_what(cluster: FakeCluster, transactions: FakeTransactions):
    transactions.refusals = [ErrorCode.INVALID_PRODUCER_EPOCH]
    result = run(cluster, f"{TOOL} abort --topic foo --partition 0 --start-offset 5")
    assert result.exit_code == 1
    assert result.stderr == (
        "Failed to abort transaction AbortTransactionSpec(topicPartition=foo-0, producerId=7, "
        "producerEpoch=3, coordinatorEpoch=0): INVALID_PRODUCER_EPOCH\n"
    )


def test_an_id_is_fenced_once_its_transaction_has_ended(
    cluster: FakeCluster, transactions: FakeTransactions
):
    transactions.fence_refusals = [
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ]
    command = f"{TOOL} forceTerminateTransaction --transactionalId pay"
    result = run(cluster, command)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert transactions.fenced == [("pay", 30_000)]
    assert document(run(cluster, f"{command} --json"))["terminated"] == {"transactional_id": "pay"}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "cluster authorization failure"),
        (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "transactional ID authorization failure",
        ),
        (ErrorCode.INVALID_TRANSACTION_TIMEOUT, "unexpected error"),
    ],
)
def test_who_may_not_fence_an_id_is_told_why(
    cluster: FakeCluster, transactions: FakeTransactions, code: ErrorCode, why: str
):
    transactions.fence_refusals = [code]
    result = run(cluster, f"{TOOL} forceTerminateTransaction --transactionalId pay")
    assert (result.exit_code, result.stdout, transactions.fenced) == (1, "", [])
    assert result.stderr == (
        "Failed to force terminate transactionalId `pay`: InitProducerId request for "
        f"transactionalId `pay` failed due to {why}\n"
    )


@pytest.mark.usefixtures("transactions")
@pytest.mark.parametrize(
    "words", ["--topic nope", "--topic nope --partition 0", "--topic nope --broker-id 1"]
)
def test_a_topic_that_is_not_there_is_said(cluster: FakeCluster, words: str):
    result = run(cluster, f"{TOOL} find-hanging {words}")
    if words.endswith("--broker-id 1") or words == "--topic nope":
        assert (result.exit_code, result.stdout) == (1, "")
        assert "does not host" in result.stderr
    else:
        assert result.exit_code == 1
