"""Plays the recorded stories on a cluster, one after the other as they were recorded.

A chapter bears the name of its transcript. Between chapters the story goes on untold where the
recording has gaps. Nothing is judged here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from jbodlab.asking.admin import ClusterAdmin
from tests.differential.story_lab import BROKER_IDS, StoryLab
from tests.differential.tap import Told
from tests.differential.told import (
    Epochs,
    Request,
    Transcript,
    last_leaders,
    newest_epochs,
    normal,
    transcript,
)
from tests.kafka_tools.tools import KafkaTools, Printed

_T: Final = {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2), 3: (1, 3, 2)}
_TOLD_OTHERWISE: Final = ("13-dir-repaired-restart", "19-controller-failover")
"""Chapters with other numbers of requests; they wait for what they need."""


@dataclass(slots=True)
class Chapter:
    """What happened in one."""

    requests: dict[int, list[Request]] = field(default_factory=dict[int, list[Request]])
    printed: dict[str, list[Printed]] = field(default_factory=dict[str, list[Printed]])
    dirs: list[str] = field(default_factory=list[str])
    exit_code: int | None = None


class Story:
    """All chapters, once told."""

    def __init__(self, lab: StoryLab, tools: KafkaTools) -> None:
        self._lab = lab
        self._tools = tools
        self._chapter = Chapter()
        self._recorded = Transcript({}, {}, [], {})
        self._told_before = dict.fromkeys(BROKER_IDS, 0)
        self._epochs = Epochs()
        self.chapters: dict[str, Chapter] = {}

    def tell(self) -> None:
        """Play everything; the order is that of the recording."""
        for name, play in self._plays().items():
            self._begin(name)
            play()
            self._end(name)

    def _plays(self) -> dict[str, Callable[[], None]]:
        return {
            "01-start": self._lab.start_one_by_one,
            "02-create-topic-rf3": self._create_topic,
            "03-produce": self._produce,
            "04-describe-log-dirs": self._describe,
            "05-move-within-broker": self._move,
            "06-move-with-throttle-describe-future": self._move_slowly,
            "07-reassign-between-brokers": self._reassign,
            "08-new-partitions": self._add_partitions,
            "09-delete-topic": self._delete_topic,
            "10-dir-failure": self._break_log_dir,
            "11-create-topic-with-dir-offline": self._create_with_log_dir_offline,
            "12-alter-to-offline-dir": self._alter_to_offline_log_dir,
            "13-dir-repaired-restart": self._repair_and_restart,
            "14-preferred-election": self._elect_preferred,
            "17-all-dirs-fail": self._lose_all_log_dirs,
            "19-controller-failover": self._replace_controller,
        }

    # The chapters.

    def _create_topic(self) -> None:
        self._place("b1/d1", "t-0", "t-1")
        self._place("b1/d2", "t-2", "t-3")
        for number in (2, 3):
            self._place(f"b{number}/d1", "t-1", "t-2")
            self._place(f"b{number}/d2", "t-0", "t-3")
        self._lab.create("t", _T)
        self._show_topic()

    def _produce(self) -> None:
        for number, count, size_bytes in ((2, 14, 1615), (0, 7, 838), (1, 14, 1615), (3, 15, 1726)):
            self._lab.produce(f"t-{number}", count, size_bytes)
        self._wait_for_followers()

    def _move(self) -> None:
        self._run("reassign")
        self._lab.wait_for_replica("b1/d2", "t-0")
        self._run("reassign")
        self._describe()

    def _move_slowly(self) -> None:
        for count, size_bytes in ((988, 999_853), (988, 999_853), (988, 999_853), (36, 36_457)):
            self._lab.produce("t-1", count, size_bytes)
        self._wait_for_followers()
        self._run("reassign")
        self._lab.wait_until(
            lambda _: any(
                replica.is_future and replica.size_bytes
                for view in self._lab.log_dirs(2)
                for replica in view.replicas
            ),
            "the future replica has records",
        )
        self._describe("describe_during")
        self._chapter.dirs = self._listing("b2/d2")
        self._run("reassign")
        self._lab.wait_for_replica("b2/d2", "t-1")
        self._run("reassign")
        self._describe()

    def _reassign(self) -> None:
        self._place("b3/d1", "m-0")
        self._lab.create("m", {0: (1,)})
        for count, size_bytes in ((988, 999_853), (988, 999_853), (24, 24_325)):
            self._lab.produce("m-0", count, size_bytes)
        self._run("reassign")
        self._run("list")
        self._lab.wait_until(lambda admin: not admin.reassignments(), "the reassignment is over")
        self._lab.wait_for_replica("b3/d2", "m-0")
        self._wait_for_requests()
        self._show_topic()
        self._run("reassign")
        self._show_topic("topics_after")

    def _add_partitions(self) -> None:
        for broker_id in BROKER_IDS:
            self._place(f"b{broker_id}/d1", "t-4", "t-5")
        self._lab.add_partitions("t", 6)

    def _delete_topic(self) -> None:
        self._lab.admin.delete_topic("m")
        self._wait_for_requests()
        self._chapter.dirs = self._listing("b3/d2")

    def _break_log_dir(self) -> None:
        self._lab.break_log_dir("b1/d1")
        self._wait_for_requests()
        for _ in range(16):
            for number in range(6):
                self._lab.produce(f"t-{number}", 10, 1171)
        self._wait_for_followers()
        self._describe()
        self._show_topic()

    def _create_with_log_dir_offline(self) -> None:
        self._place("b1/d2", "n-0", "n-1")
        self._place("b2/d1", "n-1")
        self._place("b2/d2", "n-0")
        self._place("b3/d2", "n-0", "n-1")
        self._lab.create("n", {0: (1, 2, 3), 1: (2, 1, 3)})
        self._show_topic()
        self._lab.produce("n-1", 29, 3280)
        self._lab.produce("n-0", 21, 2392)
        self._wait_for_followers()

    def _alter_to_offline_log_dir(self) -> None:
        for _ in self._recorded.tools["reassign"]:
            self._run("reassign")

    def _repair_and_restart(self) -> None:
        self._lab.repair_log_dir("b1/d1")
        self._lab.stop_broker(1)
        self._lab.wait_until(
            lambda admin: 1 not in admin.view(2, []).broker_ids, "broker 1 is gone"
        )
        self._lab.replace_controller()
        self._wait_until_told(lambda now: len(now[2]) >= self._lab.told_before_return)
        self._lab.start_broker(1)
        self._wait_for_isr("t", "n")
        self._describe()
        self._show_topic()

    def _elect_preferred(self) -> None:
        self._run("tool")
        self._show_topic()

    def _lose_all_log_dirs(self) -> None:
        self._lab.break_log_dir("b3/d1")
        self._chapter.exit_code = self._lab.exit_code(3)
        if self._lab.misses_at_once:
            self._wait_for_requests()
        self._show_topic()

    def _replace_controller(self) -> None:
        self._lab.kill_controller_and_broker(1)
        wanted = last_leaders(self._recorded.requests[2])
        self._wait_until_told(lambda now: last_leaders(now[2]) == wanted)

    # Between the chapters.

    def _before_all_log_dirs_fail(self) -> None:
        """Not recorded: brokers 3 and 2 restarted, and the second log dir of broker 3 broken."""
        for broker_id in (3, 2):
            self._lab.restart_broker(broker_id)
            self._wait_for_isr("t", "n")
        self._lab.give_control_to_broker_1()
        self._wait_for_isr("t", "n")
        for number in (1, 4):
            self._tools.run(
                f"kafka-leader-election --election-type preferred --topic t --partition {number}"
            )
        self._lab.break_log_dir("b3/d2")
        for broker_id in (1, 2):
            self._lab.wait_until(
                lambda admin, by=broker_id: all(
                    3 in admin.view(by, [topic]).partition(topic, number).offline_replicas
                    for topic, number in (("t", 0), ("t", 3), ("n", 0), ("n", 1))
                ),
                "the log dir is known to be offline",
            )
        self._wait_until_told(lambda now: now[3][-1]["api"] == "StopReplica")

    def _before_controller_fails(self) -> None:
        """Not recorded: topic s on broker 2, whose first log dir breaks then."""
        self._place("b2/d1", "s-0")
        self._lab.create("s", {0: (2,)})
        self._lab.break_log_dir("b2/d1")
        self._lab.wait_until(
            lambda admin: admin.view(1, ["s"]).partition("s", 0).leader == -1, "s-0 is offline"
        )
        self._wait_until_told(lambda now: now[2][-1]["api"] == "StopReplica")

    # Steps.

    def _begin(self, name: str) -> None:
        between = {
            "17-all-dirs-fail": self._before_all_log_dirs_fail,
            "19-controller-failover": self._before_controller_fails,
        }.get(name)
        if between is not None:
            between()
            told = self._lab.told()
            self._told_before = {broker_id: len(each) for broker_id, each in told.items()}
            self._epochs = newest_epochs(itertools.chain.from_iterable(told.values()))
        self._recorded = transcript(name)
        self._chapter = self.chapters[name] = Chapter()

    def _end(self, name: str) -> None:
        if self._lab.tells_as_recorded or name not in _TOLD_OTHERWISE:
            self._wait_for_requests()
        told = self._lab.told()
        self._chapter.requests = self._since(told)
        self._told_before = {broker_id: len(each) for broker_id, each in told.items()}

    def _wait_for_requests(self) -> None:
        """Wait for as many requests as were recorded; what differs is for the tests to say."""
        counts = {broker_id: len(each) for broker_id, each in self._recorded.requests.items()}
        self._wait_until_told(
            lambda now: all(len(now[broker_id]) >= counts[broker_id] for broker_id in BROKER_IDS)
        )

    def _wait_until_told(self, condition: Callable[[dict[int, list[Request]]], bool]) -> None:
        self._lab.wait_for(lambda: condition(self._since(self._lab.told())), self._lab.quiet_s)

    def _since(self, told: dict[int, list[Told]]) -> dict[int, list[Request]]:
        return {
            broker_id: normal(told[broker_id][self._told_before[broker_id] :], self._epochs)
            for broker_id in BROKER_IDS
        }

    def _run(self, key: str) -> None:
        """Run the next command that was recorded under this name."""
        printed = self._chapter.printed.setdefault(key, [])
        command = self._recorded.tools[key][len(printed)].command
        if "PLAN" in command:
            file = self._lab.folder / "plan.json"
            plan = json.dumps(self._recorded.plans[len(printed)])
            file.write_text(plan.replace("DATA", str(self._lab.folder / "data")))
            command = command.replace("PLAN", str(file))
        printed.append(self._tools.run(command))

    def _describe(self, key: str = "describe") -> None:
        self._run(key)

    def _show_topic(self, key: str = "topics") -> None:
        self._run(key)

    def _place(self, log_dir: str, *partitions: str) -> None:
        self._lab.place(log_dir, *partitions)

    def _listing(self, log_dir: str) -> list[str]:
        return sorted(path.name for path in self._lab.log_dir(log_dir).iterdir() if path.is_dir())

    def _wait_for_followers(self) -> None:
        def have_all(_: ClusterAdmin) -> bool:
            sizes: dict[tuple[str, int], set[int]] = {}
            for broker_id in BROKER_IDS:
                for view in self._lab.log_dirs(broker_id):
                    for replica in view.replicas:
                        key = (replica.topic, replica.partition)
                        sizes.setdefault(key, set()).add(replica.size_bytes)
            return all(len(each) == 1 for each in sizes.values())

        self._lab.wait_until(have_all, "every replica has every record")

    def _wait_for_isr(self, *topics: str) -> None:
        def are_in_sync(admin: ClusterAdmin) -> bool:
            views = [admin.view(broker_id, topics) for broker_id in BROKER_IDS]
            return all(
                len(each.isr) == len(each.replicas) for view in views for each in view.partitions
            )

        self._lab.wait_until(are_in_sync, "every replica is in its Isr")
