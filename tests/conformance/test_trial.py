from __future__ import annotations

import pytest

from conformance.cluster_access import find_cluster
from conformance.core.catalogue import SECURED
from conformance.core.expectations import Expectations
from conformance.core.verdicts import Outcome
from conformance.errors import ConformanceError
from conformance.trial import (
    RELEASES,
    Trial,
    judged,
    likely_release,
    load_expectations,
    recorded,
)
from protocol.errors import ErrorCode
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from tests.conformance.fake_cluster import ANNOUNCED, fake_cluster
from tests.deadlines import DEADLINE_MS
from tests.jbodlab.fake_node import Answer

PATTERN = "minimal/Heartbeat"


async def recording(code: int) -> Expectations:
    with fake_cluster(code=code) as server:
        access = await find_cluster(server, DEADLINE_MS)
        made = await recorded(Trial(access, "77ab"), "0.0", PATTERN)
        access.close()
        return made


async def test_what_was_recorded_of_a_broker_is_what_it_is_judged_by() -> None:
    made = await recording(25)
    assert list(made.seen) == [f"{PATTERN}@v{number}" for number in range(5)]
    done: list[str] = []
    for code, outcome in ((25, Outcome.PASSED), (16, Outcome.VIOLATION)):
        with fake_cluster(code=code) as server:
            access = await find_cluster(server, DEADLINE_MS)
            verdicts = await judged(
                Trial(access, "88cd", on_done=done.append), made, pattern=PATTERN
            )
            access.close()
        assert [each.outcome for each in verdicts] == [outcome] * 5
    assert sorted(set(done)) == sorted(made.seen)


async def test_the_producer_id_that_stands_for_none_is_given_away_before_anything_is_compared() -> (
    None
):
    codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE]
    more: dict[type, Answer] = {
        InitProducerIdRequest: lambda _: InitProducerIdResponse(error_code=codes.pop(0))
    }
    with fake_cluster(more) as server:
        access = await find_cluster(server, DEADLINE_MS)
        access.announced[22] = (0, 4)
        assert await Trial(access, "77ab").observe([]) == {}
        access.close()
    assert codes == []


async def test_versions_that_are_not_announced_are_not_asked_for() -> None:
    made = await recording(25)
    announced = {**ANNOUNCED, 12: (0, 9)}
    more = {**made.seen, "beyond/Heartbeat@v4": []}
    with fake_cluster() as server:
        access = await find_cluster(server, DEADLINE_MS)
        access.announced[12] = (2, 4)
        trial = Trial(access, "88cd")
        verdicts = await judged(
            trial, Expectations("0.0", 1, announced, more), pattern="*/Heartbeat*"
        )
        access.close()
    assert [each.name for each in verdicts if each.outcome is Outcome.NOT_ANNOUNCED] == [
        "minimal/Heartbeat@v0",
        "minimal/Heartbeat@v1",
        "beyond/Heartbeat@v4",
    ]


async def test_a_case_that_cannot_be_carried_out_ends_a_recording() -> None:
    with fake_cluster() as server:
        access = await find_cluster(server, DEADLINE_MS)
        access.announced[0] = (3, 9)
        with pytest.raises(
            ConformanceError, match="the first is typical/Produce@v3: the cluster does not"
        ):
            await recorded(Trial(access, "77ab"), "0.0", "typical/Produce")
        access.close()


async def test_the_release_is_guessed_by_the_oldest_fetch() -> None:
    for release in RELEASES:
        with fake_cluster() as server:
            access = await find_cluster(server, DEADLINE_MS)
            access.announced.update(load_expectations(release).announced)
            assert likely_release(access) == release
            access.close()


async def test_a_secured_cluster_is_not_judged_without_a_login() -> None:
    with fake_cluster() as server:
        access = await find_cluster(server, DEADLINE_MS)
        with pytest.raises(ConformanceError, match="by a super user who logs in"):
            await Trial(access, "77ab", profile=SECURED).observe([])
        access.close()
