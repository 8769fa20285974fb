"""Throttles of reassignments go by themselves; those of other people stay."""

from __future__ import annotations

from random import Random

import pytest

from controller.core.reassignment_records import ThrottlesClaimed
from controller.core.reassignment_rules import Assignment
from controller.core.step import Step
from controller.core.throttles import ThrottledLists, claim
from protocol.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, THROTTLED_RATES
from tests.controller.core.altering import BROKER, DELETE, SET, TOPIC, alter
from tests.controller.core.cluster import Cluster, settings, three_brokers, tp
from tests.controller.core.reassigning import alter as reassign
from tests.controller.core.reassigning import set_isr, under_way


def throttled_cluster(
    *, leaders: str = "0:1,0:2", followers: str = "0:3", **configs: str
) -> Cluster:
    """Return a cluster with what Kafka's tool sets before it asks for t-0 to go to 3 and 2."""
    cluster = three_brokers(config=settings(**configs))
    cluster.create("t", [1, 2], [1, 2])
    cluster.create("other", [1, 2])
    assert (
        alter(
            cluster,
            TOPIC,
            "t",
            (LEADER_REPLICAS, SET, leaders),
            (FOLLOWER_REPLICAS, SET, followers),
        ).error_code
        == 0
    )
    for broker_id in (1, 2, 3):
        set_rates(cluster, str(broker_id))
    return cluster


def set_rates(cluster: Cluster, name: str) -> None:
    assert (
        alter(
            cluster, BROKER, name, *((rate, SET, "500000") for rate in THROTTLED_RATES)
        ).error_code
        == 0
    )


def lists_of(cluster: Cluster, topic: str = "t") -> dict[str, str]:
    configs = cluster.state.topics[topic].configs
    return {name: text for name, text in configs.items() if "throttled" in name}


def throttled_brokers(cluster: Cluster) -> list[str]:
    return sorted(
        name
        for name, texts in cluster.state.dynamic_configs.items()
        if any(rate in texts for rate in THROTTLED_RATES)
    )


def catch_up(cluster: Cluster, name: str = "t-0") -> None:
    set_isr(cluster, name, [*cluster.partition(name).isr, 3])


@pytest.mark.kafka_bug("verify-keeps-throttles")
@pytest.mark.scenario(11)
@pytest.mark.parametrize("fails_over", ["never", "meanwhile", "before the end is told"])
def test_they_go_when_the_reassignment_ends(fails_over: str) -> None:
    """Also when the controller fails over in between."""
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]))
    assert lists_of(cluster) == {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3"}
    if fails_over == "meanwhile":
        cluster = cluster.restart()
        cluster.settle()
    elif fails_over == "before the end is told":
        cluster.held = [1, 2, 3]

    catch_up(cluster)
    if fails_over == "before the end is told":
        cluster = cluster.restart()
        cluster.settle()

    assert under_way(cluster) == {}
    assert lists_of(cluster) == {}
    assert throttled_brokers(cluster) == []
    assert (cluster.state.throttled_topics, cluster.state.throttled_brokers) == ({}, {})
    assert claim.__doc__


@pytest.mark.scenario(11)
def test_a_controller_that_finds_nothing_reassigned_takes_them_off_at_once() -> None:
    cluster = throttled_cluster()
    claimed = [*cluster.records, ThrottlesClaimed(("t",), (1, 2, 3))]

    after = Cluster(claimed, brokers=cluster.brokers)
    after.settle()

    assert lists_of(after) == {}
    assert throttled_brokers(after) == []


@pytest.mark.kafka_bug("verify-keeps-throttles")
def test_a_replica_on_an_offline_log_dir_does_not_keep_them() -> None:
    """A tool's --verify does not take them off then; here nobody needs to run it."""
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]), ("t-1", [1, 2]))
    cluster.fail_log_dir(2, 1, ["t-1"])

    catch_up(cluster)

    assert cluster.state.offline_replicas(tp("t-1")) == [2]
    assert under_way(cluster) == {}
    assert lists_of(cluster) == {}
    assert throttled_brokers(cluster) == []


def test_they_go_when_it_is_cancelled() -> None:
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]))

    reassign(cluster, ("t-0", None))

    assert lists_of(cluster) == {}
    assert throttled_brokers(cluster) == []


