"""kafka-consumer-groups beside ours about all groups, and each way of resetting offsets.

By the tools of either release, on a jbodlab and on a real Apache Kafka 4.3.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.peer.kafka import PeerMissingError
from tests.conformance.apache import apache_cluster
from tests.deadlines import DEADLINE_S
from tests.integration.labs import Lab
from tests.kafka_tools.both import Both
from tests.kafka_tools.conftest import BUILD
from tests.kafka_tools.tools import RELEASES, KafkaTools, Printed

TOOL: Final = "kafka-consumer-groups"
CLASSIC, KIP_848, WITHOUT_MEMBERS = "of-classic", "of-kip-848", "of-nobody"
GROUPS: Final = (CLASSIC, KIP_848, WITHOUT_MEMBERS)
VIEWS: Final = ("", "--offsets", "--members", "--members --verbose", "--state", "--state --verbose")
HOUR_MS: Final = 3_600_000

of_kafka = pytest.mark.sampled_among("groups of three brokers of Kafka 4.3", kept=0)
beside_kafka = pytest.mark.sampled_among("groups beside Kafka's tools", kept=2)
Row = dict[str, str]


class Records(NamedTuple):
    """A topic of two partitions, whose records were written an hour after one another."""

    topic: str
    now_ms: int
    """An hour after the last."""


@pytest.fixture(
    scope="module",
    params=[
        *(("jbodlab", each) for each in RELEASES),
        pytest.param(("kafka", "4.3.1"), marks=of_kafka),
    ],
    ids="-".join,
)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Both]:
    """A cluster with both sets of tools."""
    cluster, release = request.param
    folder = tmp_path_factory.mktemp("group-commands")
    try:
        if cluster == "jbodlab":
            lab: Lab = request.getfixturevalue("lab")
            yield from _on(KafkaTools(release, BUILD, folder, ",".join(lab.servers)), folder)
            return
        with apache_cluster("kafka-4.3", folder / "kafka") as server:
            yield from _on(KafkaTools(release, BUILD, folder, server), folder)
    except PeerMissingError as error:
        pytest.skip(str(error))


def _on(tools: KafkaTools, folder: Path) -> Generator[Both]:
    yield Both(tools, lambda _broker: [], folder)
    tools.close()


@pytest.fixture(scope="module")
def records(both: Both) -> Records:
    """Ten records in the first partition, four in the second."""
    topic = f"hourly-{both.java.release}"
    create = f"kafka-topics --create --topic {topic} --partitions 2 --replication-factor 3"
    assert both.ours(create).code == 0
    now_ms = time.time_ns() // 1_000_000
    client = Producer({"bootstrap.servers": both.java.bootstrap})
    for partition, count in ((0, 10), (1, 4)):
        for hour in range(count):
            at_ms = now_ms - (10 - hour) * HOUR_MS
            client.produce(topic, b"v", partition=partition, timestamp=at_ms)
    assert client.flush(DEADLINE_S) == 0
    return Records(topic, now_ms)


@pytest.fixture(scope="module")
def groups(both: Both, records: Records) -> Generator[tuple[str, ...]]:
    """A classic group and one of KIP-848, each of two members, and one without; their names."""
    names = tuple(f"{name}-{both.java.release}" for name in GROUPS)
    members = [*_members(both, records, names[0], "classic")]
    members += _members(both, records, names[1], "consumer")
    begin = f"--group {names[2]} --topic {records.topic} --to-offset 1 --execute"
    planned(both.ours(f"{TOOL} --reset-offsets {begin}"))
    yield names
    for each in members:
        each.close()


def _members(both: Both, records: Records, group: str, protocol: str) -> list[Any]:
    """Have two members share the topic; each commits one record of its partition."""
    names = [{"group.instance.id": f"{protocol}-{number}"} for number in (1, 2)]
    members: list[Any] = [_member(both, group, protocol, **more) for more in names]
    for each in members:
        each.subscribe([records.topic])
    _share(members, records.topic)
    return members


def _member(both: Both, group: str, protocol: str, **more: str) -> Any:
    settings = {
        "bootstrap.servers": both.java.bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "client.id": "reader",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    return Consumer({**settings, **more})


def _share(members: list[Any], topic: str) -> None:
    """Wait until the members share both partitions; then one record of each is committed."""
    end = time.monotonic() + DEADLINE_S
    while [len(each.assignment()) for each in members] != [2 // len(members)] * len(members):
        assert time.monotonic() < end, f"the members share nothing of {topic}"
        for each in members:
            each.poll(0.1)
    for each in members:
        own = [one.partition for one in each.assignment()]
        places = [TopicPartition(topic, number, 1, leader_epoch=0) for number in own]
        each.commit(offsets=places, asynchronous=False)


def tables(printed: Printed, names: tuple[str, ...]) -> dict[str, list[Row]]:
    """Return what is printed of some groups: rows by the names of their columns."""
    assert printed.code == 0, printed
    found: dict[str, list[Row]] = {}
    columns: list[tuple[str, int, int | None]] = []
    for line in printed.lines:
        if line.startswith("GROUP "):
            heads = [*re.finditer(r"\S+( \(ID\))?", line)]
            ends = [*(head.start() for head in heads[1:]), None]
            columns = [
                (one.group(), one.start(), end) for one, end in zip(heads, ends, strict=True)
            ]
        elif line.partition(" ")[0] in names:
            row = {name: line[start:end].strip() for name, start, end in columns}
            found.setdefault(row["GROUP"], []).append(row)
    return {name: sorted(rows, key=lambda row: [*row.values()][:3]) for name, rows in found.items()}


def shared(one: dict[str, list[Row]], other: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the columns that both have; 4.x has a sign for what is empty."""
    return {
        name: [{key: row[key] or "-" for key in row if key in other[name][0]} for row in rows]
        for name, rows in one.items()
    }


