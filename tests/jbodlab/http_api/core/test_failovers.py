"""Steps of failovers as events: in order, with their time since the failure."""

from __future__ import annotations

from msgspec.structs import replace

from jbodlab.http_api.core.changes import Change
from jbodlab.http_api.core.failovers import LOOKS_HELD_MAX, Failovers
from jbodlab.http_api.core.snapshot import Snapshot
from protocol.metrics.rows import FailoverEventRow, FailoverStep
from tests.jbodlab.http_api.snapshots import WHOLE, log_dir, partition, replica

FAILURE = "1-AAAAAAAAAAAAAAAAAAAAAA-7"
AT_MS = 1_000_000


def step(step: FailoverStep, after_ms: int, partitions: int = -1) -> FailoverEventRow:
    is_first = step is FailoverStep.LOG_DIR_FAILED
    return FailoverEventRow(
        at_ms=AT_MS + after_ms,
        node="broker-1" if is_first else "controller",
        failure_id=FAILURE,
        step=step,
        topic_count=-1,
        partition_count=partitions,
        detail="/lab/data/b1/d1: append: EIO" if is_first else "",
    )


def short(path: str) -> str:
    return path.removeprefix("/lab/")


def told(changes: list[Change]) -> list[tuple[object, object, str]]:
    return [(each.new, each.since_failure_ms, each.text) for each in changes]


FAILED = step(FailoverStep.LOG_DIR_FAILED, 0, 2)
ELECTED = step(FailoverStep.LEADERS_ELECTED, 14, 1)
WENT_OFFLINE = "failover of data/b1/d1: the log dir went offline (2 partitions)"
ARE_ELECTED = "failover of data/b1/d1: new leaders are elected (1 partition), +14 ms"


def test_steps_wait_for_the_failure_that_they_follow_from() -> None:
    failovers = Failovers(short)
    assert failovers.steps([ELECTED]) == []
    assert told(failovers.steps([FAILED])) == [
        ("log_dir_failed", 0, WENT_OFFLINE),
        ("leaders_elected", 14, ARE_ELECTED),
    ]
    assert failovers.steps([]) == []


def test_a_step_whose_failure_nobody_wrote_down_is_told_at_last() -> None:
    failovers = Failovers(short)
    looks = [failovers.steps([ELECTED] if look == 0 else []) for look in range(20)]
    text = "failover of broker 1: new leaders are elected (1 partition)"
    assert told(looks[LOOKS_HELD_MAX]) == [("leaders_elected", None, text)]
    assert sum(map(len, looks)) == 1


def led_by_2(size_bytes: int) -> Snapshot:
    """Return the lab after the first disk of broker 1 has failed."""
    first, second = WHOLE.brokers
    broken = replace(first.log_dirs[0], is_online=False, cause="EIO")
    leader = replace(second, log_dirs=(log_dir(2, 1, replica(size_bytes)), log_dir(2, 2)))
    return replace(
        WHOLE,
        brokers=(replace(first, log_dirs=(broken, first.log_dirs[1])), leader),
        partitions=(partition(leader=2, isr=(2,), epoch=4),),
    )


def test_the_first_records_that_a_new_leader_takes_are_seen_once() -> None:
    failovers = Failovers(short)
    failovers.steps([FAILED])
    assert failovers.recoveries(WHOLE, led_by_2(100), AT_MS + 300) == []
    assert failovers.recoveries(led_by_2(100), led_by_2(100), AT_MS + 800) == []
    found = failovers.recoveries(led_by_2(100), led_by_2(170), AT_MS + 1300)
    text = "failover of data/b1/d1: orders-0 was the first seen to take records again, +1300 ms"
    assert told(found) == [("client_recovered", 1300, text)]
    assert failovers.recoveries(led_by_2(170), led_by_2(200), AT_MS + 1800) == []


def test_a_disk_that_came_back_is_waited_for_no_more() -> None:
    failovers = Failovers(short)
    failovers.recoveries(WHOLE, led_by_2(100), AT_MS)
    failovers.recoveries(led_by_2(100), WHOLE, AT_MS)
    assert failovers.recoveries(led_by_2(100), led_by_2(900), AT_MS) == []
