"""What groups are configured to."""

from broker.core.groups.consumer.group_settings import settings_of
from protocol.configs.broker import BrokerConfig
from protocol.configs.group_parsing import group_config


def test_groups_have_what_kafka_gives_them_where_nothing_is_configured() -> None:
    assert settings_of(group_config({}, BrokerConfig())) == (45_000, 5_000, 1_000)


def test_a_group_has_what_it_is_configured_to() -> None:
    own = {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "6000"}
    assert settings_of(group_config(own, BrokerConfig())) == (50_000, 6_000, 1_000)
