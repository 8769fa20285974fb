"""Cordoned log dirs of a real cluster (KIP-1066)."""

from __future__ import annotations

import pytest

from protocol.cluster_file.spec import TopicSpec
from protocol.errors import ErrorCode, KafkaError
from tests.integration.labs import Lab
from tests.integration.test_configs import BROKER, change

CORDONED = "cordoned.log.dirs"


def paths(lab: Lab, broker: int) -> list[str]:
    return [view.path for view in lab.admin.log_dirs(broker)]


def partitions_in(lab: Lab, broker: int, path: str, topic: str) -> int:
    (view,) = [view for view in lab.admin.log_dirs(broker) if view.path == path]
    return sum(replica.topic == topic for replica in view.replicas)


def refusal(lab: Lab, topic: TopicSpec, assignment: dict[int, list[int]] | None = None) -> int:
    """Return why a topic cannot be created; one that can be is deleted again."""
    try:
        lab.admin.create_topic(topic, assignment=assignment)
    except KafkaError as error:
        return error.code
    lab.admin.delete_topic(topic.name)
    return ErrorCode.NONE


@pytest.mark.scenario(242, 245)
def test_a_cordoned_log_dir_takes_nothing_and_gives_what_it_has(shared_lab: Lab) -> None:
    lab = shared_lab
    first, second, third = paths(lab, 1)
    lab.create("before", 6, assignment={n: [1] for n in range(6)})
    change(lab, BROKER, "1", CORDONED, f"{first},{second}")

    lab.create("within", 4, assignment={n: [1] for n in range(4)})
    assert [partitions_in(lab, 1, path, "within") for path in (first, second, third)] == [0, 0, 4]
    with pytest.raises(KafkaError) as caught:
        lab.admin.move_replicas(1, first, {"within": [0]})
    assert caught.value.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    leaving = next(n for n in range(6) if lab.log_dir_of(1, "before", n).path == first)
    lab.move(1, "before", third, leaving)

    lab.cluster.restart_broker(1)
    lab.create("again", 2, assignment={n: [1] for n in range(2)})
    assert partitions_in(lab, 1, third, "again") == 2

    change(lab, BROKER, "1", CORDONED, None)
    lab.create("after", 4, assignment={n: [1] for n in range(4)})
    assert partitions_in(lab, 1, third, "after") < 4


@pytest.mark.kafka_bug("KAFKA-20832")
@pytest.mark.scenario(243, 246)
def test_a_cordoned_broker_takes_nothing_and_can_be_emptied(shared_lab: Lab) -> None:
    lab = shared_lab
    single = {"min.insync.replicas": "1"}
    lab.create("staying", assignment={0: [3, 1]}, configs=single)
    change(lab, BROKER, "3", CORDONED, "*")

    lab.cluster.wait_until(
        lambda _: (
            refusal(lab, TopicSpec(name="x", partitions=1, replication_factor=3, configs={}))
            == ErrorCode.INVALID_REPLICATION_FACTOR
        ),
        "automatic placement knows the cordon",
    )
    wanted = TopicSpec(name="x", partitions=1, replication_factor=1, configs={})
    assert refusal(lab, wanted, {0: [3]}) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    lab.create("elsewhere", 2, replication_factor=2, configs=single)
    assert all(3 not in lab.partition("elsewhere", n).replicas for n in range(2))
    with pytest.raises(KafkaError) as caught:
        lab.admin.reassign({("elsewhere", 0): [3, 1]})
    assert caught.value.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT

    mine = [each for each in lab.admin.any_view().partitions if 3 in each.replicas]
    lab.admin.reassign({(each.topic, each.partition): [1, 2] for each in mine})
    lab.cluster.wait_until(lambda admin: not admin.reassignments(), "broker 3 is empty")
    lab.cluster.wait_until(
        lambda admin: not any(view.replicas for view in admin.log_dirs(3)), "its files are gone"
    )
    change(lab, BROKER, "3", CORDONED, None)
