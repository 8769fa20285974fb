"""Which records a cluster was allowed to lose: those that no member of the Isr may still have had.

Kafka promises a record that all of the Isr took for as long as one member of the Isr keeps what it
was given. Members lose data by power cuts and disks that lie; they are whole again when they come
back into the Isr by what they fetched since. A leader from outside of the Isr (an unclean election)
forgives all before it.
Source: KIP-101, KIP-966 ("last replica standing").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never

from protocol.ids import NO_EPOCH, NO_LEADER, TopicPartition
from simulation.core.checkers.timeline import merged
from simulation.core.samples import Damage, LogSample, PartitionSample, ReplicaSample, Role, Samples

NOT_DURABLE: Final = "lost what was not durable"
"""A damage: what a power cut takes."""
EVER: Final = 2**63 - 1
_SHOWN_CHANGES: Final = 2
"""An Isr that shrinks, and an unclean election: the leader is still recovering."""


@dataclass(slots=True)
class _Holders:
    """Who of a partition's Isr may have lost what it had."""

    decided: PartitionSample | None = None
    """What the controller had decided so far."""
    suspects: dict[int, None] = field(default_factory=dict[int, None])
    lastingly: dict[int, None] = field(default_factory=dict[int, None])
    """Suspects that do not become whole by fetching."""
    down: dict[int, None] = field(default_factory=dict[int, None])
    """Suspects that lost power and do not run again: what they fetched was before that."""

    @property
    def isr(self) -> tuple[int, ...]:
        return () if self.decided is None else self.decided.isr

    @property
    def is_led_lastingly(self) -> bool:
        return self.decided is not None and self.decided.leader in self.lastingly

    @property
    def is_hopeless(self) -> bool:
        return bool(self.isr) and all(each in self.suspects for each in self.isr)

    def may_have_led_alone(self, now: PartitionSample) -> bool:
        """Tell whether a suspect may have led without the others, between two looks.

        They left the Isr and came back, which are two changes: seen is none (seed 681704).
        """
        before = self.decided
        return (
            before is not None
            and NO_EPOCH < before.partition_epoch < now.partition_epoch - 1
            and before.leader_epoch < now.leader_epoch
            and any(member in self.suspects for member in before.isr)
        )

    def damage(self, damage: Damage) -> None:
        self.suspects[damage.broker] = None
        if damage.what == NOT_DURABLE:
            self.down[damage.broker] = None
        if damage.is_lasting:
            self.lastingly[damage.broker] = None
        elif damage.is_emptied:
            self.lastingly.pop(damage.broker, None)

    def change(self, sample: PartitionSample) -> None:
        for joined in sample.isr:
            is_whole = joined not in self.lastingly and joined not in self.down
            if is_whole and joined not in self.isr:
                self.suspects.pop(joined, None)
        self.decided = sample


@dataclass(slots=True)
class Forgiven:
    """What may be lost of partitions; those of which nothing may are left out."""

    until_us: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    """Until when what was acknowledged may be lost.

    ``EVER`` for those that were led from a log in whose middle a disk had written something else:
    followers and readers take what is there for the leader's, if it is a whole batch. An unclean
    election is forgiven here; whether it was allowed is not asked.
    """
    epochs: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    """The last leader epoch in which all of the Isr may have lost what they had.

    A leader that was deposed before has it still, and readers that do not name epochs get it as
    long as it has not heard of that: it is paused, or cut off (seed 1068983).
    """

    def decide(self, held: _Holders, sample: PartitionSample) -> None:
        """Take a decision of the controller."""
        tp = sample.tp
        is_unclean_now = held.decided is not None and is_unclean(held.decided, sample)
        if is_unclean_now or held.may_have_led_alone(sample):
            self.until_us[tp] = max(sample.at_us, self.until_us.get(tp, 0))
        if held.decided is not None and held.decided.topic_id != sample.topic_id:
            self.epochs.pop(tp, None)
        held.change(sample)
        self.look(held, tp, sample.at_us)
        if held.is_hopeless:
            self.epochs[tp] = sample.leader_epoch

    def look(self, held: _Holders, tp: TopicPartition, at_us: int) -> None:
        """Look who of an Isr has something left."""
        if held.is_led_lastingly:
            self.until_us[tp] = EVER
        elif held.is_hopeless:
            self.until_us[tp] = max(at_us, self.until_us.get(tp, at_us))


