"""The end of a run: faults off, what is broken is repaired, and all must be well in time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, broker_id_of, broker_node
from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.cluster_instance import ClusterInstanceError
from simulation.core.actions import Clear
from simulation.core.copies import Copies
from simulation.core.health import (
    health_problems,
    is_group_lost,
    left_out,
    lost_topics,
    untold_ends,
)
from simulation.core.needs import Need
from simulation.core.observation import LogDirName, Observation
from simulation.core.plan import Ending
from simulation.core.references import ALL
from simulation.run.acting import act
from simulation.run.patience import pause_s
from simulation.run.run_context import RunContext, StepError
from simulation.run.story import Story
from simulation.run.workloads import ENDS_WITHIN_MS

LOOK_EVERY_MS: Final = 100
PATIENCE_MS: Final = 10_000
"""How long disks that are to be replaced wait for all else to be well, lest more is lost."""
_TOLD_MAX: Final = 5
NEEDS: Final = (Need.METADATA, Need.LOG_DIRS, Need.REASSIGNMENTS)


async def end_faults(context: RunContext, ending: Ending, story: Story) -> None:
    """Take off every fault, and start what is down if the plan says so."""
    story.tell("faults end")
    await act(context, Clear(ALL))
    await end_breakage(context, ending, story)


async def end_breakage(context: RunContext, ending: Ending, story: Story) -> None:
    """Set CPUs and clocks right, and start what is down if the plan says so."""
    for node in context.touched_nodes:
        await context.cluster.slow_cpu(node, 1)
        await context.cluster.skew_clock(node, 0)
    if ending.start_nodes:
        await _start_nodes(context, story)


async def heal(context: RunContext, ending: Ending, story: Story) -> int:
    """Wait until all is well; return how long that took, in ms.

    Raises:
        StepError: it did not come to that in time.
    """
    repair = Repair(context, ending, story)
    began_ms = context.cluster.now_ms()
    while True:
        seen = await context.observer.observe(NEEDS)
        wrong = health_problems(
            seen,
            repair.brokers_wanted(seen),
            may_be_down=not ending.start_nodes,
            may_be_broken=not ending.restart_log_dirs,
        )
        lasted_ms = context.cluster.now_ms() - began_ms
        may_replace = not wrong or lasted_ms > _patience_ms(ending)
        wrong = [*wrong, *await repair.replacements_due()] or list(await context.cluster.lacks())
        wrong = wrong or repair.still_left_out(seen)
        if not wrong:
            story.tell(f"all is well after {lasted_ms} ms")
            return lasted_ms
        if lasted_ms > ending.heals_within_ms:
            told = "; ".join(wrong[:_TOLD_MAX])
            raise StepError(f"not well {lasted_ms} ms after the faults ended: {told}")
        await repair.go_on(seen)
        if may_replace:
            await repair.replace_wrong_writers(seen)
            await repair.replace_copies(seen)
        await asyncio.sleep(pause_s(lasted_ms, LOOK_EVERY_MS))


def _patience_ms(ending: Ending) -> int:
    return min(PATIENCE_MS, ending.heals_within_ms // 2)


class UnreadError(StepError):
    """Readers do not come to the end who need what a coordinator remembers, and no other ones."""


async def end_workloads(context: RunContext, ending: Ending, story: Story) -> None:
    """Let writers end first, then who writes what it reads, and readers when all is read.

    Raises:
        StepError: a client does not end, or a reader does not come to the end, in time.
        UnreadError: the same, where a coordinator that has lost its memory would be why.
    """
    endless = await context.workloads.end_writers()
    unread = await _read_up(context, ending, story)
    endless += await context.workloads.end_transformers()
    unread = unread or await _read_up(context, ending, story)
    endless += await context.workloads.end_readers()
    endless = await _could_end(context, endless, story)
    if endless:
        raise StepError(f"{', '.join(endless)} did not end within {ENDS_WITHIN_MS} ms")
    if unread:
        seen = await context.observer.observe((Need.OFFSETS,))
        forgotten = lost_topics(seen).union((CONSUMER_OFFSETS, TRANSACTION_STATE))
        if _unread(context, seen, forgotten):
            raise StepError(unread)
        raise UnreadError(unread)


async def _could_end(context: RunContext, endless: Sequence[str], story: Story) -> list[str]:
    """Return the clients that could have ended: those that wait for nobody who is lost.

    A group whose coordinator's partition nobody may lead has none for good (seed 1070401).
    """
    seen = await context.observer.observe((Need.METADATA,)) if endless else context.seen
    able: list[str] = []
    for name in endless:
        group = context.workloads.library_group(name)
        if group and is_group_lost(group, seen):
            story.tell(f"{name} is given up: the coordinator of {group} is lost")
        else:
            able.append(name)
    return able


async def _read_up(context: RunContext, ending: Ending, story: Story) -> str:
    """Wait until readers have read all that there is; return what they have not, in the end."""
    began_ms = context.cluster.now_ms()
    while True:
        seen = await context.observer.observe((Need.OFFSETS,))
        unread = _unread(context, seen, lost_topics(seen))
        lasted_ms = context.cluster.now_ms() - began_ms
        if not unread:
            story.tell(f"all is read after {lasted_ms} ms")
            return ""
        if lasted_ms > ending.heals_within_ms:
            return f"not read {lasted_ms} ms after all was well: {'; '.join(unread)}"
        await asyncio.sleep(pause_s(lasted_ms, LOOK_EVERY_MS))


def _unread(context: RunContext, seen: Observation, lost: Collection[str]) -> list[str]:
    """Return what is yet to be read, or may be; nobody waits for the topics in ``lost``."""
    untold = [f"nobody tells where {tp} ends" for tp in untold_ends(seen)]
    return context.workloads.unread(seen.offsets, lost) + untold


class Repair:
    """Brings back log dirs that are offline, and nodes that ended before their faults did."""

    def __init__(self, context: RunContext, ending: Ending, story: Story) -> None:
        self._context = context
        self._ending = ending
        self._story = story
        self._restarted: dict[LogDirName, None] = {}
        self._came_back = False
        """Whether one that was left out was brought back after the last look."""
        self._tried: dict[tuple[int, TopicPartition], None] = {}
        """Left out, and asked for once at least."""
        self._copies = Copies(_patience_ms(ending))

    def brokers_wanted(self, seen: Observation) -> int:
        """Return how many brokers must answer."""
        if self._ending.start_nodes:
            return len(self._context.cluster.spec.brokers)
        return sum(
            node.state == "running"
            for name, node in seen.nodes.items()
            if broker_id_of(name) is not None
        )

    async def go_on(self, seen: Observation) -> None:
        """Begin what can be begun now."""
        if self._ending.start_nodes:
            await _start_nodes(self._context, self._story)
        if not self._ending.restart_log_dirs:
            return
        for (broker, name), log_dir in seen.log_dirs.items():
            if log_dir.error != "NONE" and (broker, name) not in self._restarted:
                await self._restart(broker, name)
        out = left_out(seen)
        self._tried |= dict.fromkeys(out)
        came_back = [await self._restart_left_out(*each) for each in out]
        self._came_back = any(came_back)

    def still_left_out(self, seen: Observation) -> list[str]:
        """Return which replicas may follow those that were brought back; one at a time can.

        A partition may have no other online replica: that is well unless it can be brought back,
        which is tried (seed 754229).
        """
        if not self._ending.restart_log_dirs:
            return []
        return [
            f"{tp} of broker-{broker} is left out"
            for broker, tp in left_out(seen)
            if self._came_back or (broker, tp) not in self._tried
        ]

    async def replacements_due(self) -> tuple[str, ...]:
        """Return what is to be done though nobody complains."""
        if not self._ending.replace_log_dirs:
            return ()
        return tuple(
            f"{each.path} of broker-{each.broker} wrote to wrong places and is still there"
            for each in await self._context.disks_to_replace()
        )

    async def replace_wrong_writers(self, seen: Observation) -> None:
        """Put empty disks in the place of those that wrote to wrong places."""
        if not self._ending.replace_log_dirs:
            return
        for broker, path in {
            (one.broker, one.path): None for one in await self._context.disks_to_replace()
        }:
            if await self._replaced(broker, path, seen):
                self._story.tell(f"{path} of broker-{broker} is replaced: it wrote elsewhere")

    async def replace_copies(self, seen: Observation) -> None:
        """Put empty disks in the place of those whose logs cannot go on with what they copied."""
        if not self._ending.replace_log_dirs:
            return
        for broker, name in self._copies.due(seen, self._context.cluster.now_ms()):
            path = self._context.path(broker, name)
            if await self._replaced(broker, path, seen):
                told = f"{path} of broker-{broker} is replaced: it copied what one wrote elsewhere"
                self._story.tell(told)

    async def _replaced(self, broker: int, path: str, seen: Observation) -> bool:
        """Replace a disk; False: the broker is not ready for it, and the next look tries again."""
        try:
            await self._replace(broker, path)
        except ClusterInstanceError:
            return False
        await self._context.forget_wrong_writers(broker, path)
        now_ms = self._context.cluster.now_ms()
        for owner, name in seen.log_dirs:
            if owner == broker and self._context.path(broker, name) == path:
                self._copies.note_replaced((broker, name), seen, now_ms)
        return True

    async def _replace(self, broker: int, path: str) -> None:
        """Replace a disk while its broker runs, or between two runs if it has no other one."""
        cluster = self._context.cluster
        node = broker_node(broker)
        is_only = len(cluster.spec.broker(broker).log_dirs) == 1
        if is_only and cluster.node(node).state == "running":
            await cluster.stop_node(node)
        await cluster.replace_log_dir(broker, path, accept_loss=True)
        if is_only:
            await cluster.start_node(node)

    async def _restart_left_out(self, broker: int, partition: TopicPartition) -> bool:
        try:
            await self._context.cluster.restart_partition(broker, partition)
        except ClusterInstanceError:
            return False  # another one is on its way, nothing was left out, or it is lost
        self._story.tell(f"{partition} of broker-{broker} is brought back")
        return True

    async def _restart(self, broker: int, name: str) -> None:
        try:
            await self._context.cluster.restart_log_dir(broker, self._context.path(broker, name))
        except ClusterInstanceError:
            return  # the broker is not ready for it: the next look tries again
        self._restarted[broker, name] = None
        self._story.tell(f"{name} of broker-{broker} is brought back")


async def _start_nodes(context: RunContext, story: Story) -> None:
    brokers = (broker_node(broker.id) for broker in context.cluster.spec.brokers)
    for name in (CONTROLLER_NODE, *brokers):
        state = context.cluster.node(name).state
        if state == "paused":
            story.tell(f"{name} goes on")
            await context.cluster.resume_node(name)
        elif state == "stopped":
            story.tell(f"{name} is started")
            await context.cluster.start_node(name)
