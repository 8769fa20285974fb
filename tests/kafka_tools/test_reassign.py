"""kafka-reassign-partitions between brokers: every action, with and without throttles."""

from __future__ import annotations

import json
import re

import pytest

from protocol.errors import ErrorCode, KafkaError
from tests.deadlines import DEADLINE_MS
from tests.integration.labs import Lab, consume_with_confluent, produce_with_confluent
from tests.kafka_tools.plans import CANCEL, EXECUTE, LIST, VERIFY, PlanFile, terse_error
from tests.kafka_tools.tools import KafkaTools, Printed

ONE_BYTE = {broker: {"1"} for broker in (1, 2, 3)}
BATCHES = {"batch.num.messages": 10}
SINGLE = {"min.insync.replicas": "1"}
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
WARNING = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
    "throttle is removed."
)
EXISTS = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to "
    "override this and create a new partition assignment in addition to the existing one. The "
    "--additional flag can also be used to change the throttle by resubmitting the current "
    "reassignment."
)
NOT_MOVING = "None of the specified partition moves are active."
CLEARING = "Clearing broker-level throttles on brokers 1,2,3"


def settings(tools: KafkaTools, entity: str) -> dict[str, str]:
    """Return what is set for a topic or a broker."""
    lines = tools.run(f"kafka-configs --describe {entity}").lines[1:]
    found = [re.fullmatch(r"  ([^=]+)=(.*) sensitive=.*", line) for line in lines]
    return {one[1]: one[2] for one in found if one is not None}


def rates(tools: KafkaTools) -> dict[int, set[str]]:
    """Return the limits of replication by broker; leader and follower have the same."""
    by_broker = {broker: settings(tools, f"--broker {broker}") for broker in (1, 2, 3)}
    return {
        broker: {found[rate] for rate in RATES}
        for broker, found in by_broker.items()
        if found.keys() & set(RATES)
    }


def throttled_replicas(tools: KafkaTools, topic: str) -> tuple[str | None, str | None]:
    """Return the lists of the topic: leaders, followers."""
    found = settings(tools, f"--topic {topic}")
    names = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
    return found.get(names[0]), found.get(names[1])


def execute(plan: PlanFile, options: str = "") -> list[str]:
    """Execute a plan; return what follows the plan that leads back."""
    first, blank, back, empty, save, *more = plan.succeed(f"{EXECUTE} {options}")
    assert (first, blank, empty) == ("Current partition replica assignment", "", "")
    assert json.loads(back)["version"] == 1
    assert save == "Save this to use as the --reassignment-json-file option during rollback"
    return more


def status(partition: str, text: str) -> str:
    return f"Reassignment of partition {partition} is {text}."


def held_back(plan: PlanFile, topic: str, target: list[int]) -> list[str]:
    """Begin a reassignment that stands still after its first batch: a byte per second."""
    plan.write({(topic, 0): target})
    return execute(plan, "--throttle 1")


@pytest.fixture
def created(lab: Lab, topic: str) -> str:
    """A partition on brokers 1 and 2 with 50 records in batches of 10."""
    lab.create(topic, assignment={0: [1, 2]}, configs=SINGLE)
    produce_with_confluent(lab, topic, [bytes(1000)] * 50, **BATCHES)
    return topic


@pytest.mark.scenario(198)
def test_replicas_go_where_the_plan_says(tools: KafkaTools, lab: Lab, topic: str, plan: PlanFile):
    lab.create(topic, assignment={0: [1, 2], 1: [2, 3]}, configs=SINGLE)
    wanted = {(topic, 0): [3, 1], (topic, 1): [3, 2, 1]}
    plan.write(wanted)
    assert plan.succeed(VERIFY) == [
        "Status of partition reassignment:",
        f"There is no active reassignment of partition {topic}-0, "
        "but replica set is 1,2 rather than 3,1.",
        f"There is no active reassignment of partition {topic}-1, "
        "but replica set is 2,3 rather than 3,2,1.",
        "",
        CLEARING,
        f"Clearing topic-level throttles on topic {topic}",
    ]

    assert execute(plan) == [
        f"Successfully started partition reassignments for {topic}-0,{topic}-1"
    ]
    assert len(plan.succeed(VERIFY)) >= 3, "whatever it has come to"
    lab.wait_for_reassignments(wanted)
    assert plan.succeed(VERIFY)[:3] == [
        "Status of partition reassignment:",
        status(f"{topic}-0", "completed"),
        status(f"{topic}-1", "completed"),
    ]
    described = tools.run(f"kafka-topics --describe --topic {topic}").lines[1:]
    assert [re.findall(r"Replicas: ([\d,]+)", line) for line in described] == [["3,1"], ["3,2,1"]]


