"""Decided changes of settings: what is set, what is unset, and what leaves nothing behind."""

from __future__ import annotations

import pytest

from controller.core.config_records import (
    BrokerConfigsChanged,
    ConfigsReplaced,
    GroupConfigsChanged,
    TopicConfigsChanged,
)
from controller.core.state import ClusterState, Partition
from protocol.configs.types import ALL_BROKERS, ResourceType
from tests.controller.core.cluster import topic_records


def with_topic() -> ClusterState:
    state = ClusterState()
    led = Partition(replicas=(1,), leader=1, leader_epoch=0, isr=(1,), partition_epoch=0)
    for record in topic_records("t", [led]):
        record.apply(state)
    return state


def test_a_change_of_a_topic_leaves_what_it_does_not_name() -> None:
    state = with_topic()
    TopicConfigsChanged("t", {"a": "1", "b": "2"}).apply(state)
    TopicConfigsChanged("t", {"b": None, "c": "3", "d": None}).apply(state)
    assert state.topics["t"].configs == {"a": "1", "c": "3"}


@pytest.mark.parametrize("of_group", [False, True])
def test_who_has_no_settings_any_more_is_forgotten(*, of_group: bool) -> None:
    state = ClusterState()
    changed = GroupConfigsChanged if of_group else BrokerConfigsChanged
    stored = state.group_configs if of_group else state.dynamic_configs
    changed("1", {"a": "1"}).apply(state)
    before = stored["1"]
    changed("1", {"b": "2"}).apply(state)
    assert (before, stored) == ({"a": "1"}, {"1": {"a": "1", "b": "2"}}), "nothing changes in place"
    changed("1", {"a": None, "b": None}).apply(state)
    changed("2", {"a": None}).apply(state)
    assert stored == {}


def test_what_others_wrote_replaces_all_that_was_known() -> None:
    state = with_topic()
    ConfigsReplaced(ResourceType.TOPIC, "t", {"a": "1"}).apply(state)
    ConfigsReplaced(ResourceType.TOPIC, "t", {"b": "2"}).apply(state)
    ConfigsReplaced(ResourceType.BROKER, ALL_BROKERS, {"c": "3"}).apply(state)
    assert state.topics["t"].configs == {"b": "2"}
    assert state.dynamic_configs == {ALL_BROKERS: {"c": "3"}}
    for name in (ALL_BROKERS, "7"):
        ConfigsReplaced(ResourceType.BROKER, name, {}).apply(state)
    assert state.dynamic_configs == {}
