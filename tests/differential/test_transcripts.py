"""Each story that was recorded with Apache Kafka 3.9.2, played here, compared request by request.

What each broker was told must be the same in the same order, and what Kafka's own tools print must
be the same line by line. Where it is meant to differ the test says how.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from benchmarks.peer.kafka import PeerMissingError
from tests.differential.lab import DifferentialLab, differential_lab
from tests.differential.printed import comparable, future_replicas
from tests.differential.story import Chapter, Story
from tests.differential.told import Request, last_rows, rows, transcript
from tests.kafka_tools.tools import KafkaTools

OURS = Path(__file__).with_name("controller_failover.json")
"""What our new controller tells broker 2 in chapter 19."""
BUILD = Path(__file__).parents[2] / "build"
pytestmark = pytest.mark.integration


class Played:
    """The whole story once told, and where it was told."""

    def __init__(self, lab: DifferentialLab, story: Story) -> None:
        self._data = lab.folder / "data"
        self._story = story

    def __getitem__(self, name: str) -> Chapter:
        return self._story.chapters[name]

    def check(self, name: str) -> None:
        """Compare a whole chapter."""
        for broker_id, recorded in transcript(name).requests.items():
            assert self[name].requests[broker_id] == recorded, f"broker {broker_id}"
        self.check_printed(name)

    def check_printed(self, name: str) -> None:
        """Compare what the tools printed."""
        tools = transcript(name).tools
        assert list(self[name].printed) == [key for key in tools if key in self[name].printed]
        for key, runs in tools.items():
            printed = self[name].printed[key]
            assert [run.code for run in printed] == [run.code for run in runs]
            assert [run.err for run in printed] == [""] * len(runs)
            for run, recorded in zip(printed, runs, strict=True):
                assert comparable(run.lines, self._data) == comparable(recorded.out)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Generator[Played]:
    folder = tmp_path_factory.mktemp("differential")
    with differential_lab(folder) as lab:
        try:
            tools = KafkaTools("3.9.2", BUILD, tmp_path_factory.mktemp("tools"), lab.bootstrap)
        except PeerMissingError as error:
            pytest.skip(str(error))
        story = Story(lab, tools)
        try:
            story.tell()
        finally:
            tools.close()
        yield Played(lab, story)


def test_01_start(played: Played) -> None:
    played.check("01-start")


def test_02_create_topic_rf3(played: Played) -> None:
    played.check("02-create-topic-rf3")


def test_03_produce(played: Played) -> None:
    played.check("03-produce")


def test_04_describe_log_dirs(played: Played) -> None:
    played.check("04-describe-log-dirs")


def test_05_move_within_broker(played: Played) -> None:
    played.check("05-move-within-broker")


def test_06_move_with_throttle_describe_future(played: Played) -> None:
    name = "06-move-with-throttle-describe-future"
    played.check(name)
    ((size_bytes, offset_lag),) = future_replicas(played[name].printed["describe_during"][0].lines)
    # A batch of 14 records, then three of 988, then one of 36: moved one by one.
    assert (size_bytes, offset_lag) in [(1615 + n * 999_853, 3000 - n * 988) for n in range(4)]
    *others, future = sorted(played[name].dirs, key=lambda each: each.endswith("-future"))
    assert others == ["t-0", "t-3"]
    assert future.startswith("t-1.")


def test_07_reassign_between_brokers(played: Played) -> None:
    """Here the throttles stay until ``--verify``, as set: else they go with the reassignment."""
    played.check("07-reassign-between-brokers")


def test_08_new_partitions(played: Played) -> None:
    played.check("08-new-partitions")


def test_09_delete_topic(played: Played) -> None:
    played.check("09-delete-topic")
    deleted, *others = played["09-delete-topic"].dirs
    assert others == ["t-0", "t-3"]
    assert deleted.startswith("m-0.")
    assert deleted.endswith("-delete")


def test_10_dir_failure(played: Played) -> None:
    played.check("10-dir-failure")


def test_11_create_topic_with_dir_offline(played: Played) -> None:
    played.check("11-create-topic-with-dir-offline")


def test_12_alter_to_offline_dir(played: Played) -> None:
    played.check("12-alter-to-offline-dir")


def test_13_dir_repaired_restart(played: Played) -> None:
    """Kafka's controller was broker 1; here it is a process that is restarted beside it.

    So brokers 2 and 3 are told that broker 1 left by the old controller, too. Broker 1 is told to
    stop what it follows twice, as by Kafka, whose broker does not always answer the second time.
    Which partitions come back into their Isr together depends on when their followers fetch. The
    first that a new controller says names all partitions as they are, where Kafka's names brokers
    only: see docs/differences.md.
    """
    name = "13-dir-repaired-restart"
    recorded = transcript(name).requests
    for broker_id in (2, 3):
        kafka, ours = recorded[broker_id], played[name].requests[broker_id]
        shut_down, live, whole, back = kafka[:4], kafka[4:5], kafka[5:7], kafka[7:11]
        named = [{**live[0], "partitions": whole[1]["partitions"]}]
        by_old = [{**each, "controllerEpoch": 1} for each in whole]
        assert ours[:13] == [*shut_down, *by_old, *named, *whole, *back]
        assert rows(ours[13:]) == rows(kafka[11:])
    kafka, ours = recorded[1], played[name].requests[1]
    leaves, stops = kafka[:4], kafka[2]
    returns = kafka[5:] if kafka[4] == stops else kafka[4:]
    assert stops["api"] == "StopReplica"
    assert ours[:8] == [*leaves, stops, *returns[:3]]
    assert rows(ours[8:]) == rows(returns[3:])
    played.check_printed(name)


def test_14_preferred_election(played: Played) -> None:
    played.check("14-preferred-election")


def test_17_all_dirs_fail(played: Played) -> None:
    """Kafka's tool was asked before ZooKeeper's session of broker 3 ended, ours afterwards."""
    name = "17-all-dirs-fail"
    assert played[name].exit_code == transcript(name).other["exit_code"]
    for broker_id, recorded in transcript(name).requests.items():
        assert played[name].requests[broker_id] == recorded, f"broker {broker_id}"
    before = transcript(name).tools["topics"][0].out
    after = [re.sub(r"(?<=\tIsr: )\S+", "1,2", line) for line in before]
    assert comparable(played[name].printed["topics"][0].lines) == comparable(after)


def test_19_controller_failover(played: Played) -> None:
    """The end is Kafka's; the way differs, see docs/differences.md, and is ours request by request.

    A broker that died with the old controller has a session at the new one, and no replica on a
    bad log dir is elected, nor stopped, before its broker was asked: s-0, which has no other
    replica, is as it was, where Kafka elects broker 2 and takes it back.
    """
    name = "19-controller-failover"
    kafka, ours = transcript(name).requests[2], played[name].requests[2]
    ends_at, ends = last_rows(kafka), last_rows(ours)
    assert 2 in _leaders_of_s(kafka)
    assert _of("StopReplica", kafka)
    assert ends.pop("s-0") == [-1, 0, [2], 0, 0, [2], [2]]
    assert ends_at.pop("s-0") == [-1, 2, [2], 2, 1, [2], [2]]
    assert ends == ends_at
    assert ours == json.loads(OURS.read_text(encoding="utf-8"))


def _of(api: str, requests: list[Request]) -> list[Request]:
    return [request for request in requests if request["api"] == api]


def _leaders_of_s(requests: list[Request]) -> list[int]:
    told = [*_of("LeaderAndIsr", requests), *_of("UpdateMetadata", requests)]
    return [each["partitions"]["s-0"][0] for each in told if "s-0" in each["partitions"]]
