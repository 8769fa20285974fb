"""Empties log dirs and brokers: what lies there goes, the heaviest first, to the emptiest."""

from __future__ import annotations

from dataclasses import dataclass

from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.rules import may_go, takes_replicas
from jbodlab.rebalance.core.situation import LogDirId
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """A replica that should go and cannot."""

    tp: TopicPartition
    at: LogDirId
    reason: str


def drain(model: ClusterModel, request: PlanRequest) -> list[LeftBehind]:
    """Move everything off what is drained; return what has nowhere to go."""
    leaving = [
        slot
        for at in sorted(model.contents)
        if request.drains(at)
        for slot in list(model.contents[at])
    ]
    left: list[LeftBehind] = []
    for slot in sorted(leaving, key=lambda slot: (-model.weight(slot), slot)):
        reason = _move_away(model, request, slot)
        if reason:
            tp = model.partition(slot).tp
            left.append(LeftBehind(tp=tp, at=model.place(slot), reason=reason))
    return left


def _move_away(model: ClusterModel, request: PlanRequest, slot: Slot) -> str:
    """Move one replica; return why not, or ""."""
    partition = model.partition(slot)
    if partition.is_changing:
        return "it is being reassigned or moved already"
    if partition.leader < 0:
        return "it has no leader to copy from"
    targets = [
        each
        for each in model.log_dirs
        if takes_replicas(model, request, each) and may_go(model, request, slot, each)
    ]
    if not targets:
        return "no log dir may take it (brokers, racks, cordons, free bytes)"
    amount, home = model.weight(slot), model.place(slot).broker

    def preference(at: LogDirId) -> tuple[bool, float, int, LogDirId]:
        """Empty replicas weigh nothing: they are spread by their number."""
        return at.broker != home, model.fullness(at, amount), len(model.contents[at]), at

    model.move(slot, min(targets, key=preference))
    return ""