def planned(printed: Printed) -> list[list[str]]:
    """Return the rows of a reset: group, topic, partition, offset."""
    assert printed.code == 0, printed
    words = printed.out.partition("NEW-OFFSET")[2].split()  # 3.9 has all rows in one line.
    return sorted(words[at : at + 4] for at in range(0, len(words), 4))


def exported(printed: Printed) -> list[str]:
    """Return the lines of a file for --from-file."""
    assert printed.code == 0, printed
    return sorted(line for line in printed.lines if re.fullmatch(r"\S+(,\d+){2}", line))


def committed(both: Both, group: str) -> list[str]:
    """Return a group's offsets, as both sets of tools tell them."""
    found = [
        [
            row["CURRENT-OFFSET"]
            for row in tables(run(f"{TOOL} --describe --group {group}"), (group,))[group]
        ]
        for run in (both.ours, both.java.run)
    ]
    assert found[0] == found[1]
    return found[0]


@beside_kafka
@pytest.mark.parametrize("scope", ["all", "named"])
def test_groups_are_described_alike(both: Both, groups: tuple[str, ...], scope: str):
    of_groups = " ".join(f"--group {name}" for name in groups)
    for view in VIEWS:
        command = f"{TOOL} --describe {'--all-groups' if scope == 'all' else of_groups} {view}"
        ours, java = (tables(run(command), groups) for run in (both.ours, both.java.run))
        assert ours.keys() == {*(groups[:2] if "--members" in view else groups)}, command
        assert shared(ours, java) == shared(java, ours), command
        counts = {name: len(rows) for name, rows in ours.items()}
        assert set(counts.values()) == {1 if "--state" in view else 2}, command
        if both.java.release.startswith("3."):
            assert ours == java, command


@beside_kafka
def test_epochs_of_a_group_of_kip_848_are_those_of_kafka(
    both: Both, records: Records, groups: tuple[str, ...]
):
    if both.java.release.startswith("3."):
        pytest.skip("kafka-consumer-groups shows epochs since 4.0")
    describe = f"{TOOL} --describe --group {groups[1]} --verbose"
    (state,) = tables(both.java.run(f"{describe} --state"), groups)[groups[1]]
    assert (state["ASSIGNMENT-STRATEGY"], state["STATE"], state["#MEMBERS"]) == (
        "uniform",
        "Stable",
        "2",
    )
    # Two for each member: its first heartbeat, and its subscription.
    assert (state["GROUP-EPOCH"], state["TARGET-ASSIGNMENT-EPOCH"]) == ("3", "3")
    members = tables(both.java.run(f"{describe} --members"), groups)[groups[1]]
    assert [(row["CURRENT-EPOCH"], row["TARGET-EPOCH"]) for row in members] == [("3", "3")] * 2
    assignments = sorted(row["CURRENT-ASSIGNMENT"] for row in members)
    assert assignments == [f"{records.topic}:{partition}" for partition in (0, 1)]
    assert assignments == sorted(row["TARGET-ASSIGNMENT"] for row in members)
    offsets = tables(both.java.run(f"{describe} --offsets"), groups)[groups[1]]
    assert [row["LEADER-EPOCH"] for row in offsets] == ["0", "0"]


