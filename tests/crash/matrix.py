"""Crashes at every change of a disk, and what the next start makes of what is left.

Three kinds: the process is killed (what it wrote stays), the power is cut (what was not synced is
lost, all or a drawn part), and from one operation on a disk answers with errors.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from broker.storage.batch_scan import CorruptBatch
from broker.storage.memory_disk import MemoryDisk
from broker.storage.recovery import StartupRefused
from protocol.faults.model import DiskMode
from protocol.ids import TopicPartition
from simulation.matrix.outcome import DISK_ERRORS, Crash, Outcome
from tests.broker.engine.lab import Lab
from tests.broker.engine.node import Node
from tests.broker.engine.virtual_loop import VirtualLoop
from tests.crash.judge import check_log
from tests.crash.stories import Story
from tests.crash.world import OVERRIDES, PATHS, Moment, Promise, key_of, new_world

T = TypeVar("T")
Promises = dict[TopicPartition, Promise]
_SEED: Final = 1_000_000
"""Names and ids of the start afterwards are others than those of the story."""


@dataclass(slots=True)
class Row:
    """The outcomes of one story under one kind of crash."""

    story: str
    crash: Crash
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    complaints: list[str] = field(default_factory=list[str])

    def add(self, outcome: Outcome, where: str, reason: str) -> None:
        """Count one start."""
        self.outcomes[outcome] += 1
        if outcome is not Outcome.RECOVERED:
            self.complaints.append(f"{self.story}, {self.crash.value} {where}: {reason}")


def run_virtually(work: Callable[[], Awaitable[T]]) -> T:
    """Run ``work`` on a loop of its own, in no time."""

    async def main() -> T:
        return await work()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


# Crashes that leave a picture of the disks.


def crash_everywhere(story: Story, *, draws: int, part: int = 0, parts: int = 1) -> list[Row]:
    """Crash before every change of a disk; ``draws`` torn power cuts each. One row per kind.

    Of ``parts`` equal parts of the changes it takes the one with the number ``part``.
    """
    moments = run_virtually(lambda: _moments_of(story))[part::parts]
    rows = {crash: Row(story.__name__, crash) for crash in Crash if crash not in DISK_ERRORS}

    judged: dict[bytes, tuple[Outcome, str]] = {}

    async def judge_all() -> None:
        for moment in moments:
            for crash, disks in _pictures(moment, draws):
                key = _fingerprint(disks, moment.promises, crash)
                if key not in judged:
                    judged[key] = await judge(disks, moment.promises, crash)
                outcome, reason = judged[key]
                rows[crash].add(outcome, f"{moment.number} before {moment.before}", reason)

    run_virtually(judge_all)
    return list(rows.values())


async def _moments_of(story: Story) -> list[Moment]:
    async with new_world(is_watched=True) as world:
        await world.start()
        await story(world)
        world.note("the end")
        return world.moments


def _pictures(moment: Moment, draws: int) -> Iterator[tuple[Crash, list[MemoryDisk]]]:
    yield Crash.KILL, [disk.copy() for disk in moment.disks]
    for number in range(draws + 1):
        disks = [disk.copy() for disk in moment.disks]
        chance = random.Random(f"{moment.number}/{number}")
        for disk in disks:
            disk.power_cut(chance if number else None)
        yield (Crash.TORN if number else Crash.POWER_CUT), disks


def _fingerprint(disks: list[MemoryDisk], promises: Promises, crash: Crash) -> bytes:
    """Return the same bytes for what needs to be judged but once: many changes leave no trace."""
    found = hashlib.blake2b(f"{crash is Crash.KILL} {promises}".encode())
    for disk in disks:
        for name in disk.names_below():
            found.update(f"{disk.root}/{name} ".encode())
            if not disk.is_dir(name):
                found.update(disk.read_file(name))
    return found.digest()


# Disks that break.


def break_everywhere(story: Story, *, every: int = 1) -> Row:
    """Let each disk fail from each of its operations on, every ``every``-th of them."""
    row = Row(story.__name__, Crash.ERROR)
    for path in PATHS:
        number = 1
        while run_virtually(lambda path=path, number=number: _break(story, path, number, row)):
            number += every
    return row


async def _break(story: Story, path: str, number: int, row: Row) -> bool:
    """Run a story on a disk that breaks; False when it was over before."""
    async with new_world(is_watched=False) as world:
        await world.start()
        rule = world.node.disks[path].set_fault(DiskMode.EIO, from_nth=number)
        await story(world)
        disks, promises = world.disks, world.promises
        await world.kill()
    if rule.hits == 0:
        return False
    outcome, reason = await judge(disks, promises, Crash.ERROR)
    row.add(outcome, f"of {path} from its operation {number} on", reason)
    return True


# The start afterwards.


async def judge(disks: list[MemoryDisk], promises: Promises, crash: Crash) -> tuple[Outcome, str]:
    """Start a broker on what a crash left and hold it against what was promised."""
    lab = Lab(dict(OVERRIDES), first_seed=_SEED)
    for disk in disks:
        disk.kill()
    node = Node(1, disks, lab.ports())
    node.topic_configs = {tp.topic: promise.configs for tp, promise in promises.items()}
    try:
        await node.start()
    except StartupRefused as refused:
        return Outcome.REFUSED, str(refused)
    broken = [str(one.failure) for one in node.log_dirs.values() if not one.is_online]
    if broken:
        return Outcome.OFFLINE, "; ".join(broken)
    try:
        _check(node, promises, power_cut=crash in {Crash.POWER_CUT, Crash.TORN})
    except (AssertionError, CorruptBatch) as complaint:
        return Outcome.LOST, str(complaint)
    return Outcome.RECOVERED, ""


def _check(node: Node, promises: Promises, *, power_cut: bool) -> None:
    found = {
        tp: check_log(
            idle.files,
            [(entry.epoch, entry.start_offset) for entry in idle.positions.epochs.entries],
            idle.positions.producers.states.snapshot_entries(),
            is_compacted=tp in promises and promises[tp].is_compacted,
        )
        for tp, idle in node.state.hosted.iterate_idle()
    }
    assert [tp for tp in found if tp not in promises] == []
    for tp, promise in promises.items():
        _check_promise(tp, promise, found.get(tp, {}), power_cut=power_cut)


def _check_promise(
    tp: TopicPartition, promise: Promise, found: dict[int, bytes], *, power_cut: bool
) -> None:
    for offset, value in promise.acknowledged.items():
        is_due = not power_cut or offset < promise.durable_end
        if is_due and offset >= promise.kept_from and not _is_superseded(promise, offset, found):
            assert offset in found, f"{tp} {offset} is missing, {list(found)[-1:]} is the last"
            assert found[offset] == value, f"{tp} {offset} is {found[offset]}, not {value}"
    if promise.is_deleted:
        return
    for offset, value in found.items():
        assert value in promise.written.get(offset, ()), f"{tp} {offset}: nobody wrote {value}"
        assert offset >= promise.start, f"{tp} {offset} is back, it was deleted"


def _is_superseded(promise: Promise, offset: int, found: dict[int, bytes]) -> bool:
    """Tell whether compaction may have taken a record: a later one of its key is there.

    A tombstone may go when nothing is left that it deletes.
    """
    if not promise.is_compacted or offset in found:
        return False
    same = [other for other in found if key_of(other) == key_of(offset)]
    if any(other > offset for other in same):
        return True
    return promise.acknowledged[offset] == b"" and not any(found[other] for other in same)
