"""kafka-reassign-partitions between log dirs: moves, their throttle, cancels, failures."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from jbodlab.asking.admin import ClusterAdmin
from tests.integration.labs import Lab, consume_with_confluent, produce_with_confluent
from tests.kafka_tools.faults import offline
from tests.kafka_tools.plans import CANCEL, EXECUTE, VERIFY, PlanFile, error, terse_error
from tests.kafka_tools.tools import KafkaTools, Printed

SINGLE = {"min.insync.replicas": "1"}
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
WARNING = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
    "throttle is removed."
)
NOT_MOVING = "None of the specified partition moves are active."
NOT_REASSIGNED = "None of the specified partition reassignments are active."
NO_LIVE_DIR = (
    "Partition {0}-0 is not found in any live log dir on broker {1}. "
    "There is likely an offline log directory on the broker."
)


class Place:
    """A partition and the log dirs of its replica on broker 1."""

    def __init__(self, lab: Lab, topic: str) -> None:
        self.topic = topic
        self.paths = [view.path for view in lab.admin.log_dirs(1)]
        self.source = lab.log_dir_of(1, topic).path
        self.target, self.third = (path for path in self.paths if path != self.source)

    def plan(self, path: str) -> dict[tuple[str, int], dict[int, str]]:
        """Return the plan that moves the replica on broker 1."""
        return {(self.topic, 0): {1: path, 2: "any"}}

    def moving(self, text: str) -> list[str]:
        """Return what a verification prints, the last line aside."""
        return [
            "Status of partition reassignment:",
            f"Reassignment of partition {self.topic}-0 is completed.",
            text,
        ]

    def replica(self, text: str) -> str:
        return f"Reassignment of replica {self.topic}-0-1 {text}."

    def started(self, path: str) -> str:
        # The tool leaves a blank at the end.
        return (
            f"Successfully started moving log directory to {path} for replica {self.topic}-0 "
            "with broker 1 "
        )


@pytest.fixture
def place(lab: Lab, topic: str) -> Place:
    """A partition on brokers 1 and 2 with 70 records in batches of 10."""
    lab.create(topic, assignment={0: [1, 2]}, configs=SINGLE)
    values = [bytes(1000)] * 70
    produce_with_confluent(lab, topic, values, **{"batch.num.messages": 10})
    return Place(lab, topic)


def execute(plan: PlanFile, options: str = "") -> list[str]:
    """Execute a plan; return what follows the plan that leads back."""
    return plan.succeed(f"{EXECUTE} {options}")[5:]


def move_rate(tools: KafkaTools, broker: int) -> list[str]:
    lines = tools.run(f"kafka-configs --describe --broker {broker}").lines[1:]
    return [line.split()[0].removeprefix(f"{RATE}=") for line in lines if RATE in line]


def held_back(plan: PlanFile, place: Place, path: str) -> None:
    """Begin a move that stands still after its first batch: a byte per second."""
    plan.write(place.plan(path))
    assert execute(plan, "--replica-alter-log-dirs-throttle 1") == [
        WARNING,
        "The replica-alter-dir throttle limit was set to 1 B/s",
        f"Successfully started partition reassignment for {place.topic}-0",
        place.started(path),
    ]


def test_a_replica_moves_and_moves_back(lab: Lab, place: Place, plan: PlanFile):
    plan.write(place.plan(place.target))
    assert plan.succeed(VERIFY)[:3] == place.moving(
        f"Partition {place.topic}-0 on broker 1 is not being moved from log dir {place.source} "
        f"to {place.target}."
    )
    assert execute(plan) == [
        f"Successfully started partition reassignment for {place.topic}-0",
        place.started(place.target),
    ]
    lab.wait_for_move(1, place.topic, place.target)
    assert plan.succeed(VERIFY) == [
        *place.moving(place.replica("completed successfully")),
        "Clearing broker-level throttles on brokers 1,2,3",
        f"Clearing topic-level throttles on topic {place.topic}",
    ]
    assert execute(plan)[1:] == [place.started(place.target)], "where it is already"
    assert len(consume_with_confluent(lab, place.topic, 70)) == 70


@pytest.mark.scenario(191, 192, 204)
def test_a_throttled_move_goes_on_when_the_throttle_is_taken_off(
    tools: KafkaTools, lab: Lab, place: Place, plan: PlanFile
):
    held_back(plan, place, place.target)
    assert plan.succeed(VERIFY) == place.moving(place.replica("is still in progress"))
    assert [move_rate(tools, broker) for broker in (1, 2, 3)] == [["1"], [], []]

    plan.write(place.plan(place.third))
    assert plan.succeed(VERIFY) == place.moving(
        f"Partition {place.topic}-0 on broker 1 is being moved to log dir {place.target} "
        f"instead of {place.third}."
    )
    plan.write(place.plan(place.target))

    assert tools.run(f"kafka-configs --alter --broker 1 --delete-config {RATE}").code == 0
    lab.wait_for_move(1, place.topic, place.target)
    assert plan.succeed(VERIFY)[2] == place.replica("completed successfully")
    assert len(consume_with_confluent(lab, place.topic, 70)) == 70


@pytest.mark.scenario(205)
def test_a_move_whose_throttle_is_raised_ends(
    tools: KafkaTools, lab: Lab, place: Place, plan: PlanFile
):
    held_back(plan, place, place.target)
    assert execute(plan, "--additional --replica-alter-log-dirs-throttle 3000000")[1:] == [
        "The replica-alter-dir throttle limit was set to 3000000 B/s",
        f"Successfully started partition reassignment for {place.topic}-0",
        place.started(place.target),
    ]
    lab.wait_for_move(1, place.topic, place.target)
    assert plan.succeed(VERIFY)[2] == place.replica("completed successfully")
    assert move_rate(tools, 1) == []


def test_a_cancelled_move_leaves_the_replica_where_it_was(
    tools: KafkaTools, lab: Lab, place: Place, plan: PlanFile
):
    held_back(plan, place, place.target)
    assert plan.succeed(f"{CANCEL} --preserve-throttles") == [
        NOT_REASSIGNED,
        place.started(place.source),
    ]
    lab.wait_for_move(1, place.topic, place.source)
    assert move_rate(tools, 1) == ["1"]
    assert plan.run(CANCEL) == Printed(
        0,
        f"{NOT_REASSIGNED}\n{NOT_MOVING}Clearing broker-level throttles on brokers 1,2,3\n"
        f"Clearing topic-level throttles on topic {place.topic}\n",
    )
    assert move_rate(tools, 1) == []


def test_a_move_gets_another_destination(lab: Lab, place: Place, plan: PlanFile):
    held_back(plan, place, place.target)
    plan.write(place.plan(place.third))
    assert execute(plan)[1:] == [place.started(place.third)], "moves are no reassignments"
    plan.succeed(CANCEL)
    lab.wait_for_move(1, place.topic, place.source)


@pytest.mark.scenario(209)
def test_a_replica_to_come_finds_its_log_dir(lab: Lab, place: Place, plan: PlanFile):
    path = lab.admin.log_dirs(3)[-1].path
    plan.write({(place.topic, 0): {3: path, 2: "any"}})
    assert execute(plan) == [
        f"Successfully started partition reassignment for {place.topic}-0",
        f"Successfully started moving log directory to {path} for replica {place.topic}-0 "
        "with broker 3 ",
    ]
    lab.wait_for_move(3, place.topic, path)
    lab.cluster.wait_until(lambda admin: not admin.reassignments(), "it is complete")
    assert plan.succeed(VERIFY)[2] == (
        f"Reassignment of replica {place.topic}-0-3 completed successfully."
    )


@pytest.mark.scenario(210)
@pytest.mark.parametrize("path", ["/nowhere", "relative/dir"])
def test_a_log_dir_that_is_not_there_fails_behind_the_reassignment(
    place: Place, plan: PlanFile, path: str
):
    plan.write(place.plan(path))
    printed = plan.run(EXECUTE)
    assert error(printed) == f"Failed to alter dir for {place.topic}-0-1"
    assert (
        "LogDirNotFoundException: The user-specified log directory is not found in the broker "
        "config.\n"
    ) in printed.out
    assert f"Successfully started partition reassignment for {place.topic}-0\n" in printed.out


@pytest.fixture
def broken(lab: Lab, place: Place) -> Generator[Place]:
    """The log dir of the replica on broker 1 is offline; it comes back at the end."""
    with offline(lab, 1, place.topic):
        yield place


@pytest.mark.scenario(211)
def test_a_replica_on_an_offline_log_dir_is_never_done(
    tools: KafkaTools, broken: Place, plan: PlanFile
):
    change = f"--add-config {RATE}=5000"
    assert tools.run(f"kafka-configs --alter --broker 1 {change}").code == 0
    plan.write(broken.plan(broken.target))
    assert plan.succeed(VERIFY) == broken.moving(NO_LIVE_DIR.format(broken.topic, 1))
    assert move_rate(tools, 1) == ["5000"], "throttles stay"
    plan.succeed(CANCEL)
    assert move_rate(tools, 1) == []


def test_a_move_into_or_out_of_an_offline_log_dir_fails(broken: Place, plan: PlanFile):
    for path in (broken.source, broken.target):
        plan.write(broken.plan(path))
        printed = plan.run(EXECUTE)
        assert error(printed) == f"Failed to alter dir for {broken.topic}-0-1"
        assert (
            "KafkaStorageException: Disk error when trying to access log file on the disk.\n"
        ) in printed.out


@pytest.mark.scenario(114)
@pytest.mark.kafka_bug("KAFKA-17009")
def test_a_replica_that_is_not_there_has_no_live_log_dir(lab: Lab, place: Place, plan: PlanFile):
    """Kafka's tool asks describeReplicaLogDirs, which names no log dir and throws nothing."""
    plan.write({(place.topic, 0): {1: place.source, 3: lab.admin.log_dirs(3)[0].path}})
    said = plan.succeed(VERIFY)
    assert NO_LIVE_DIR.format(place.topic, 3) in said
    assert f"Reassignment of replica {place.topic}-0-1 completed successfully." in said


