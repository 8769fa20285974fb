"""Groups of real consumers on a real cluster: processes that tests start, kill and ask."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from broker.core.coordination import partition_for
from protocol.topic_names import CONSUMER_OFFSETS
from tests.deadlines import DEADLINE_MS, DEADLINE_S
from tests.integration.labs import Lab

ROOT = Path(__file__).parents[2]
OFFSETS_PARTITIONS = 4
GROUPS = {
    "group.initial.rebalance.delay.ms": "500",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
}
"""A lab's configuration: groups begin soon."""


class Read(NamedTuple):
    """One record that a member read."""

    partition: int
    offset: int
    number: int
    at: float


@dataclass(slots=True)
class Told:
    """What one member told so far."""

    assigned: list[tuple[float, tuple[int, ...]]] = field(
        default_factory=list[tuple[float, tuple[int, ...]]]
    )
    """Each assignment with its time."""
    owned: dict[int, float] = field(default_factory=dict[int, float])
    """What it owns now, and since when."""
    reads: list[tuple[Read, float]] = field(default_factory=list[tuple[Read, float]])
    """Each with the time of the assignment under which it was read."""
    commits: list[tuple[float, dict[int, int]]] = field(
        default_factory=list[tuple[float, dict[int, int]]]
    )
    """Next offsets by partition, with when the member heard that they are committed."""


class Member:
    """A consumer of one library in a process of its own."""

    def __init__(self, library: str, lab: Lab, group: str, topic: str, instance: str = "") -> None:
        self.told = Told()
        module = "tests.integration.group_member"
        servers = ",".join(lab.servers)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, library, servers, group, topic, instance],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._listen_to_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        """Have it leave its group and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(DEADLINE_S) == 0, "".join(self.errors)
        self._joined()

    def kill(self) -> None:
        """End it at once: the group hears nothing."""
        self._process.kill()
        self._process.wait(DEADLINE_S)
        self._joined()

    def _joined(self) -> None:
        for thread in self._threads:
            thread.join(DEADLINE_S)
        for pipe in (self._process.stdout, self._process.stderr, self._process.stdin):
            if pipe is not None:
                pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            self._heard(said["event"], said["what"], said["at"])

    def _listen_to_errors(self) -> None:
        assert self._process.stderr is not None
        self.errors.extend(self._process.stderr)

    def _heard(self, event: str, what: Any, at: float) -> None:
        told = self.told
        if event == "assigned":
            told.assigned.append((at, tuple(what)))
            told.owned = dict.fromkeys(what, at)
        elif event in ("revoked", "left"):
            told.owned = {}
        elif event == "read":
            since = told.assigned[-1][0]
            told.reads += [(Read(row[0], row[1], row[2], at), since) for row in what]
        else:
            told.commits.append((at, {int(key): offset for key, offset in what.items()}))


class Group:
    """All members that a test starts; they end with its block."""

    def __init__(self, lab: Lab, group_id: str, topic: str, partitions: int) -> None:
        self.lab = lab
        self.id = group_id
        self.topic = topic
        self.partitions = partitions
        self.members: list[Member] = []
        self._running: list[Member] = []

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._running:
            member.kill()

    def start(self, library: str, *instances: str) -> list[Member]:
        """Start one member of each instance; "" is a dynamic one."""
        begun = [Member(library, self.lab, self.id, self.topic, each) for each in instances]
        self.members += begun
        self._running += begun
        return begun

    def leave(self, *members: Member) -> None:
        """Have members leave."""
        for member in members:
            self._running.remove(member)
            member.leave()

    def kill(self, member: Member) -> None:
        """Kill a member."""
        self._running.remove(member)
        member.kill()

    def wait(self, condition: Any, what: str) -> None:
        """Wait until ``condition()`` holds."""
        self.lab.cluster.wait_until(lambda _: condition(), what, DEADLINE_MS)

    def wait_until_shared(self, members: Sequence[Member]) -> None:
        """Wait until ``members`` own all partitions, each its share of them."""
        share = self.partitions // len(members)

        def shared() -> bool:
            owned = [partition for member in members for partition in member.told.owned]
            fair = all(len(member.told.owned) >= share for member in members)
            return fair and sorted(owned) == list(range(self.partitions))

        self.wait(shared, f"{len(members)} members share {self.topic}")

    def wait_for_commits(self, members: Sequence[Member], more: int = 2) -> None:
        """Wait until each of ``members`` was told of ``more`` commits than now."""
        wanted = [len(member.told.commits) + more for member in members]
        self.wait(
            lambda: all(
                len(member.told.commits) >= count
                for member, count in zip(members, wanted, strict=True)
            ),
            "every member commits",
        )

    def wait_until_read(self, numbers: Sequence[int]) -> None:
        """Wait until all ``numbers`` were read by somebody."""
        wanted = set(numbers)
        self.wait(lambda: wanted <= self.numbers(), f"{len(wanted)} records are read")

    def numbers(self) -> set[int]:
        """Return what was read."""
        return {read.number for member in self.members for read, _ in list(member.told.reads)}

    def coordinator(self) -> tuple[int, str]:
        """Return the broker that coordinates the group, and the log dir of its partition there."""
        partition = partition_for(self.id, OFFSETS_PARTITIONS)
        leader = self.lab.partition(CONSUMER_OFFSETS, partition).leader
        return leader, self.lab.log_dir_of(leader, CONSUMER_OFFSETS, partition).path

    def wait_for_another_coordinator(self, than: int) -> None:
        """Wait until another broker leads the group's partition."""
        partition = partition_for(self.id, OFFSETS_PARTITIONS)
        self.lab.wait_for_new_leader(CONSUMER_OFFSETS, than, partition)

    def assert_commits_hold(self) -> None:
        """No member begins before an offset whose commit was answered before it was assigned."""
        commits = [
            (at, partition, offset)
            for member in self.members
            for at, offsets in member.told.commits
            for partition, offset in offsets.items()
        ]
        assert commits
        highest: dict[tuple[int, float], int] = {}
        for member in self.members:
            for read, since in member.told.reads:
                key = (read.partition, since)
                if key not in highest:
                    highest[key] = max(
                        (offset for at, each, offset in commits if each == key[0] and at < since),
                        default=0,
                    )
                assert read.offset >= highest[key], (read, since, highest[key])