@beside_kafka
def test_a_group_of_kip_848_is_changed_when_its_members_are_gone(both: Both, records: Records):
    """By both tools: refused while a member is there, done afterwards."""
    group, topic = f"alive-{both.java.release}", records.topic
    reset = f"{TOOL} --reset-offsets --group {group} --topic {topic} --to-latest --execute"
    delete_offsets = f"{TOOL} --delete-offsets --group {group} --topic {topic}:1"
    member = _member(both, group, "consumer")
    try:
        member.subscribe([topic])
        _share([member], topic)
        for run in (both.ours, both.java.run):
            for command, text in (
                (reset, f"if the group '{group}' is inactive, but the current state is Stable."),
                (
                    delete_offsets,
                    "forbidden while the consumer group is actively subscribed to it.",
                ),
                (f"{TOOL} --delete --group {group}", "The group is not empty."),
            ):
                printed = run(command)
                assert text in printed.out + printed.err, (command, printed)
        assert committed(both, group) == ["1", "1"]
    finally:
        member.close()
    for run in (both.ours, both.java.run):
        both.until(f"{TOOL} --describe --group {group} --state", "Empty")
        assert [row[3] for row in planned(run(reset))] == ["10", "4"]
        assert run(delete_offsets).code == 0
        assert committed(both, group) == ["10"]
    assert both.java.run(f"{TOOL} --delete --group {group}").code == 0
    assert group not in both.ours(f"{TOOL} --list").lines


@beside_kafka
@pytest.mark.parametrize(
    ("to", "offsets"),
    [
        ("--to-earliest", [0, 0]),
        ("--to-latest", [10, 4]),
        ("--to-current", [2, 2]),
        ("--to-offset 5", [5, 4]),
        ("--shift-by 3", [5, 4]),
        ("--shift-by -3", [0, 0]),
        ("--to-datetime THEN", [5, 4]),
        ("--by-duration PT4H30M", [6, 4]),
        ("--by-duration P1D", [0, 0]),
        ("--from-file FILE", [7, 4]),
    ],
)
def test_offsets_are_reset_alike(both: Both, records: Records, to: str, offsets: list[int]):
    """Shown, exported and set, by each of the tools; the second partition ends at 4."""
    group, topic = f"reset-{both.java.release}", records.topic
    then = datetime.fromtimestamp((records.now_ms - 5.5 * HOUR_MS) / 1000, UTC)
    to = to.replace("THEN", f"{then:%Y-%m-%dT%H:%M:%S}.000Z")
    to = to.replace("FILE", both.write(f"{topic},0,7\n{topic},1,99\n"))
    where = f"--group {group} {'' if 'file' in to else f'--topic {topic}'}"
    rows = [[group, topic, str(number), str(offset)] for number, offset in enumerate(offsets)]
    for run in (both.ours, both.java.run):
        both.ours(f"{TOOL} --reset-offsets --group {group} --topic {topic} --to-offset 2 --execute")
        assert planned(run(f"{TOOL} --reset-offsets {where} {to} --dry-run")) == rows
        lines = exported(run(f"{TOOL} --reset-offsets {where} {to} --dry-run --export"))
        assert lines == [",".join(row[1:]) for row in rows]
        assert committed(both, group) == ["2", "2"]
        assert planned(run(f"{TOOL} --reset-offsets {where} {to} --execute")) == rows
        assert committed(both, group) == [str(offset) for offset in offsets]


@beside_kafka
def test_offsets_of_several_groups_are_exported_and_set_from_the_file(both: Both, records: Records):
    topic = records.topic
    names = tuple(f"moved-{number}-{both.java.release}" for number in (1, 2))
    for number, name in enumerate(names):
        begin = f"--group {name} --topic {topic} --to-offset {number} --execute"
        planned(both.ours(f"{TOOL} --reset-offsets {begin}"))
    of_groups = " ".join(f"--group {name}" for name in names)
    command = f"{TOOL} --reset-offsets {of_groups} --all-topics"
    lines = [f"{name},{topic},{part},{at + 1}" for at, name in enumerate(names) for part in (0, 1)]
    for run, other in ((both.ours, both.java.run), (both.java.run, both.ours)):
        printed = run(f"{command} --shift-by 1 --export --dry-run")
        assert sorted(line for line in printed.lines if line) == lines
        file = both.write(printed.out)
        found = planned(other(f"{TOOL} --reset-offsets {of_groups} --from-file {file} --dry-run"))
        assert found == [line.split(",") for line in lines]
    planned(both.ours(f"{TOOL} --reset-offsets {of_groups} --from-file {file} --execute"))
    assert [committed(both, name) for name in names] == [["1", "1"], ["2", "2"]]
