"""Evens loads out, greedily: the fullest gives to the emptiest what brings both closest together.

A bucket is what is compared: the log dirs of one broker together, or one log dir. Every move lowers
the sum of squares of loads per share, puts no log dir above the one it relieves, and moves a
replica once at most, so it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from jbodlab.rebalance.core.board import Board, Slot
from jbodlab.rebalance.core.rules import may_go
from jbodlab.rebalance.core.situation import LogDirId
from jbodlab.rebalance.core.wish import Wish

Bucket: TypeAlias = tuple[LogDirId, ...]


def balance(board: Board, wish: Wish, buckets: Sequence[Bucket]) -> None:
    """Move replicas between buckets until nothing that is allowed brings them closer."""
    moved: set[Slot] = set()
    while (found := _next_move(board, wish, buckets, moved)) is not None:
        slot, target = found
        board.move(slot, target)
        moved.add(slot)


def _next_move(
    board: Board, wish: Wish, buckets: Sequence[Bucket], moved: set[Slot]
) -> tuple[Slot, LogDirId] | None:
    fair = board.bucket_fullness(each for bucket in buckets for each in bucket)
    ranked = sorted(buckets, key=lambda bucket: (board.bucket_fullness(bucket), bucket))
    for source in reversed(ranked):
        if board.bucket_fullness(source) <= fair * (1 + wish.tolerance):
            return None
        for target in ranked:
            if board.bucket_fullness(target) >= fair:
                break
            if found := _best_move(board, wish, source, target, moved):
                return found
    return None


def _best_move(
    board: Board, wish: Wish, source: Bucket, target: Bucket, moved: set[Slot]
) -> tuple[Slot, LogDirId] | None:
    """Return the allowed move that gains most; of equals the one with the fewest bytes."""
    gains = [
        (-gain, board.size_bytes(slot), slot)
        for slot in _movable(board, source, moved)
        if (gain := _gain(board, source, target, board.weight(slot))) > 0
    ]
    emptiest_first = sorted(target, key=lambda each: (board.fullness(each), each))
    for _, _, slot in sorted(gains):
        limit = board.fullness(board.place(slot))
        for log_dir in emptiest_first:
            stays_below = board.fullness(log_dir, board.weight(slot)) < limit
            if stays_below and may_go(board, wish, slot, log_dir):
                return slot, log_dir
    return None


def _movable(board: Board, source: Bucket, moved: set[Slot]) -> Iterable[Slot]:
    for log_dir in source:
        for slot in board.contents[log_dir]:
            partition = board.partition(slot)
            if slot not in moved and partition.is_whole and not partition.is_changing:
                yield slot


def _gain(board: Board, source: Bucket, target: Bucket, amount: float) -> float:
    """Return by how much the sum of squares falls when ``amount`` goes over."""
    if amount <= 0:
        return 0.0
    gap = board.bucket_fullness(source) - board.bucket_fullness(target)
    from_share = sum(board.shares[each] for each in source)
    to_share = sum(board.shares[each] for each in target)
    return amount * (2 * gap - amount * (1 / from_share + 1 / to_share))