@pytest.mark.scenario(266)
def test_the_plan_that_leads_back_is_printed(
    tools: KafkaTools, lab: Lab, created: str, plan: PlanFile
):
    there = {(created, 0): [3, 2]}
    plan.write(there)
    back = json.loads(plan.succeed(EXECUTE)[2])
    lab.wait_for_reassignments(there)

    is_told = not tools.release.startswith("3.")  # KAFKA-19582
    told = [row["log_dirs"] for row in back["partitions"]]
    assert told != [["any", "any"]] if is_told else told == [["any", "any"]]

    plan.write_text(json.dumps(back))
    execute(plan)
    lab.wait_for_reassignments({(created, 0): [1, 2]})
    assert json.loads(plan.succeed(EXECUTE)[2]) == back


@pytest.mark.scenario(199, 212)
def test_throttles_stay_until_a_verification_takes_them_off(
    tools: KafkaTools, lab: Lab, created: str, plan: PlanFile
):
    other = f"{created}-other"
    lab.create(other, assignment={0: [1], 1: [1], 2: [2]}, configs=SINGLE)
    produce_with_confluent(lab, other, [bytes(1000)] * 60, **BATCHES)
    wanted = {(created, 0): [3, 2], (other, 2): [3]}
    plan.write(wanted)

    assert execute(plan, "--throttle 300000") == [
        WARNING,
        "The inter-broker throttle limit was set to 300000 B/s",
        f"Successfully started partition reassignments for {created}-0,{other}-2",
    ]

    limited = {broker: {"300000"} for broker in (1, 2, 3)}
    assert rates(tools) == limited
    lab.wait_for_reassignments(wanted)
    kept = plan.succeed(f"{VERIFY} --preserve-throttles")
    assert kept[1:] == [
        status(f"{created}-0", "completed"),
        status(f"{other}-2", "completed"),
        "",
    ]
    assert rates(tools) == limited
    assert throttled_replicas(tools, created) == ("0:1,0:2", "0:3")
    assert throttled_replicas(tools, other) == ("2:2", "2:3")

    brokers, topics = plan.succeed(VERIFY)[4:]
    assert brokers == CLEARING
    prefix = "Clearing topic-level throttles on topics "
    assert sorted(topics.removeprefix(prefix).split(",")) == [created, other]
    assert rates(tools) == {}
    assert throttled_replicas(tools, created) == (None, None)
    assert throttled_replicas(tools, other) == (None, None)


@pytest.mark.scenario(200)
def test_a_throttle_is_changed_in_the_middle(
    tools: KafkaTools, lab: Lab, created: str, plan: PlanFile
):
    held_back(plan, created, [3])
    assert plan.succeed(VERIFY) == [
        "Status of partition reassignment:",
        status(f"{created}-0", "still in progress"),
        "",
    ]
    assert rates(tools) == ONE_BYTE
    assert tools.run(LIST) == Printed(
        0,
        "Current partition reassignments:\n"
        f"{created}-0: replicas: 3,1,2. adding: 3. removing: 1,2.\n",
    )
    assert terse_error(plan.run(f"{EXECUTE} --throttle 9000000")) == EXISTS
    (line,) = tools.run(f"kafka-topics --describe --topic {created}").lines[1:]
    assert "\tReplicas: 3,1,2\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 1,2\t" in line

    assert execute(plan, "--additional --throttle 9000000") == [
        WARNING,
        "The inter-broker throttle limit was set to 9000000 B/s",
        f"Successfully started partition reassignment for {created}-0",
    ]
    lab.wait_for_reassignments({(created, 0): [3]})
    assert plan.succeed(VERIFY)[1] == status(f"{created}-0", "completed")
    assert rates(tools) == {}
    assert len(consume_with_confluent(lab, created, 50)) == 50


def test_a_second_reassignment_joins_the_first(
    tools: KafkaTools, lab: Lab, created: str, plan: PlanFile
):
    other = f"{created}-other"
    lab.create(other, assignment={0: [2]}, configs=SINGLE)
    held_back(plan, created, [3, 2])
    plan.write({(other, 0): [1]})
    assert terse_error(plan.run(EXECUTE)) == EXISTS
    execute(plan, "--additional")
    lab.cluster.wait_until(
        lambda admin: all(
            admin.view(broker, [other]).partition(other, 0).replicas == (1,) for broker in (1, 2, 3)
        ),
        "the second is done",
    )
    assert [each.topic for each in lab.admin.reassignments()] == [created]
    # The first one goes on: nothing is cleared.
    assert plan.succeed(VERIFY)[1:] == [status(f"{other}-0", "completed"), ""]
    plan.write({(created, 0): [3, 2]})
    assert plan.succeed(CANCEL)[0] == (
        f"Successfully cancelled partition reassignment for: {created}-0"
    )


