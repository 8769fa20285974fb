from __future__ import annotations

from jbodlab.rebalance.core.balance import balance
from jbodlab.rebalance.core.board import Board, Slot
from jbodlab.rebalance.core.situation import Situation
from jbodlab.rebalance.core.wish import Wish
from tests.jbodlab.rebalance.situations import at, in_one_dir, log_dirs, partition

SINGLE = [(at(1, 1),), (at(1, 2),)]


def balanced(sizes: list[int], wish: Wish | None = None) -> Board:
    wish = wish or Wish()
    board = Board(Situation(log_dirs=log_dirs(1), partitions=in_one_dir(sizes, at(1, 1))), wish)
    balance(board, wish, SINGLE)
    return board


def test_the_replica_goes_that_brings_both_closest_together() -> None:
    board = balanced([50, 30, 20])
    assert board.loads == {at(1, 1): 50, at(1, 2): 50}
    assert board.place(Slot(0, 0)) == at(1, 2), "one move, not two"


def test_a_replica_that_would_only_change_places_stays() -> None:
    assert balanced([100]).loads == {at(1, 1): 100, at(1, 2): 0}


def test_what_is_within_the_tolerance_stays() -> None:
    wish = Wish(tolerance=0.5)
    dirs = log_dirs(1)
    partitions = tuple(partition(n, [at(1, 1 + (n > 2))], 10) for n in range(5))
    board = Board(Situation(log_dirs=dirs, partitions=partitions), wish)
    balance(board, wish, SINGLE)
    assert board.loads == {at(1, 1): 30, at(1, 2): 20}


def test_of_replicas_that_gain_the_same_the_one_with_fewer_bytes_goes() -> None:
    wish = Wish(tolerance=0)
    board = balanced([10, 30], wish)
    assert board.places == [[at(1, 2)], [at(1, 1)]]


def test_replicas_that_are_changing_or_not_whole_stay() -> None:
    partitions = (
        partition(0, [at(1, 1)], 50, is_changing=True),
        partition(1, [at(1, 1)], 50, leader=-1),
        partition(2, [at(1, 1)], 0),
    )
    board = Board(Situation(log_dirs=log_dirs(1), partitions=partitions), Wish())
    balance(board, Wish(), SINGLE)
    assert board.places == [[at(1, 1)]] * 3
