"""kafka-broker-api-versions: what every broker serves, as the tool's own client understands it."""

from __future__ import annotations

import re

from broker.dispatcher import check_registry
from broker.handlers import HANDLERS
from tests.kafka_tools.tools import KafkaTools


def test_every_broker_tells_what_it_serves(tools: KafkaTools):
    check_registry()
    printed = tools.run("kafka-broker-api-versions")
    assert (printed.code, printed.err) == (0, "")
    brokers = re.split(r"^127\.0\.0\.1:\d+ ", printed.out, flags=re.MULTILINE)[1:]
    assert sorted(one[: len("(id: 1 rack: rack-1")] for one in brokers) == [
        "(id: 1 rack: rack-1",
        "(id: 2 rack: rack-2",
        "(id: 3 rack: rack-3",
    ]
    served = re.findall(r"^\t\w+\((\d+)\): (\d+)(?: to (\d+))?", brokers[0], flags=re.MULTILINE)
    assert {int(key): (int(low), int(high or low)) for key, low, high in served} == {
        key: (handler.versions.low, handler.versions.high) for key, handler in HANDLERS.items()
    }
