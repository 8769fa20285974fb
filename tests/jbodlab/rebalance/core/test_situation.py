from __future__ import annotations

import pytest

from jbodlab.rebalance.core.situation import LogDir, LogDirId, Situation
from tests.jbodlab.rebalance.situations import at, log_dirs, partition


@pytest.mark.parametrize(
    ("is_online", "is_cordoned", "accepts"),
    [(True, False, True), (False, False, False), (True, True, False)],
)
def test_a_log_dir_takes_replicas_when_online_and_not_cordoned(
    is_online: bool, is_cordoned: bool, accepts: bool
) -> None:
    log_dir = LogDir(id=at(1, 1), is_online=is_online, is_cordoned=is_cordoned)
    assert log_dir.accepts == accepts


def test_a_partition_is_whole_with_a_leader_and_all_replicas_online() -> None:
    places = [at(1, 1), at(2, 1)]
    assert partition(0, places).is_whole
    assert not partition(0, places, offline=[2]).is_whole
    assert not partition(0, places, leader=-1).is_whole


def test_the_log_dirs_of_a_broker_are_its_own() -> None:
    situation = Situation(log_dirs=log_dirs(2), partitions=())
    assert [each.id for each in situation.log_dirs_of(2)] == [at(2, 1), at(2, 2)]


def test_a_replica_nobody_tells_of_is_shown_as_such() -> None:
    assert str(LogDirId(3, "")) == "3:(unknown)"
    assert str(at(3, 1)) == "3:/b3/d1"
