"""Situations as they are drawn."""

from __future__ import annotations

from random import Random

import pytest

from protocol.configs.names import THROTTLED_RATES, THROTTLED_REPLICAS
from simulation.core import actions
from simulation.core.actions import AlterConfigs, Clear, Fault
from simulation.core.dice import Dice
from simulation.core.draw_cluster import draw_cluster, draw_workloads
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_settings import Setting, settled
from simulation.core.draw_situations import Lane, draw_situations
from simulation.core.features import Features, Situation

WITH_LANES = (
    Situation.UNCLEAN_ELECTION,
    Situation.THROTTLED_REPLICAS,
    Situation.REBALANCE,
    Situation.CONTROLLER_DISK,
    Situation.FAILING_MOVE,
    Situation.CONTROLLER_ENDS,
    Situation.REQUEST_FAULTS,
    Situation.LATE_FAILURE,
    Situation.LATE_REQUESTS,
    Situation.INTERRUPTED_MOVE,
    Situation.LASTING_DELETION,
    Situation.ISR_CHANGES,
    Situation.RETURNING_LOG_DIRS,
)


def lanes_of(seed: int, situation: Situation) -> list[Lane]:
    features = Features((situation,))

    def stream(name: str) -> Dice:
        return Random(f"{seed}/{name}")

    cluster = draw_cluster(Random(seed))
    setting = settled(Setting(cluster, draw_workloads(Random(seed), cluster)), features, stream)
    return draw_situations(features, FaultScope(setting.cluster, 5_000), setting.workloads, stream)


def test_nothing_is_drawn_where_no_situation_is_on() -> None:
    scope = FaultScope(draw_cluster(Random(1)), 5_000)
    assert draw_situations(Features(("eio",)), scope, (), Random) == []


@pytest.mark.parametrize("situation", WITH_LANES)
def test_lanes_are_in_order_of_time_and_take_back_their_faults(situation: Situation) -> None:
    for seed in range(20):
        lanes = lanes_of(seed, situation)
        assert lanes
        for lane in lanes:
            times = [timed.at_ms for timed in lane]
            assert times == sorted(times)
            assert 0 <= times[0] <= times[-1] <= 5_000
        every = [timed.action for lane in lanes for timed in lane]
        for action in every:
            if isinstance(action, Fault):
                assert Clear(action.name, once_met=True) in every


def test_throttles_are_taken_off_as_they_were_set() -> None:
    for seed in range(20):
        set_now: dict[str, str | None] = {}
        lanes = lanes_of(seed, Situation.THROTTLED_REPLICAS)
        for timed in lanes[0]:
            assert isinstance(timed.action, AlterConfigs)
            set_now |= timed.action.set
        assert set_now == dict.fromkeys((*THROTTLED_REPLICAS, *THROTTLED_RATES))


def test_a_controller_that_ends_is_started_again() -> None:
    for seed in range(20):
        _, ends, _ = lanes_of(seed, Situation.CONTROLLER_ENDS)
        assert [timed.action for timed in ends][-1] == actions.Start("controller")
