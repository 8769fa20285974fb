"""Orders as they are drawn."""

from __future__ import annotations

from random import Random

import pytest

from protocol.configs.parsing import config_mistakes
from protocol.configs.topic import TOPIC_KEYS
from simulation.core import actions
from simulation.core.draw_cluster import draw_cluster, draw_workloads
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_orders import ORDER_KINDS, draw_orders, draw_quiet_deletion

SCENES = [FaultScope(draw_cluster(Random(seed)), 10_000) for seed in range(20)]


@pytest.mark.parametrize("kind", ORDER_KINDS)
def test_orders_of_every_kind_come_in_order_of_time(kind: str) -> None:
    for seed, scene in enumerate(SCENES):
        orders = draw_orders(Random(seed), scene, [kind], range(1, 7))
        assert len(orders) >= 6
        times = [order.at_ms for order in orders]
        assert times == sorted(times)
        assert times[0] > 0
        assert times[-1] <= 10_000


def test_topics_are_deleted_after_they_were_made() -> None:
    for seed, scene in enumerate(SCENES):
        made: list[str] = []
        for order in draw_orders(Random(seed), scene, ["pass_topic"], range(1, 6)):
            if isinstance(order.action, actions.CreateTopic):
                made.append(order.action.name)
            else:
                assert isinstance(order.action, actions.DeleteTopic)
                assert order.action.name in made


def test_topics_get_only_configurations_that_exist() -> None:
    for seed, scene in enumerate(SCENES):
        for order in draw_orders(Random(seed), scene, ["alter_topic"], range(1, 6)):
            assert isinstance(order.action, actions.AlterConfigs)
            given = {name: value for name, value in order.action.set.items() if value is not None}
            assert config_mistakes(TOPIC_KEYS, given) == []


def test_records_are_deleted_when_nobody_writes_to_their_topic_any_more() -> None:
    drawn_count = 0
    for seed, scene in enumerate(SCENES):
        workloads = draw_workloads(Random(seed), scene.cluster)
        lane = draw_quiet_deletion(Random(seed), scene, workloads)
        for *stops, last in [lane] if lane else []:
            drawn_count += 1
            assert isinstance(last.action, actions.DeleteRecords)
            topic = last.action.of.rpartition("-")[0]
            own = [one for one in workloads if (one.kind, one.topic) == ("produce", topic)]
            assert {one.client for one in own} == {"plain"}
            assert [each.action for each in stops] == [
                actions.StopWorkload(one.name) for one in own
            ]
            assert all(each.at_ms <= last.at_ms for each in stops)
    assert drawn_count > len(SCENES) / 2
