"""Draws what is broken, where, from when to when.

Every fault is drawn where it can meet something, some together with what makes that happen, and
stays until it has; processes and clocks are right again when the story ends.

**Fault model.** Any fault here may meet any node at any time, several at once. What Kafka promises
under it, the checkers know (``checkers.fault_model``): a record acknowledged with acks=all stays
for as long as one member of the Isr keeps what it was given. Processes that are killed, paused,
cut off or slow keep it, and so do disks that answer with an error or not at all. Power cuts lose
what was not synced, for Kafka acknowledges before it syncs; failed syncs, lost entries, flipped
bits and short reads are disks that lie. Both count as damage to the replicas there until they have
been in the Isr anew, and where all of an Isr is damaged nothing is promised. Misdirected writes
damage the partitions that they hit, for as long as the disk is there; it is replaced in the end.
An unclean election, too, takes what its leader had not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple, assert_never

from protocol.faults.model import (
    ANY_NODE,
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


class TimedAction(NamedTuple):
    """One action at its time."""

    at_ms: int
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpan:
    """One fault: what begins it, what ends it, and when."""

    begin_ms: int
    end_ms: int
    begin: Action
    end: Action
    between: tuple[TimedAction, ...] = ()
    """What makes it meet something."""


@dataclass(frozen=True, slots=True)
class FaultScope:
    """What faults are drawn for."""

    cluster: ClusterPlan
    length_ms: int


NODE_KINDS: Final = ("kill", "stop", "pause", "power_cut", "slow_cpu", "clock_skew")
DISK_KINDS: Final = tuple(mode.value for mode in DiskMode)
NETWORK_KINDS: Final = tuple(mode.value for mode in NetworkMode)
FAULT_KINDS: Final = (*DISK_KINDS, *NETWORK_KINDS, *NODE_KINDS)


def draw_faults(dice: Dice, scope: FaultScope, kinds: list[str], count: int) -> list[FaultSpan]:
    """Draw ``count`` faults of these kinds, in no order of time."""
    return [_span(dice, scope, dice.choice(kinds), number) for number in range(1, count + 1)]


def timed_steps(spans: list[FaultSpan]) -> list[TimedAction]:
    """Return all that the spans are made of, begins first and ends last."""
    return [
        *(TimedAction(span.begin_ms, span.begin) for span in spans),
        *(timed for span in spans for timed in span.between),
        *(TimedAction(span.end_ms, span.end) for span in spans),
    ]


def _span(dice: Dice, scope: FaultScope, kind: str, number: int) -> FaultSpan:
    begin_ms = dice.randint(200, max(scope.length_ms * 4 // 5, 200))
    end_ms = max(begin_ms, min(begin_ms + skewed(dice, 100, 12_000), scope.length_ms))
    between: tuple[TimedAction, ...] = ()
    if kind in NODE_KINDS:
        begin, end = _NODE_FAULTS[kind](dice, _any_node(dice, scope.cluster))
    else:
        name = f"fault-{number}"
        rule = _rule(dice, scope, kind)
        begin, end = Fault(name=name, rule=rule), Clear(name, once_met=True)
        if isinstance(rule, DiskFault) and _reach(rule.mode) is _Reach.LOGS_READ:
            between = _restart(dice, rule.node, begin_ms, end_ms) if dice.random() < 0.7 else ()
    return FaultSpan(begin_ms=begin_ms, end_ms=end_ms, begin=begin, end=end, between=between)


def _rule(dice: Dice, scope: FaultScope, kind: str) -> DiskFault | NetworkFault:
    if kind in DISK_KINDS:
        return _disk_fault(dice, scope, DiskMode(kind))
    return _network_fault(dice, scope, NetworkMode(kind))


def _any_node(dice: Dice, cluster: ClusterPlan) -> str:
    return dice.choice(cluster.node_names)


def _place(dice: Dice, cluster: ClusterPlan) -> tuple[str, str | None]:
    """Draw a broker and one of its log dirs, or all of them; half the time by what is there."""
    topic = dice.choice(cluster.topics)
    if dice.random() < 0.5:
        partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
        is_led = topic.replication_factor == 1 or dice.random() < 0.7
        return f"{'leader' if is_led else 'follower'} of {partition}", f"of {partition}"
    node, log_dir = _fixed_place(dice, cluster)
    return node, None if dice.random() < 0.1 else log_dir


def _fixed_place(dice: Dice, cluster: ClusterPlan) -> tuple[str, str]:
    return dice.choice(cluster.node_names[1:]), dice.choice(cluster.log_dir_names)


class _Reach(Enum):
    """Where and how often a disk mode is drawn to meet something."""

    ANYTHING = "anything"
    """Any operation on any file, or only some."""
    LOGS = "logs"
    """A few operations on logs: it lies about what is written there."""
    LOGS_READ = "logs_read"
    """The same of what is read there, most often while a broker starts."""


def _reach(mode: DiskMode) -> _Reach:
    match mode:
        case (
            DiskMode.EIO
            | DiskMode.ENOSPC
            | DiskMode.READ_ONLY
            | DiskMode.HANG
            | DiskMode.SLOW
            | DiskMode.TORN_WRITE
            | DiskMode.SYNC_FAILURE
            | DiskMode.LOST_ENTRY
        ):
            return _Reach.ANYTHING
        case DiskMode.MISDIRECTED_WRITE:
            return _Reach.LOGS
        case DiskMode.BIT_FLIP | DiskMode.SHORT_READ:
            return _Reach.LOGS_READ
        case _:
            assert_never(mode)


def _disk_fault(dice: Dice, scope: FaultScope, mode: DiskMode) -> DiskFault:
    lies = _reach(mode) is not _Reach.ANYTHING
    is_narrow = not lies and dice.random() < 0.4
    node, log_dir = (_fixed_place if lies else _place)(dice, scope.cluster)
    fault = DiskFault(
        mode=mode,
        node=node,
        log_dir=log_dir,
        operations=_operations(dice, mode) if is_narrow else None,
        files=(FileClass.LOG,) if lies else None,
        from_nth=skewed(dice, 1, 4 if is_narrow or lies else 40) if dice.random() < 0.3 else 1,
        times=dice.randint(1, 3) if lies or dice.random() < 0.2 else None,
    )
    return _with_own_keys(dice, fault, is_narrow=is_narrow)


def _with_own_keys(dice: Dice, fault: DiskFault, *, is_narrow: bool) -> DiskFault:
    """Draw what only this mode has (``DiskModeRow.keys``)."""
    match fault.mode:
        case DiskMode.SLOW:
            return replace(
                fault,
                delay_ms=skewed(dice, 1, 400),
                bytes_per_second=skewed(dice, 10_000, 1_000_000) if dice.random() < 0.3 else None,
            )
        case DiskMode.ENOSPC:
            return fault if is_narrow else replace(fault, capacity_bytes=skewed(dice, 0, 5_000))
        case (
            DiskMode.EIO
            | DiskMode.READ_ONLY
            | DiskMode.HANG
            | DiskMode.TORN_WRITE
            | DiskMode.BIT_FLIP
            | DiskMode.SYNC_FAILURE
            | DiskMode.LOST_ENTRY
            | DiskMode.MISDIRECTED_WRITE
            | DiskMode.SHORT_READ
        ):
            return fault
        case _:
            assert_never(fault.mode)


_RARE: Final = (Operation.TRUNCATE, Operation.REMOVE)
"""Too rare for a rule about them alone."""


def _operations(dice: Dice, mode: DiskMode) -> tuple[Operation, ...]:
    possible = [each for each in Operation if each in mode.row.meets and each not in _RARE]
    return (dice.choice(possible),)


def _restart(dice: Dice, node: str, begin_ms: int, end_ms: int) -> tuple[TimedAction, ...]:
    """Draw how a broker comes to read its logs from the disk; mostly it reads all of the end."""
    down_ms = dice.randint(begin_ms, end_ms)
    end = chosen(dice, {actions.Kill: 3, actions.Stop: 1, actions.PowerCut: 2})
    return TimedAction(down_ms, end(node)), TimedAction(
        dice.randint(down_ms, end_ms), actions.Start(node)
    )


def _network_fault(dice: Dice, scope: FaultScope, mode: NetworkMode) -> NetworkFault:
    source, target = _link(dice, scope.cluster)
    fault = NetworkFault(
        mode=mode,
        source=source,
        target=target,
        both_ways=mode is NetworkMode.HALF_OPEN or dice.random() < 0.6,
    )
    match mode:
        case NetworkMode.LATENCY:
            latency_ms, jitter_ms = skewed(dice, 1, 500), skewed(dice, 0, 200)
            return replace(fault, latency_ms=latency_ms, jitter_ms=jitter_ms)
        case NetworkMode.LOSS:
            return replace(fault, probability=dice.randint(5, 30) / 100)
        case NetworkMode.CUT | NetworkMode.HALF_OPEN:
            return fault
        case _:
            assert_never(mode)


def _link(dice: Dice, cluster: ClusterPlan) -> tuple[str, str]:
    """Draw two nodes, or one and all others."""
    source, target = dice.sample(cluster.node_names, 2)
    return source, ANY_NODE if dice.random() < 0.3 else target


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
