"""ElectLeaders against broken and dead brokers, at the oldest and the newest version served."""

from __future__ import annotations

import pytest
from kafka.structs import TopicPartition

from jbodlab.load import reader
from protocol.errors import ErrorCode
from protocol.faults.model import broker_node
from protocol.messages.elections import ElectLeadersRequest, TopicPartitions
from tests.integration.labs import Lab
from tests.integration.test_kip_18 import break_dir, wait_for_return

PREFERRED, UNCLEAN = 0, 1
VERSIONS = [0, 2]
SINGLE = {"min.insync.replicas": "1"}


def elect(
    lab: Lab, version: int, *topics: str, kind: int = PREFERRED, broker: int = 2
) -> dict[str, int]:
    """Ask for elections of partitions 0; of all partitions without names. Return their codes."""
    named = [TopicPartitions(topic=name, partitions=[0]) for name in topics]
    request = ElectLeadersRequest(
        election_type=kind, topic_partitions=named or None, timeout_ms=30_000
    )
    if version == 0:
        request.election_type = ElectLeadersRequest().election_type
    response = lab.ask(request, version, broker=broker)
    assert version == 0 or response.error_code == ErrorCode.NONE
    return {
        f"{topic.topic}-{entry.partition_id}": entry.error_code
        for topic in response.replica_election_results
        for entry in topic.partition_result
    }


@pytest.mark.sampled("version", kept=1)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_preferred_leader_is_elected_once_its_log_dir_is_back(
    shared_lab: Lab, version: int
) -> None:
    lab, led, alone = shared_lab, f"led-{version}", f"alone-{version}"
    lab.create(led, assignment={0: [1, 2, 3]})
    lab.create(alone, assignment={0: [1]}, configs=SINGLE)
    path = lab.log_dir_of(1, led).path
    if lab.log_dir_of(1, alone).path != path:
        lab.move(1, alone, path)
    assert elect(lab, version, led, alone, "nowhere") == {
        f"{led}-0": ErrorCode.ELECTION_NOT_NEEDED,
        f"{alone}-0": ErrorCode.ELECTION_NOT_NEEDED,
        "nowhere-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }

    break_dir(lab, 1, led)
    lab.wait_for_new_leader(led, 1)
    assert elect(lab, version, led, alone) == {
        f"{led}-0": ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        f"{alone}-0": ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    }
    if version >= 1:
        assert elect(lab, version, led, alone, kind=UNCLEAN) == {
            f"{led}-0": ErrorCode.ELECTION_NOT_NEEDED,
            f"{alone}-0": ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        }

    lab.control(1).heal(path)
    lab.control(1).restart(path)
    wait_for_return(lab, 1, path)
    elected = elect(lab, version)
    assert elected[f"{led}-0"] == ErrorCode.NONE
    assert ErrorCode.ELECTION_NOT_NEEDED not in elected.values(), "of all, those are left out"
    for broker in (1, 2, 3):
        assert lab.partition(led, by=broker).leader == 1, "every broker knows it already"
    assert lab.partition(alone).leader == 1


def test_a_reader_that_knows_the_old_leader_learns_of_the_new_one(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("read", assignment={0: [1, 2, 3]})
    partition = TopicPartition("read", 0)
    consumer = reader(lab.servers)
    try:
        consumer.assign([partition])
        assert consumer.end_offsets([partition]) == {partition: 0}
        lab.admin.reassign({("read", 0): [2, 3, 1]})
        assert elect(lab, 2, "read") == {"read-0": ErrorCode.NONE}
        assert consumer.end_offsets([partition]) == {partition: 0}
    finally:
        consumer.close()


@pytest.mark.sampled("version", kept=1)
@pytest.mark.parametrize("version", [1, 2])
def test_an_unclean_election_takes_a_replica_that_lacks_records(lab: Lab, version: int) -> None:
    topic = f"unclean-{version}"
    lab.create(topic, assignment={0: [2, 3]}, configs=SINGLE)
    lab.cluster.kill(broker_node(3))
    lab.cluster.wait_until(
        lambda admin: admin.view(1, [topic]).partition(topic, 0).isr == (2,), "broker 3 is out"
    )
    load = lab.load(topic)
    lab.wait_for_records(load, 20)
    load.stop()
    lab.cluster.kill(broker_node(2))
    lab.cluster.start_broker(3)
    lab.cluster.wait_until(
        lambda admin: (
            admin.view(1, [topic]).partition(topic, 0).leader == -1
            and admin.view(1).broker_ids == (1, 3)
        ),
        "nobody leads",
    )
    assert elect(lab, version, topic, broker=1) == {
        f"{topic}-0": ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    }

    assert elect(lab, version, topic, kind=UNCLEAN, broker=1) == {f"{topic}-0": ErrorCode.NONE}

    view = lab.partition(topic, by=1)
    assert (view.leader, view.isr) == (3, (3,))
    lab.cluster.start_broker(2)
    lab.wait_for_full_isr(topic)
