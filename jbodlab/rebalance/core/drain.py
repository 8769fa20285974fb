"""Empties log dirs and brokers: what lies there goes, the heaviest first, to the emptiest."""

from __future__ import annotations

from dataclasses import dataclass

from jbodlab.rebalance.core.board import Board, Slot
from jbodlab.rebalance.core.rules import may_go, takes_replicas
from jbodlab.rebalance.core.situation import LogDirId
from jbodlab.rebalance.core.wish import Wish
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """A replica that should go and cannot."""

    tp: TopicPartition
    at: LogDirId
    reason: str


def drain(board: Board, wish: Wish) -> list[LeftBehind]:
    """Move everything off what is drained; return what has nowhere to go."""
    leaving = [
        slot
        for at in sorted(board.contents)
        if wish.drains(at)
        for slot in list(board.contents[at])
    ]
    left: list[LeftBehind] = []
    for slot in sorted(leaving, key=lambda slot: (-board.weight(slot), slot)):
        reason = _move_away(board, wish, slot)
        if reason:
            tp = board.partition(slot).tp
            left.append(LeftBehind(tp=tp, at=board.place(slot), reason=reason))
    return left


def _move_away(board: Board, wish: Wish, slot: Slot) -> str:
    """Move one replica; return why not, or ""."""
    partition = board.partition(slot)
    if partition.is_changing:
        return "it is being reassigned or moved already"
    if partition.leader < 0:
        return "it has no leader to copy from"
    targets = [
        each
        for each in board.log_dirs
        if takes_replicas(board, wish, each) and may_go(board, wish, slot, each)
    ]
    if not targets:
        return "no log dir may take it (brokers, racks, cordons, free bytes)"
    amount, home = board.weight(slot), board.place(slot).broker

    def preference(at: LogDirId) -> tuple[bool, float, int, LogDirId]:
        """Empty replicas weigh nothing: they are spread by their number."""
        return at.broker != home, board.fullness(at, amount), len(board.contents[at]), at

    board.move(slot, min(targets, key=preference))
    return ""