def test_they_stay_while_anything_is_reassigned() -> None:
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]), ("other-0", [3, 2]))

    catch_up(cluster)
    assert lists_of(cluster) != {}
    assert throttled_brokers(cluster) == ["1", "2", "3"]
    catch_up(cluster, "other-0")

    assert lists_of(cluster) == {}
    assert throttled_brokers(cluster) == []


@pytest.mark.parametrize(
    ("leaders", "followers"),
    [("*", "*"), ("1:1,1:2", "1:3"), ("0:1,0:2", "0:2")],
    ids=["all", "another partition", "replicas that are there"],
)
def test_permanent_throttles_stay(leaders: str, followers: str) -> None:
    cluster = throttled_cluster(leaders=leaders, followers=followers)

    reassign(cluster, ("t-0", [3, 2]))
    catch_up(cluster)

    assert lists_of(cluster) == {LEADER_REPLICAS: leaders, FOLLOWER_REPLICAS: followers}
    assert throttled_brokers(cluster) == ["1", "2", "3"]


def test_rates_for_all_brokers_and_of_brokers_that_take_no_part_stay() -> None:
    cluster = throttled_cluster()
    cluster.start_broker(4)
    set_rates(cluster, "")
    set_rates(cluster, "4")

    reassign(cluster, ("t-0", [3, 2]))
    catch_up(cluster)

    assert throttled_brokers(cluster) == ["", "4"]


def test_topics_of_the_same_request_that_stay_where_they_are_are_cleared_too() -> None:
    cluster = throttled_cluster()
    alter(cluster, TOPIC, "other", (LEADER_REPLICAS, SET, "0:1,0:2"))

    reassign(cluster, ("t-0", [3, 2]), ("other-0", [1, 2]))
    catch_up(cluster)

    assert lists_of(cluster, "other") == {}


@pytest.mark.parametrize(
    "target", [[1], [2, 1], [1, 2]], ids=["fewer replicas", "another order", "nothing to do"]
)
def test_they_go_at_once_when_no_replica_is_added(target: list[int]) -> None:
    """Kafka's tool sets them all the same: the replicas there as leaders, "" as followers."""
    cluster = throttled_cluster(followers="")

    reassign(cluster, ("t-0", target))

    assert under_way(cluster) == {}
    assert lists_of(cluster) == {}
    assert throttled_brokers(cluster) == ["3"]


@pytest.mark.parametrize(
    ("leaders", "followers"),
    [("0:1,0:2", "0:1,0:2"), ("0:1", ""), ("*", ""), ("1:1,1:2", "")],
    ids=["both lists", "one of them", "all", "another partition"],
)
def test_permanent_throttles_stay_when_no_replica_is_added(leaders: str, followers: str) -> None:
    cluster = throttled_cluster(leaders=leaders, followers=followers)
    before = lists_of(cluster)

    reassign(cluster, ("t-0", [1]))

    assert lists_of(cluster) == before
    assert throttled_brokers(cluster) == ["1", "2", "3"]


def test_what_an_additional_request_throttles_of_those_under_way_goes_too() -> None:
    """With --additional Kafka's tool throttles all that is under way, and asks for the new ones."""
    cluster = three_brokers()
    cluster.start_broker(4)
    cluster.create("t", [1, 2])
    cluster.create("other", [1, 2])
    reassign(cluster, ("other-0", [1, 4]))
    for topic, added in (("t", 3), ("other", 4)):
        alter(
            cluster,
            TOPIC,
            topic,
            (LEADER_REPLICAS, SET, "0:1,0:2"),
            (FOLLOWER_REPLICAS, SET, f"0:{added}"),
        )
    for broker_id in (1, 2, 3, 4):
        set_rates(cluster, str(broker_id))

    reassign(cluster, ("t-0", [3, 2]))
    catch_up(cluster)
    assert throttled_brokers(cluster) == ["1", "2", "3", "4"]
    set_isr(cluster, "other-0", [1, 2, 4])

    assert (lists_of(cluster), lists_of(cluster, "other")) == ({}, {})
    assert throttled_brokers(cluster) == []


