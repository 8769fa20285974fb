from __future__ import annotations

from protocol.configs import names
from protocol.configs.broker import BROKER_KEYS
from protocol.configs.topic import TOPIC_KEYS


def test_each_name_is_a_key_of_a_broker_or_a_topic() -> None:
    known = {*BROKER_KEYS, *TOPIC_KEYS}
    named = [value for name, value in vars(names).items() if name.isupper()]
    assert {
        one for value in named for one in ([value] if isinstance(value, str) else value)
    } <= known
    assert set(names.THROTTLED_REPLICAS) <= set(TOPIC_KEYS)
