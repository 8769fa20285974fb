from __future__ import annotations

from jbodlab.rebalance.core.board import Board, Slot
from jbodlab.rebalance.core.situation import LogDir, LogDirId, Situation
from jbodlab.rebalance.core.wish import Goal, Wish
from tests.jbodlab.rebalance.situations import at, in_one_dir, log_dirs, partition


def board_of(*, wish: Wish | None = None, totals: tuple[int, int] = (-1, -1)) -> Board:
    dirs = tuple(
        LogDir(id=at(1, number), total_bytes=total) for number, total in enumerate(totals, 1)
    )
    return Board(
        Situation(log_dirs=dirs, partitions=in_one_dir([30, 50], at(1, 1))), wish or Wish()
    )


def test_a_move_takes_the_load_along() -> None:
    board = board_of()
    board.move(Slot(1, 0), at(1, 2))
    assert (board.loads[at(1, 1)], board.loads[at(1, 2)]) == (30, 50)
    assert board.place(Slot(1, 0)) == at(1, 2)
    assert list(board.contents[at(1, 2)]) == [Slot(1, 0)]
    assert board.arriving_bytes == {at(1, 1): 0, at(1, 2): 50}


def test_a_replica_that_comes_home_again_arrives_nowhere() -> None:
    board = board_of()
    board.move(Slot(1, 0), at(1, 2))
    board.move(Slot(1, 0), at(1, 1))
    assert board.arriving_bytes == {at(1, 1): 0, at(1, 2): 0}


def test_bytes_are_shared_by_the_size_of_disks_when_all_are_known() -> None:
    board = board_of(totals=(100, 300))
    assert board.fullness(at(1, 2), 30) == 0.1
    assert board.bucket_fullness([at(1, 1), at(1, 2)]) == 80 / 400


def test_counts_and_disks_of_unknown_size_are_shared_equally() -> None:
    assert board_of(totals=(100, -1)).shares == {at(1, 1): 1.0, at(1, 2): 1.0}
    counted = board_of(wish=Wish(goal=Goal.PARTITIONS), totals=(100, 300))
    assert counted.shares == {at(1, 1): 1.0, at(1, 2): 1.0}
    assert counted.loads[at(1, 1)] == 2


def test_a_replica_in_no_known_log_dir_has_a_place_too() -> None:
    lost = LogDirId(2, "")
    situation = Situation(log_dirs=log_dirs(1), partitions=(partition(0, [at(1, 1), lost], 5),))
    board = Board(situation, Wish())
    assert board.loads[lost] == 5
    assert board.place(Slot(0, 1)) == lost
