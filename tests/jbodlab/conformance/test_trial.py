from __future__ import annotations

import pytest

from jbodlab.conformance.cluster_access import find_cluster
from jbodlab.conformance.core.expectations import Expectations
from jbodlab.conformance.core.verdicts import Outcome
from jbodlab.conformance.trial import (
    RELEASES,
    Trial,
    judged,
    likely_release,
    load_expectations,
    recorded,
)
from jbodlab.errors import LabError
from tests.deadlines import DEADLINE_MS
from tests.jbodlab.conformance.fake_cluster import ANNOUNCED, fake_cluster

PATTERN = "minimal/Heartbeat"


def recording(code: int) -> Expectations:
    with fake_cluster(code=code) as server:
        access = find_cluster(server, DEADLINE_MS)
        made = recorded(Trial(access, "77ab"), "0.0", PATTERN)
        access.close()
        return made


def test_what_was_recorded_of_a_broker_is_what_it_is_judged_by() -> None:
    made = recording(25)
    assert list(made.seen) == [f"{PATTERN}@v{number}" for number in range(5)]
    done: list[str] = []
    for code, outcome in ((25, Outcome.PASSED), (16, Outcome.VIOLATION)):
        with fake_cluster(code=code) as server:
            access = find_cluster(server, DEADLINE_MS)
            verdicts = judged(Trial(access, "88cd", on_done=done.append), made, pattern=PATTERN)
            access.close()
        assert [each.outcome for each in verdicts] == [outcome] * 5
    assert sorted(set(done)) == sorted(made.seen)


def test_versions_that_are_not_announced_are_not_asked_for() -> None:
    made = recording(25)
    announced = {**ANNOUNCED, 12: (0, 9)}
    more = {**made.seen, "beyond/Heartbeat@v4": []}
    with fake_cluster() as server:
        access = find_cluster(server, DEADLINE_MS)
        access.announced[12] = (2, 4)
        trial = Trial(access, "88cd")
        verdicts = judged(trial, Expectations("0.0", 1, announced, more), pattern="*/Heartbeat*")
        access.close()
    assert [each.name for each in verdicts if each.outcome is Outcome.NOT_ANNOUNCED] == [
        "minimal/Heartbeat@v0",
        "minimal/Heartbeat@v1",
        "beyond/Heartbeat@v4",
    ]


def test_a_case_that_cannot_be_carried_out_ends_a_recording() -> None:
    with fake_cluster() as server:
        access = find_cluster(server, DEADLINE_MS)
        access.announced[0] = (3, 9)
        with pytest.raises(LabError, match="the first is typical/Produce@v3: the cluster does not"):
            recorded(Trial(access, "77ab"), "0.0", "typical/Produce")
        access.close()


def test_the_release_is_guessed_by_the_oldest_fetch() -> None:
    for release in RELEASES:
        with fake_cluster() as server:
            access = find_cluster(server, DEADLINE_MS)
            access.announced.update(load_expectations(release).announced)
            assert likely_release(access) == release
            access.close()
