"""How far each checker could see."""

from __future__ import annotations

from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.reach import Reach, checks_of
from simulation.core.checkers.table import CHECKERS, check_all
from simulation.core.samples import SampleSource
from tests.simulation.core.checkers.build import Story


def reaches(evidence: Evidence) -> dict[str, Reach]:
    return {check.checker: check.reach for check in checks_of(evidence)}


def whole() -> Story:
    story = Story()
    story.samples.sources = tuple(SampleSource)
    story.send(1, offset=0)
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    story.log(1, 1, is_leader=True)
    return story


def test_every_checker_says_how_far_it_could_see_and_no_other() -> None:
    story = Story().at(1)
    story.partition(leader=1, offline=(1,), isr=(1,), replicas=(1,))
    story.begin_send(1)

    found = {violation.checker for violation in check_all(story.evidence)}

    assert len(reaches(story.evidence)) == len(CHECKERS)
    assert found <= set(reaches(story.evidence))


def test_where_nobody_looks_only_what_clients_saw_is_checked_in_part() -> None:
    story = Story()
    story.send(1, offset=0)

    checks = checks_of(story.evidence)

    assert [check.checker for check in checks if check.reach is Reach.CHECKED] == []
    reads, polls, answers = [check for check in checks if check.reach is Reach.IN_PART]
    assert (reads.checker, polls.checker) == ("reads", "polls")
    assert str(answers) == "answers (without connections)"


def test_what_was_looked_at_and_compared_is_checked() -> None:
    seen = reaches(whole().evidence)

    assert seen["durability"] is seen["logs agree"] is seen["high watermark"] is Reach.CHECKED


def test_a_place_that_was_empty_is_not_seen() -> None:
    story = whole()
    story.samples.logs = [log._replace(is_readable=False) for log in story.samples.logs]

    seen = reaches(story.evidence)

    assert seen["logs agree"] is seen["one log per replica"] is Reach.NOT_SEEN
    assert seen["journal"] is seen["bounds"] is Reach.NOT_SEEN


def test_what_a_checker_only_likes_to_have_leaves_it_in_part() -> None:
    story = whole()
    story.samples.sources = tuple(
        each for each in SampleSource if each is not SampleSource.LOG_DIRS
    )

    (offline,) = [each for each in checks_of(story.evidence) if each.checker == "offline replicas"]

    assert (offline.reach, offline.without) == (Reach.IN_PART, ("log dirs in brokers",))


def test_a_partition_without_a_leader_s_log_is_named() -> None:
    story = whole()
    story.samples.logs = [log._replace(is_leader=False) for log in story.samples.logs]

    durability = checks_of(story.evidence)[0]

    assert (durability.reach, durability.without) == (
        Reach.IN_PART,
        ("a leader's log of orders-0",),
    )