def test_a_topic_made_anew_meanwhile_keeps_the_throttle_that_somebody_gives_it() -> None:
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]), ("other-0", [3, 2]))
    catch_up(cluster)
    cluster.delete("t")
    cluster.create("t", [1, 2])
    alter(cluster, TOPIC, "t", (FOLLOWER_REPLICAS, SET, "0:1,0:2"))

    catch_up(cluster, "other-0")

    assert under_way(cluster) == {}
    assert lists_of(cluster) == {FOLLOWER_REPLICAS: "0:1,0:2"}


def test_what_became_permanent_meanwhile_stays() -> None:
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]))
    alter(cluster, TOPIC, "t", (LEADER_REPLICAS, SET, "*"))

    catch_up(cluster)

    assert lists_of(cluster) == {LEADER_REPLICAS: "*"}


def test_a_tool_that_was_faster_leaves_nothing_to_do() -> None:
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]))
    alter(cluster, TOPIC, "t", (LEADER_REPLICAS, DELETE, None), (FOLLOWER_REPLICAS, DELETE, None))

    catch_up(cluster)

    assert lists_of(cluster) == {}
    assert throttled_brokers(cluster) == []


def test_a_topic_that_is_deleted_at_its_end_has_nothing_to_clear() -> None:
    cluster = throttled_cluster()
    reassign(cluster, ("t-0", [3, 2]))
    cluster.delete("t")

    catch_up(cluster)

    assert "t" not in cluster.state.topics
    assert throttled_brokers(cluster) == []
    assert cluster.state.throttled_topics == {}


@pytest.mark.scenario(212)
def test_kafkas_way_can_be_chosen() -> None:
    """What nobody takes off stays for ever: the tool's --verify does, when somebody runs it."""
    cluster = throttled_cluster(jbodlab_reassignment_throttles_remove="false")

    reassign(cluster, ("t-0", [3, 2]))
    catch_up(cluster)

    assert lists_of(cluster) == {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3"}
    assert throttled_brokers(cluster) == ["1", "2", "3"]
    assert cluster.state.throttled_topics == {}


def entries(chance: Random, brokers: int) -> str:
    """Return some list of throttled replicas of t-0 to t-3, with what else people write."""
    drawn = [f" {chance.randrange(4)}:{chance.randrange(1, brokers + 1)}" for _ in range(5)]
    odd = chance.sample(["*", "0:", "1", "", ":2", "10:1"], k=chance.choice([0, 0, 1]))
    return ",".join([*drawn[: chance.randrange(6)], *odd])


def test_lists_that_anybody_may_write_are_claimed_as_promised() -> None:
    """The promise of ``claim``, which holds beside these tests, reads every list anew."""
    chance, outcomes = Random(7), dict[bool, None]()
    added, same = Assignment((3, 1, 2), (3,), (2,)), Assignment((2, 1))
    for _ in range(300):
        cluster = three_brokers()
        cluster.create("t", *[[1, 2]] * 4)
        configs = cluster.state.topics["t"].configs
        configs[LEADER_REPLICAS] = entries(chance, 3)
        if chance.random() < 0.7:
            configs[FOLLOWER_REPLICAS] = entries(chance, 3)
        wanted = {tp(f"t-{n}"): chance.choice([added, same]) for n in range(4)}
        step = Step(cluster.state, cluster.machine.run, cluster.config, Random(0), 0)
        claim(step, wanted)
        outcomes[bool(step.records)] = None
    assert len(outcomes) == 2


def test_each_list_is_read_once_for_any_number_of_partitions() -> None:
    cluster = throttled_cluster()
    step = Step(cluster.state, cluster.machine.run, cluster.config, Random(0), 0)
    lists = ThrottledLists(step)
    assert lists.entries("t", LEADER_REPLICAS) == {"0:1", "0:2"}
    assert lists.entries("t", LEADER_REPLICAS) is lists.entries("t", LEADER_REPLICAS)
    assert lists.partitions("t", LEADER_REPLICAS) == {"0"}
    assert lists.partitions("t", LEADER_REPLICAS) is lists.partitions("t", LEADER_REPLICAS)
    assert lists.entries("other", LEADER_REPLICAS) == {""}
    assert lists.partitions("other", LEADER_REPLICAS) == frozenset()
