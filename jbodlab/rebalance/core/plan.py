"""Plans moves and says what they bring: loads, bytes, and the least that any plan needs.

Deterministic: the same situation and request give the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jbodlab.rebalance.core.balance import balance
from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.drain import LeftBehind, drain
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.rules import takes_replicas
from jbodlab.rebalance.core.situation import LogDirId, Situation
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """One replica's way."""

    tp: TopicPartition
    index: int
    """Its position among the partition's replicas; it keeps it."""
    source: LogDirId
    target: LogDirId
    size_bytes: int
    leader: int
    """Who it is copied from when it changes its broker."""

    @property
    def is_between_brokers(self) -> bool:
        """Whether it goes over the network."""
        return self.source.broker != self.target.broker


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancePlan:
    """What is to be moved and what that brings."""

    situation: Situation
    """Settled: as it is without the plan, once what is under way is complete."""
    request: PlanRequest
    movements: tuple[Movement, ...]
    left_behind: tuple[LeftBehind, ...]
    places: tuple[tuple[LogDirId, ...], ...]
    """Where the replicas of each partition of the situation lie afterwards."""
    least_bytes: float
    """No plan that relieves the same log dirs as much moves fewer bytes."""
    imbalance_before: float
    imbalance_after: float

    @property
    def moved_bytes(self) -> int:
        """Bytes that are copied."""
        return sum(each.size_bytes for each in self.movements)


def make_plan(situation: Situation, request: PlanRequest) -> RebalancePlan:
    """Plan what a request asks for, within the rules of ``core.rules``.

    What is under way already is left alone and counts where it will be.
    """
    situation = situation.settled()
    model = ClusterModel(situation, request)
    begun = ClusterModel(situation, request)
    left: list[LeftBehind] = []
    if request.is_drain:
        left = drain(model, request)
    else:
        _even_out(model, request)
    return RebalancePlan(
        situation=situation,
        request=request,
        movements=tuple(_movements(model)),
        left_behind=tuple(left),
        places=tuple(tuple(places) for places in model.places),
        least_bytes=_least_bytes(begun, model.loads),
        imbalance_before=imbalance(begun, request),
        imbalance_after=imbalance(model, request),
    )


def imbalance(model: ClusterModel, request: PlanRequest) -> float:
    """Return how many times its fair share the fullest log dir carries; 1 is perfect.

    The share is of the broker's log dirs, or of all when replicas may change brokers. Log dirs that
    take no replicas do not count.
    """
    scopes = _dirs_by_broker(model, request)
    if request.between_brokers or request.drained_brokers:
        scopes = [tuple(each for scope in scopes for each in scope)]
    worst = 1.0
    for scope in scopes:
        fair = model.bucket_fullness(scope) if scope else 0.0
        if fair > 0:
            worst = max(worst, *(model.fullness(each) / fair for each in scope))
    return worst


def _even_out(model: ClusterModel, request: PlanRequest) -> None:
    """Even brokers out first, then the log dirs of each."""
    by_broker = _dirs_by_broker(model, request)
    if request.between_brokers and len(by_broker) > 1:
        balance(model, request, by_broker)
    for log_dirs in by_broker:
        balance(model, request, [(each,) for each in log_dirs])


def _dirs_by_broker(model: ClusterModel, request: PlanRequest) -> list[tuple[LogDirId, ...]]:
    by_broker: dict[int, list[LogDirId]] = {}
    for each in sorted(model.log_dirs):
        if takes_replicas(model, request, each):
            by_broker.setdefault(each.broker, []).append(each)
    return [tuple(each) for each in by_broker.values()]


def _movements(model: ClusterModel) -> Iterable[Movement]:
    for number, partition in enumerate(model.situation.partitions):
        for index, replica in enumerate(partition.replicas):
            target = model.place(Slot(number, index))
            if target != replica.at:
                yield Movement(
                    tp=partition.tp,
                    index=index,
                    source=replica.at,
                    target=target,
                    size_bytes=replica.size_bytes,
                    leader=partition.leader,
                )


def _least_bytes(begun: ClusterModel, loads_after: Mapping[LogDirId, float]) -> float:
    """Return what must leave, of each log dir its lightest bytes per load first.

    Replicas are taken as if they could be cut, so it is a bound and no plan.
    """
    total = 0.0
    for at, slots in begun.contents.items():
        excess = begun.loads[at] - loads_after[at]
        sized = [(begun.size_bytes(slot), begun.weight(slot)) for slot in slots]
        for size_bytes, amount in sorted(
            (each for each in sized if each[1] > 0), key=lambda each: each[0] / each[1]
        ):
            if excess <= 0:
                break
            part = min(1.0, excess / amount)
            total += size_bytes * part
            excess -= amount
    return total


def least_seconds(plan: RebalancePlan, bytes_per_second: float) -> float:
    """Return how long the plan takes at least when each throttle allows that much.

    Each broker has one limit for what it sends as a leader, one for what it receives as a follower
    and one for what it copies between its own log dirs.
    """
    ways: dict[tuple[str, int], int] = {}
    for each in plan.movements:
        keys = (
            [("in", each.target.broker), ("out", each.leader)]
            if each.is_between_brokers
            else [("within", each.source.broker)]
        )
        for key in keys:
            ways[key] = ways.get(key, 0) + each.size_bytes
    return max(ways.values(), default=0) / bytes_per_second
