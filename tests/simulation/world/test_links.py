"""Links, their rules, and when TCP tries again."""

from __future__ import annotations

from random import Random

import pytest

from simulation.world.links import LATENCY_US, LinkRule, Links, next_attempt_us


def links() -> Links:
    return Links(Random(1))


def test_without_rules_bytes_take_half_to_one_and_a_half_of_the_latency():
    link = links().link("a", "b")
    delays_us = [link.arrival_us(1000, 10) - 1000 for _ in range(200)]
    assert LATENCY_US // 2 <= min(delays_us) < max(delays_us) <= LATENCY_US * 3 // 2


def test_a_rule_holds_for_the_direction_it_names():
    both = links()
    both.add_rule(LinkRule(source="a", target="broker-*", is_cut=True))
    assert both.link("a", "broker-1").is_cut
    assert not both.link("broker-1", "a").is_cut
    assert not both.link("b", "broker-1").is_cut


def test_a_rule_may_hold_both_ways_and_also_for_links_made_before():
    both = links()
    there, back = both.link("a", "b"), both.link("b", "a")
    rule = both.add_rule(LinkRule(source="a", target="b", is_both_ways=True, is_cut=True))
    assert there.is_cut
    assert back.is_cut
    both.remove_rule(rule)
    assert not there.is_cut
    assert not back.is_cut


def test_latencies_of_rules_add_up():
    one = links()
    one.add_rule(LinkRule(latency_us=10_000))
    one.add_rule(LinkRule(latency_us=20_000))
    assert one.link("a", "b").arrival_us(0, 1) >= 30_000


def test_a_narrow_link_makes_bytes_queue():
    one = links()
    one.add_rule(LinkRule(bytes_per_second=1000))
    link = one.link("a", "b")
    assert link.arrival_us(0, 1000) == pytest.approx(1_000_000, abs=LATENCY_US * 2)
    assert link.arrival_us(0, 1000) == pytest.approx(2_000_000, abs=LATENCY_US * 2)


def test_a_lost_segment_comes_when_it_is_sent_again():
    one = links()
    one.add_rule(LinkRule(loss=0.5))
    link = one.link("a", "b")
    lost = sum(link.arrival_us(0, 1) > 200_000 for _ in range(1000))
    assert lost == pytest.approx(500, abs=100)
    link.hit()
    assert link.rules[0].hits == lost


def test_uses_of_a_link_count_for_its_rules_and_no_others():
    one = links()
    met, unmet = one.add_rule(LinkRule(target="b")), one.add_rule(LinkRule(target="c"))
    one.link("a", "b").hit()
    assert (met.hits, unmet.hits) == (1, 0)


def test_a_dark_node_is_silent_for_everybody():
    one = links()
    one.power_off("b")
    assert one.is_silent(one.link("a", "b"))
    assert not one.is_silent(one.link("b", "a"))
    one.power_on("b")
    assert not one.is_silent(one.link("a", "b"))


def test_attempts_come_later_and_later():
    attempts, now_us = list[int](), 0
    for _ in range(5):
        now_us = next_attempt_us(0, now_us)
        attempts.append(now_us)
    assert attempts == [200_000, 600_000, 1_400_000, 3_000_000, 6_200_000]
