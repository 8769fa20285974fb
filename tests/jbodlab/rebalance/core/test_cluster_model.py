from __future__ import annotations

from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan_request import Goal, PlanRequest
from jbodlab.rebalance.core.situation import LogDir, LogDirId, Situation
from tests.jbodlab.rebalance.situations import at, in_one_dir, log_dirs, partition


def board_of(
    *, request: PlanRequest | None = None, totals: tuple[int, int] = (-1, -1)
) -> ClusterModel:
    dirs = tuple(
        LogDir(id=at(1, number), total_bytes=total) for number, total in enumerate(totals, 1)
    )
    return ClusterModel(
        Situation(log_dirs=dirs, partitions=in_one_dir([30, 50], at(1, 1))),
        request or PlanRequest(),
    )


def test_a_move_takes_the_load_along() -> None:
    model = board_of()
    model.move(Slot(1, 0), at(1, 2))
    assert (model.loads[at(1, 1)], model.loads[at(1, 2)]) == (30, 50)
    assert model.place(Slot(1, 0)) == at(1, 2)
    assert list(model.contents[at(1, 2)]) == [Slot(1, 0)]
    assert model.arriving_bytes == {at(1, 1): 0, at(1, 2): 50}


def test_a_replica_that_comes_home_again_arrives_nowhere() -> None:
    model = board_of()
    model.move(Slot(1, 0), at(1, 2))
    model.move(Slot(1, 0), at(1, 1))
    assert model.arriving_bytes == {at(1, 1): 0, at(1, 2): 0}


def test_bytes_are_shared_by_the_size_of_disks_when_all_are_known() -> None:
    model = board_of(totals=(100, 300))
    assert model.fullness(at(1, 2), 30) == 0.1
    assert model.bucket_fullness([at(1, 1), at(1, 2)]) == 80 / 400


def test_counts_and_disks_of_unknown_size_are_shared_equally() -> None:
    assert board_of(totals=(100, -1)).shares == {at(1, 1): 1.0, at(1, 2): 1.0}
    counted = board_of(request=PlanRequest(goal=Goal.PARTITIONS), totals=(100, 300))
    assert counted.shares == {at(1, 1): 1.0, at(1, 2): 1.0}
    assert counted.loads[at(1, 1)] == 2


def test_a_replica_in_no_known_log_dir_has_a_place_too() -> None:
    lost = LogDirId(2, "")
    situation = Situation(log_dirs=log_dirs(1), partitions=(partition(0, [at(1, 1), lost], 5),))
    model = ClusterModel(situation, PlanRequest())
    assert model.loads[lost] == 5
    assert model.place(Slot(0, 1)) == lost
