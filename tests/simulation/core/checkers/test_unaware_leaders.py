"""Who leads a moment after it joined the Isr may not know where logs begin."""

from __future__ import annotations

import pytest

from simulation.core.checkers.unaware_leaders import led_unaware_us
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _story(*, joins_s: float, leads_s: float, leader: int = 2) -> Story:
    """Broker 2 is out of the Isr at 2 s."""
    story = Story().at(1)
    story.partition(isr=(1, 3), replicas=(1, 2, 3))
    story.at(joins_s).partition(isr=(1, 3, 2), epoch=0, replicas=(1, 2, 3))
    story.at(leads_s).partition(isr=(1, 3, 2), leader=leader, epoch=1, replicas=(1, 2, 3))
    story.at(9)
    return story


def test_who_leads_before_its_first_fetch_has_to_be_answered_may_not_know() -> None:
    story = _story(joins_s=3, leads_s=3.4)
    assert led_unaware_us(story.evidence, TP, 2 * SECOND_US) == 3.4 * SECOND_US

    story.configs["replica.fetch.wait.max.ms"] = "300"
    assert led_unaware_us(story.evidence, TP, 2 * SECOND_US) is None


@pytest.mark.parametrize(
    ("joins_s", "leads_s", "leader"),
    [(3, 3.5, 2), (3, 3.4, 3), (3, 3.4, 1), (1.8, 2.1, 2)],
    ids=["heard", "in the Isr all the time", "led before", "in the Isr at that time"],
)
def test_others_know(joins_s: float, leads_s: float, leader: int) -> None:
    story = _story(joins_s=joins_s, leads_s=leads_s, leader=leader)

    assert led_unaware_us(story.evidence, TP, 2 * SECOND_US) is None
