"""What groups are configured to."""

from broker.core.groups.consumer.group_settings import settings_of
from protocol.configs.coordination import CoordinationConfig


def test_groups_have_what_kafka_gives_them_where_nothing_is_configured() -> None:
    assert settings_of(CoordinationConfig()) == (45_000, 5_000, 1_000)