def forgiven_of(samples: Samples) -> Forgiven:
    """Return what a cluster was allowed to lose in a run."""
    forgiven = Forgiven()
    holders: dict[TopicPartition, _Holders] = {}
    places: dict[tuple[int, TopicPartition], str] = {}
    for sample in merged(samples.replicas, samples.partitions, samples.damages):
        match sample:
            case ReplicaSample():
                if sample.role in (Role.LEADER, Role.FOLLOWER):
                    places[sample.broker, sample.tp] = sample.log_dir
                    if (held := holders.get(sample.tp)) is not None:
                        held.down.pop(sample.broker, None)
            case PartitionSample():
                forgiven.decide(holders.setdefault(sample.tp, _Holders()), sample)
            case Damage():
                for (broker, tp), log_dir in places.items():
                    if broker == sample.broker and _may_concern(sample, tp, log_dir):
                        held = holders.setdefault(tp, _Holders())
                        held.damage(sample)
                        forgiven.look(held, tp, sample.at_us)
            case _:
                assert_never(sample)
    return forgiven


def unclean_epochs(samples: Samples) -> dict[TopicPartition, int]:
    """Return the leader epoch that the last unclean election of a partition began.

    A leader that was deposed so may not have heard of it, and answers on under its older epoch: of
    what it says then nothing is promised either. Partitions without one are left out, and those
    whose topic was made anew since.
    """
    epochs: dict[TopicPartition, int] = {}
    last: dict[TopicPartition, PartitionSample] = {}
    for now in samples.partitions:
        before = last.get(now.tp)
        last[now.tp] = now
        if before is None:
            continue
        if before.topic_id != now.topic_id:
            epochs.pop(now.tp, None)
        elif is_unclean(before, now):
            epochs[now.tp] = now.leader_epoch
    return epochs


def is_unclean(before: PartitionSample, now: PartitionSample) -> bool:
    """Tell whether an unclean election lies, or may lie, between a sample and the one before it.

    The Isr of the one before may still have had the leader that was elected without it: what
    changes twice between two looks is seen as one change. A leader that recovers tells of both.
    Where it has recovered by then, too, that are three changes (seed 670168).
    """
    is_outsider = bool(before.isr) and now.leader >= 0 and now.leader not in before.isr
    changes = now.partition_epoch - before.partition_epoch
    may_hide = NO_LEADER not in (before.leader, now.leader) and before.leader != now.leader
    is_hidden = may_hide and changes > _SHOWN_CHANGES and before.partition_epoch != NO_EPOCH
    return is_outsider or is_hidden or (now.is_recovering and not before.is_recovering)


def _may_concern(damage: Damage, tp: TopicPartition, log_dir: str) -> bool:
    """Tell whether a replica is one that suffered: by its name, where that is known.

    A future log has its partition's name and another log dir; it may take the current one's place.
    """
    return damage.log_dir == log_dir if damage.tp is None else damage.tp == tp


def is_damaged(samples: Samples, log: LogSample) -> bool:
    """Tell whether bytes in the middle of a log were changed, on the disk that is there now."""
    found = False
    for damage in samples.damages:
        if (damage.broker, damage.log_dir) == (log.broker, log.log_dir):
            if damage.is_emptied:
                found = False
            elif damage.is_lasting and damage.tp in {None, log.tp}:
                found = True
    return found


def trusted_logs(samples: Samples) -> list[LogSample]:
    """Return the leaders' logs that are what their partition is.

    Nobody answers for changed bytes on a disk.
    """
    return [
        log
        for log in samples.logs
        if log.is_leader and log.is_readable and not log.is_future and not is_damaged(samples, log)
    ]
