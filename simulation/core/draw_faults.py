"""Draws what is broken, where, from when to when. Undoes every fault within the story.

**Fault model.** Any fault here may meet any node at any time, several at once. What Kafka promises
under it, the checkers know (``checkers.fault_model``): a record acknowledged with acks=all stays
for as long as one member of the Isr keeps what it was given. Processes that are killed, paused,
cut off or slow keep it, and so do disks that answer with an error or not at all. Power cuts lose
what was not synced, for Kafka acknowledges before it syncs; failed syncs, lost entries, flipped
bits and short reads are disks that lie. Both count as damage to the replicas there until they have
been in the Isr anew, and where all of an Isr is damaged nothing is promised. Unclean elections are
off, so that nothing else may lose a record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocol.fault_model import (
    ANY_NODE,
    MET_BY,
    DiskFault,
    DiskMode,
    FileClass,
    NetworkFault,
    NetworkMode,
    Operation,
)
from simulation.core import actions
from simulation.core.actions import Action, Clear, Fault
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.plan import ClusterPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One fault: what begins it, what ends it, and when."""

    begin_ms: int
    end_ms: int
    begin: Action
    end: Action


@dataclass(frozen=True, slots=True)
class Scene:
    """What faults are drawn for."""

    cluster: ClusterPlan
    length_ms: int


NODE_KINDS: Final = ("kill", "stop", "pause", "power_cut", "slow_cpu", "clock_skew")
_BEYOND_HEALING: Final = (DiskMode.MISDIRECTED_WRITE,)
"""For written plans only: other bytes in the middle of a leader's log stay there for good."""
DISK_KINDS: Final = tuple(mode.value for mode in DiskMode if mode not in _BEYOND_HEALING)
NETWORK_KINDS: Final = tuple(mode.value for mode in NetworkMode)
FAULT_KINDS: Final = (*DISK_KINDS, *NETWORK_KINDS, *NODE_KINDS)


def draw_faults(dice: Dice, scene: Scene, kinds: list[str], count: int) -> list[Span]:
    """Draw ``count`` faults of these kinds, in no order of time."""
    return [_span(dice, scene, dice.choice(kinds), number) for number in range(1, count + 1)]


def _span(dice: Dice, scene: Scene, kind: str, number: int) -> Span:
    begin_ms = dice.randint(200, max(scene.length_ms * 4 // 5, 200))
    end_ms = min(begin_ms + skewed(dice, 100, 12_000), scene.length_ms)
    if kind in NODE_KINDS:
        begin, end = _NODE_FAULTS[kind](dice, _any_node(dice, scene.cluster))
    else:
        name = f"fault-{number}"
        is_of_disk = kind in DISK_KINDS
        rule = _disk_fault(dice, scene, kind) if is_of_disk else _network_fault(dice, scene, kind)
        begin, end = Fault(name=name, rule=rule), Clear(name)
    return Span(begin_ms=begin_ms, end_ms=max(end_ms, begin_ms), begin=begin, end=end)


def _any_node(dice: Dice, cluster: ClusterPlan) -> str:
    return dice.choice(cluster.node_names)


def _any_broker(dice: Dice, cluster: ClusterPlan) -> str:
    """Name a broker, now and then by what it does."""
    if dice.random() < 0.3:
        return f"leader of {dice.choice(cluster.topics).name}-0"
    return dice.choice(cluster.node_names[1:])


def _disk_fault(dice: Dice, scene: Scene, kind: str) -> DiskFault:
    mode = DiskMode(kind)
    is_narrow = dice.random() < 0.4
    lies = mode in _LIES
    return DiskFault(
        mode=mode,
        node=_any_broker(dice, scene.cluster),
        log_dir=dice.choice(scene.cluster.log_dir_names),
        operations=_operations(dice, mode) if is_narrow else None,
        files=(FileClass.LOG,) if lies else None,
        from_nth=skewed(dice, 1, 200) if dice.random() < 0.3 else 1,
        times=dice.randint(1, 3) if lies or dice.random() < 0.2 else None,
        delay_ms=skewed(dice, 1, 400) if mode is DiskMode.SLOW else 0,
        bytes_per_second=(
            skewed(dice, 10_000, 1_000_000)
            if mode is DiskMode.SLOW and dice.random() < 0.3
            else None
        ),
        capacity_bytes=skewed(dice, 0, 200_000) if mode is DiskMode.ENOSPC else 0,
    )


_LIES: Final = (
    DiskMode.BIT_FLIP,
    DiskMode.SHORT_READ,
)


def _operations(dice: Dice, mode: DiskMode) -> tuple[Operation, ...]:
    possible = [operation for operation in Operation if operation in MET_BY[mode]]
    return (dice.choice(possible),)


def _network_fault(dice: Dice, scene: Scene, kind: str) -> NetworkFault:
    mode = NetworkMode(kind)
    source, target = dice.sample(scene.cluster.node_names, 2)
    return NetworkFault(
        mode=mode,
        source=source,
        target=ANY_NODE if dice.random() < 0.3 else target,
        both_ways=mode is NetworkMode.HALF_OPEN or dice.random() < 0.6,
        latency_ms=skewed(dice, 1, 500) if mode is NetworkMode.LATENCY else 0,
        jitter_ms=skewed(dice, 0, 200) if mode is NetworkMode.LATENCY else 0,
        probability=dice.randint(1, 30) / 100 if mode is NetworkMode.LOSS else 1.0,
    )


def _kill(_dice: Dice, node: str) -> tuple[Action, Action]:
    return actions.Kill(node), actions.Start(node)


def _stop(_dice: Dice, node: str) -> tuple[Action, Action]:
    return actions.Stop(node), actions.Start(node)


def _power_cut(_dice: Dice, node: str) -> tuple[Action, Action]:
    return actions.PowerCut(node), actions.Start(node)


def _pause(_dice: Dice, node: str) -> tuple[Action, Action]:
    return actions.Pause(node), actions.Resume(node)


def _slow_cpu(dice: Dice, node: str) -> tuple[Action, Action]:
    factor = float(chosen(dice, {10: 2, 100: 2, 1000: 1}))
    return actions.SlowCpu(node=node, factor=factor), actions.SlowCpu(node=node, factor=1.0)


def _clock_skew(dice: Dice, node: str) -> tuple[Action, Action]:
    by_ms = dice.choice((-3_600_000, -5_000, 5_000, 3_600_000))
    return actions.SkewClock(node=node, by_ms=by_ms), actions.SkewClock(node=node, by_ms=0)


_NODE_FAULTS: Final[dict[str, Callable[[Dice, str], tuple[Action, Action]]]] = {
    "kill": _kill,
    "stop": _stop,
    "pause": _pause,
    "power_cut": _power_cut,
    "slow_cpu": _slow_cpu,
    "clock_skew": _clock_skew,
}
