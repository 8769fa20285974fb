from __future__ import annotations

from protocol.faults.model import DiskFault, DiskMode
from simulation.core.actions import Fault, Kill, RestartLogDir
from simulation.core.conditions import AllOf, FileIn, Led, LogDirIs, NodeIs, Not, ReplicaIn
from simulation.core.needs import Need, needs_of


def test_what_is_known_without_asking_needs_nothing() -> None:
    assert needs_of(NodeIs(node="broker-1", state="running")) == ()
    assert needs_of(Kill("broker-1")) == ()


def test_a_condition_needs_what_its_parts_need_each_once() -> None:
    condition = AllOf(
        (Not(Led("a-0")), ReplicaIn(of="a-0", broker="broker-1"), Led("b-0")),
    )

    assert needs_of(condition) == (Need.METADATA, Need.LOG_DIRS)


def test_files_are_looked_at_without_asking_a_broker() -> None:
    condition = FileIn(broker="broker-1", log_dir="d1", name="meta.properties")

    assert needs_of(condition) == (Need.FILES,)


def test_a_role_needs_metadata() -> None:
    assert needs_of(Kill("leader of a-0")) == (Need.METADATA,)
    assert needs_of(NodeIs(node="follower of a-0", state="paused")) == (Need.METADATA,)


def test_the_log_dir_of_a_partition_needs_a_look_at_log_dirs() -> None:
    rule = DiskFault(mode=DiskMode.EIO, node="leader of a-0", log_dir="of a-0")

    assert needs_of(RestartLogDir(broker="broker-1", log_dir="of a-0")) == (Need.LOG_DIRS,)
    assert needs_of(Fault(name="dead", rule=rule)) == (Need.METADATA, Need.LOG_DIRS)


def test_a_log_dir_by_its_name_is_looked_at_where_it_is() -> None:
    condition = LogDirIs(broker="broker-1", log_dir="d1", state="online")

    assert needs_of(condition) == (Need.LOG_DIRS,)
