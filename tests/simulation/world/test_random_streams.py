"""Streams of chance do not know each other."""

from __future__ import annotations

from simulation.world.random_streams import RandomStreams


def test_a_stream_draws_the_same_for_the_same_seed_and_name():
    assert (
        RandomStreams(7).stream("network").random() == RandomStreams(7).stream("network").random()
    )


def test_seeds_and_names_draw_differently():
    draws = [
        RandomStreams(7).stream("network").random(),
        RandomStreams(8).stream("network").random(),
        RandomStreams(7).stream("faults").random(),
    ]
    assert len(set(draws)) == 3


def test_a_draw_more_in_one_stream_changes_no_other():
    disturbed, calm = RandomStreams(7), RandomStreams(7)
    disturbed.stream("faults").random()
    assert disturbed.stream("network").random() == calm.stream("network").random()


def test_a_stream_goes_on_where_it_was():
    chance = RandomStreams(7)
    assert chance.stream("network").random() != chance.stream("network").random()
