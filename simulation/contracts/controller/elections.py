"""What elections promise: who leads, with which Isr, and by which epoch.

Source: PartitionLeaderElectionAlgorithms.scala, PartitionStateMachine.scala; KIP-106, KIP-460.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Final

from controller.core import election, partition_moves, preferred
from controller.core.election import Elected, Strategy
from controller.core.phases import PartitionPhase
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.ids import NO_LEADER, TopicPartition
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import alive, leaves, live, partitions, working
from simulation.contracts.controller.told import led_changes

_OFFLINE: Final = (Strategy.OFFLINE, Strategy.OFFLINE_UNCLEAN)


@of_function(election.elect)
def elect(
    state: ClusterState, tp: TopicPartition, strategy: Strategy, *, is_unclean_allowed: bool
) -> Generator[None, Elected | None, Broken]:
    """The first online replica of the Isr leads; another one only where loss is allowed.

    The epoch is the next one; the Isr loses who cannot be in it, and nobody else.
    """
    before = state.topics[tp.topic].partitions[tp.partition]
    able = working(state, tp)
    elected = yield
    candidates = _candidates(before, able, strategy)
    is_unclean = not candidates and strategy in _OFFLINE and is_unclean_allowed and bool(able)
    if elected is None:
        return f"nobody is elected of {candidates or able}" if candidates or is_unclean else None
    if elected.is_unclean is not is_unclean or not (candidates or is_unclean):
        return f"{elected} of {candidates}, {able} are online"
    leader = able[0] if is_unclean else candidates[0]
    wanted = replace(
        before,
        leader=leader,
        leader_epoch=before.leader_epoch + 1,
        isr=(leader,) if is_unclean else _isr_after(state, before, able, strategy),
        is_recovering=is_unclean or before.is_recovering,
    )
    if elected.partition != wanted:
        return f"{before} becomes {elected.partition}, not {wanted}"
    return _recipients_broken(state, tp, before, elected, strategy)


def _candidates(before: Partition, able: list[int], strategy: Strategy) -> list[int]:
    found = [each for each in able if each in before.isr]
    if strategy is Strategy.REASSIGN:
        return [each for each in found if each not in before.removing_replicas]
    if strategy is Strategy.PREFERRED:
        return [each for each in found if each == before.replicas[0]]
    return found


def _isr_after(
    state: ClusterState, before: Partition, able: list[int], strategy: Strategy
) -> tuple[int, ...]:
    if strategy in _OFFLINE:
        return tuple(each for each in before.isr if each in able)
    if strategy is Strategy.CONTROLLED_SHUTDOWN:
        stopping = set(alive(state)) - set(live(state))
        return tuple(each for each in before.isr if each not in stopping)
    return before.isr


def _recipients_broken(
    state: ClusterState,
    tp: TopicPartition,
    before: Partition,
    elected: Elected,
    strategy: Strategy,
) -> Broken:
    """All replicas that can act on it are told: those that are reachable, with a log dir."""
    can_act = [
        each
        for each in before.replicas
        if each in live(state) and tp not in state.offline.get(each, ())
    ]
    if strategy is Strategy.REASSIGN:
        can_act = [each for each in can_act if each not in before.removing_replicas]
    if strategy is Strategy.CONTROLLED_SHUTDOWN:
        can_act = [
            each
            for each in before.replicas
            if each in alive(state) and tp not in state.offline.get(each, ())
        ]
    missing = [each for each in can_act if each not in elected.recipients]
    return f"{missing} are not told" if missing else None


@of_function(election.needs_unclean)
def needs_unclean(state: ClusterState, tp: TopicPartition) -> Generator[None, bool, Broken]:
    """Records may be lost only where the whole Isr is offline."""
    needs = yield
    isr = state.topics[tp.topic].partitions[tp.partition].isr
    able = frozenset(working(state, tp)).intersection(isr)
    return f"{needs} with {sorted(able)} of {isr}" if needs is bool(able) else None


@of_function(partition_moves.bring_online)
def bring_online(
    step: Step, tps: Iterable[TopicPartition], strategy: Strategy = Strategy.OFFLINE
) -> Generator[None, dict[TopicPartition, bool], Broken]:
    """Who got a leader is online and recorded; an unclean election only where it is allowed."""
    asked = list(tps) if isinstance(tps, (list, tuple)) else None
    before = {tp: one for tp, one, _ in partitions(step.state)}
    phases = dict(step.run.partition_phases)
    count, unclean = len(step.records), step.run.unclean_elections_count
    outcome = yield
    changed = led_changes(step.records[count:])
    got = [tp for tp, is_led in outcome.items() if is_led]
    if sorted(changed) != sorted(got) or len(step.records) > count + 1:
        return f"got leaders: {got}, recorded: {changed}"
    losses = 0
    for tp in got:
        old, new = before[tp], step.state.partition(tp)
        broken = _badly_brought(step, tp, old, new, phases.get(tp), strategy)
        losses += old.leader_epoch >= 0 and not frozenset(new.isr) & frozenset(old.isr)
        if broken:
            return f"{tp}: {old} becomes {new}: {broken}"
    if step.run.unclean_elections_count != unclean + losses:
        return f"{losses} unclean elections are counted from {unclean} on"
    missing = [tp for tp in asked or () if tp in before and tp not in outcome]
    wrong = [tp for tp in missing if phases.get(tp) is not None]
    return f"{wrong} were not tried" if wrong else None


def _badly_brought(
    step: Step,
    tp: TopicPartition,
    old: Partition,
    new: Partition,
    phase: PartitionPhase | None,
    strategy: Strategy,
) -> Broken:
    if step.run.partition_phases.get(tp) is not PartitionPhase.ONLINE:
        return f"it is {step.run.partition_phases.get(tp)}"
    if new.leader not in new.isr or new.controller_epoch != step.state.controller_epoch:
        return "its leader is out of the Isr, or another controller's"
    if phase is PartitionPhase.NEW:
        able = working(step.state, tp)
        first = (new.leader, list(new.isr), new.partition_epoch, new.is_recovering)
        return None if first == (able[0], able, 0, False) else f"online are {able}"
    if new.partition_epoch != old.partition_epoch + 1:
        return "the partition epoch is not the next one"
    is_loss = not frozenset(new.isr) & frozenset(old.isr)
    config = step.state.topics[tp.topic].configs.get("unclean.leader.election.enable")
    is_default = step.defaults.unclean_leader_election_enable
    allowed = config == "true" or (config is None and is_default)
    is_asked = strategy is Strategy.OFFLINE_UNCLEAN
    return "nobody allowed the loss" if is_loss and not (allowed or is_asked) else None


@of_function(partition_moves.elect_leaderless)
def elect_leaderless(step: Step) -> Generator[None, dict[TopicPartition, bool], Broken]:
    """All that wait for a leader are tried, but those whose topic goes."""
    waiting = dict(step.run.leaderless)
    going = [topic.name for topic in step.state.topics.values() if leaves(topic, step.state)]
    outcome = yield
    wanted = sorted(tp for tp in waiting if tp.topic not in going)
    return None if sorted(outcome) == wanted else f"tried {sorted(outcome)} of {wanted}"


@of_function(partition_moves.write_leaderships)
def write_leaderships(
    step: Step, changed: dict[TopicPartition, Partition]
) -> Generator[None, None, Broken]:
    """A leadership is journaled by this controller, with the next partition epoch."""
    wanted = {
        tp: replace(
            one,
            partition_epoch=one.partition_epoch + 1,
            controller_epoch=step.state.controller_epoch,
            replicas=step.state.partition(tp).replicas,
            adding_replicas=step.state.partition(tp).adding_replicas,
            removing_replicas=step.state.partition(tp).removing_replicas,
        )
        for tp, one in changed.items()
    }
    yield
    found = {tp: step.state.partition(tp) for tp in wanted}
    return None if found == wanted else f"{found}, not {wanted}"


@of_function(partition_moves.raise_leader_epochs)
def raise_leader_epochs(
    step: Step, tps: Iterable[TopicPartition], broker_id: int
) -> Generator[None, None, Broken]:
    """A leader goes on by its next epoch when a follower may come back with another log.

    What that one asked before would speak for the new log else, and an empty one be in sync.
    """
    asked = list(tps) if isinstance(tps, list) else []
    before = {tp: step.state.partition(tp) for tp in asked}
    count, effects = len(step.records), len(step.effects)
    yield
    wanted = [tp for tp, old in before.items() if old.leader not in {NO_LEADER, broker_id}]
    changed = led_changes(step.records[count:])
    if sorted(changed) != sorted(wanted):
        return f"raised {sorted(changed)}, not {sorted(wanted)}"
    for tp in wanted:
        old, new = before[tp], step.state.partition(tp)
        if (new.leader, new.isr, new.leader_epoch) != (old.leader, old.isr, old.leader_epoch + 1):
            return f"{tp}: {old} becomes {new}"
    told = {getattr(each, "broker_id", None) for each in step.effects[effects:]}
    leaders = {before[tp].leader for tp in wanted}.intersection(alive(step.state))
    return None if leaders <= told else f"of {leaders} only {told} are told"


@of_function(preferred.balance_when_due)
def balance(step: Step) -> Generator[None, None, Broken]:
    """Preferred leaders lead again where too much is led elsewhere, when it is time to look."""
    due_ms = step.run.balance_at_ms
    led = {
        tp: one
        for tp, one, topic in partitions(step.state)
        if one.leader_epoch >= 0 and not leaves(topic, step.state)
    }
    tolerated = step.defaults.leader_imbalance_per_broker_percentage
    wanted = sorted(_unbalanced(step, led, tolerated))
    count = len(step.records)
    yield
    is_due = due_ms is not None and step.now_ms >= due_ms
    changed = led_changes(step.records[count:])
    if sorted(changed) != (wanted if is_due else []):
        return f"due at {due_ms}, now {step.now_ms}: {sorted(changed)} are given back, not {wanted}"
    period_ms = step.defaults.leader_imbalance_check_interval_seconds * 1000
    next_ms = step.now_ms + period_ms if is_due else due_ms
    return None if step.run.balance_at_ms == next_ms else f"next {step.run.balance_at_ms}"


def _unbalanced(
    step: Step, led: dict[TopicPartition, Partition], tolerated: int
) -> Iterable[TopicPartition]:
    for broker_id in live(step.state):
        own = [tp for tp, one in led.items() if one.replicas[0] == broker_id]
        away = [tp for tp in own if led[tp].leader != broker_id]
        if own and len(away) * 100 > tolerated * len(own):
            for tp in away:
                is_moving = led[tp].adding_replicas or led[tp].removing_replicas
                is_able = broker_id in led[tp].isr and broker_id in working(step.state, tp)
                if is_able and not is_moving:
                    yield tp