def replicas_on(lab: Lab, broker: int, topic: str) -> list[int]:
    return [
        replica.partition
        for view in lab.admin.log_dirs(broker)
        for replica in view.replicas
        if replica.topic == topic
    ]


@pytest.mark.scenario(201)
def test_a_cancelled_reassignment_leaves_nothing(
    tools: KafkaTools, lab: Lab, created: str, plan: PlanFile
):
    held_back(plan, created, [1, 3])
    lab.cluster.wait_until(lambda _: replicas_on(lab, 3, created) == [0], "the replica is there")
    assert lab.admin.reassignments()[0].replicas == (1, 3, 2)

    assert plan.run(f"{CANCEL} --preserve-throttles") == Printed(
        0, f"Successfully cancelled partition reassignment for: {created}-0\n{NOT_MOVING}"
    )
    assert rates(tools) == ONE_BYTE
    assert lab.partition(created).replicas == (1, 2)
    lab.cluster.wait_until(lambda _: replicas_on(lab, 3, created) == [], "the replica is gone")

    assert plan.run(CANCEL) == Printed(
        0,
        "None of the specified partition reassignments are active.\n"
        f"{NOT_MOVING}{CLEARING}\nClearing topic-level throttles on topic {created}\n",
    )
    assert rates(tools) == {}
    assert throttled_replicas(tools, created) == (None, None)


def test_a_reassignment_that_only_adds_is_cancelled_from_4_1_on(
    tools: KafkaTools, lab: Lab, created: str, plan: PlanFile
):
    held_back(plan, created, [1, 2, 3])
    cancelled = plan.succeed(CANCEL)[0]
    if tools.release.startswith("3."):
        assert cancelled == "None of the specified partition reassignments are active."
        try:
            lab.admin.reassign({(created, 0): None})
        except KafkaError as error:
            # It may have ended by itself. Who throttles is answered after 2 s at most, so a broker
            # that hears of it later (on a machine with no time) sends everything at once; and a
            # byte per second lets a batch through every 11 s, as in Kafka, so that five take 44 s.
            assert error.code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS  # noqa: PT017 - may not come
    else:
        assert cancelled == f"Successfully cancelled partition reassignment for: {created}-0"
    assert lab.admin.reassignments() == []


def test_a_plan_that_changes_nothing_raises_the_leader_epoch(
    lab: Lab, created: str, plan: PlanFile
):
    before = lab.partition(created)
    plan.write({(created, 0): [1, 2]})
    assert execute(plan) == [f"Successfully started partition reassignment for {created}-0"]
    lab.cluster.wait_until(
        lambda admin: (
            admin.any_view([created]).partition(created, 0).leader_epoch > before.leader_epoch
        ),
        "brokers know of a higher leader epoch, as Kafka's do",
        DEADLINE_MS,
    )
    lab.wait_for_reassignments({(created, 0): [1, 2]})
    after = lab.partition(created)
    assert (after.leader, after.replicas, after.isr) == (before.leader, (1, 2), before.isr)


@pytest.mark.parametrize(("target", "is_taken"), [([3, 1], True), ([1], False), ([1, 2, 3], False)])
def test_the_number_of_replicas_may_be_held_fast(
    tools: KafkaTools,
    lab: Lab,
    created: str,
    plan: PlanFile,
    target: list[int],
    *,
    is_taken: bool,
):
    if tools.release.startswith("3."):
        pytest.skip("the option came with 4.1")
    plan.write({(created, 0): target})
    options = "--disallow-replication-factor-change"
    if is_taken:
        assert execute(plan, options) == [
            f"Successfully started partition reassignment for {created}-0"
        ]
        lab.wait_for_reassignments({(created, 0): target})
        return
    assert terse_error(plan.run(f"{EXECUTE} {options}")).endswith(
        f"Error reassigning partition(s):\n{created}-0: "
        f"The replication factor is changed from 2 to {len(target)}"
    )
    assert lab.partition(created).replicas == (1, 2)


def test_a_rate_of_zero_is_accepted(tools: KafkaTools, lab: Lab, created: str, plan: PlanFile):
    plan.write({(created, 0): [1, 2]})
    shown = execute(plan, "--throttle 0")
    assert shown[1] == "The inter-broker throttle limit was set to 0 B/s"
    lab.wait_for_reassignments({(created, 0): [1, 2]})
    assert plan.succeed(VERIFY)[3] == CLEARING