def test_moves_that_cannot_begin_in_time_are_named(lab: Lab, place: Place, plan: PlanFile):
    views = lab.admin.log_dirs(3)
    plan.write({(place.topic, 0): {1: "any", 2: "any", 3: views[0].path}})
    for view in views:
        lab.control(3).fail(view.path, "slow", delay_ms=400)
    printed = plan.run(f"{EXECUTE} --timeout 0")
    for view in views:
        lab.control(3).heal(view.path)
    assert terse_error(printed).splitlines()[-1] == (
        f"Timed out before log directory move could be started for: {place.topic}-0-3"
    )
    lab.cluster.wait_until(lambda admin: not admin.reassignments(), "it is complete")
    lab.wait_for_full_isr(place.topic)


@pytest.mark.scenario(213)
def test_a_plan_that_leaves_log_dirs_open_orders_no_move(lab: Lab, place: Place, plan: PlanFile):
    plan.write({(place.topic, 0): {1: "any", 2: "any"}})
    wait_for_rows(lab)
    before = moves_ordered(lab)
    execute(plan)
    wait_for_rows(lab)
    assert moves_ordered(lab) == before

    plan.write(place.plan(place.target))
    execute(plan)
    wait_for_rows(lab)
    assert moves_ordered(lab) > before, "they are counted"
    lab.wait_for_move(1, place.topic, place.target)


def request_rows(lab: Lab) -> list[dict[str, Any]]:
    """Return what the brokers wrote about the requests that they answered."""
    folder = Path(lab.cluster.spec.metrics.dump_dir) / "request"
    texts = [file.read_text() for file in folder.rglob("*.jsonl")]
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def moves_ordered(lab: Lab) -> int:
    rows = request_rows(lab)
    return sum(row["request_count"] for row in rows if row["api"] == "AlterReplicaLogDirs")


def wait_for_rows(lab: Lab) -> None:
    """Wait until every broker has written about everything up to now."""

    def written() -> dict[int, int]:
        rows = [row for row in request_rows(lab) if row["api"] == "DescribeLogDirs"]
        return {
            broker: sum(row["request_count"] for row in rows if row["broker_id"] == broker)
            for broker in (1, 2, 3)
        }

    counts = written()

    def is_written(admin: ClusterAdmin) -> bool:
        for broker in counts:
            admin.log_dirs(broker)
        now = written()
        return all(now[broker] > counts[broker] for broker in counts)

    lab.cluster.wait_until(is_written, "the requests are written down")
