"""Which records a cluster was allowed to lose: those that no member of the Isr may still have had.

Kafka promises a record that all of the Isr took for as long as one member of the Isr keeps what it
was given. Members lose data by power cuts and disks that lie; they are whole again when they come
back into the Isr. A leader from outside of the Isr (an unclean election) forgives all before it.
Source: KIP-101, KIP-966 ("last replica standing").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never

from protocol.ids import NO_LEADER, TopicPartition
from simulation.core.checkers.timeline import merged
from simulation.core.samples import Damage, LogSample, PartitionSample, ReplicaSample, Role, Samples

EVER: Final = 2**63 - 1


@dataclass(slots=True)
class _Holders:
    """Who of a partition's Isr may have lost what it had."""

    isr: tuple[int, ...] = ()
    suspects: dict[int, None] = field(default_factory=dict[int, None])
    lastingly: dict[int, None] = field(default_factory=dict[int, None])
    """Suspects that do not become whole by fetching."""
    leader: int = NO_LEADER
    is_recovering: bool = False

    @property
    def is_hopeless(self) -> bool:
        return bool(self.isr) and all(each in self.suspects for each in self.isr)

    def damage(self, damage: Damage) -> None:
        self.suspects[damage.broker] = None
        if damage.is_lasting:
            self.lastingly[damage.broker] = None
        elif damage.is_emptied:
            self.lastingly.pop(damage.broker, None)

    def change(self, sample: PartitionSample) -> None:
        isr, self.leader = sample.isr, sample.leader
        for joined in isr:
            if joined not in self.isr and joined not in self.lastingly:
                self.suspects.pop(joined, None)
        self.isr, self.is_recovering = isr, sample.is_recovering


def forgiven_until(samples: Samples) -> dict[TopicPartition, int]:
    """Return until when what was acknowledged may be lost, in us; partitions without are left out.

    ``EVER`` for those that were led from a log in whose middle a disk had written something else:
    followers and readers take what is there for the leader's, if it is a whole batch. An unclean
    election is forgiven here; whether it was allowed is not asked.
    """
    forgiven: dict[TopicPartition, int] = {}
    holders: dict[TopicPartition, _Holders] = {}
    places: dict[tuple[int, TopicPartition], str] = {}
    for sample in merged(samples.replicas, samples.partitions, samples.damages):
        match sample:
            case ReplicaSample():
                if sample.role in (Role.LEADER, Role.FOLLOWER):
                    places[sample.broker, sample.tp] = sample.log_dir
            case PartitionSample():
                held = holders.setdefault(sample.tp, _Holders())
                if _is_unclean(held, sample):
                    forgiven[sample.tp] = max(sample.at_us, forgiven.get(sample.tp, 0))
                held.change(sample)
                _forgive(forgiven, sample.tp, held, sample.at_us)
            case Damage():
                for (broker, tp), log_dir in places.items():
                    if broker == sample.broker and _may_concern(sample, tp, log_dir):
                        held = holders.setdefault(tp, _Holders())
                        held.damage(sample)
                        _forgive(forgiven, tp, held, sample.at_us)
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
        elif _is_unclean(_Holders(isr=before.isr, is_recovering=before.is_recovering), now):
            epochs[now.tp] = now.leader_epoch
    return epochs


def _is_unclean(held: _Holders, sample: PartitionSample) -> bool:
    """Tell whether an unclean election lies between a sample and the one before it.

    The Isr of the one before may still have had the leader that was elected without it: what
    changes twice between two looks is seen as one change. A leader that recovers tells of both.
    """
    is_outsider = bool(held.isr) and sample.leader >= 0 and sample.leader not in held.isr
    return is_outsider or (sample.is_recovering and not held.is_recovering)


def _forgive(
    forgiven: dict[TopicPartition, int], tp: TopicPartition, held: _Holders, at_us: int
) -> None:
    if held.leader in held.lastingly:
        forgiven[tp] = EVER
    elif held.is_hopeless:
        forgiven[tp] = max(at_us, forgiven.get(tp, at_us))


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
