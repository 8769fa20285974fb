"""kafka-replica-verification: followers have what their leaders have.

Its 4.3 release asks with Fetch v18 and no other.
"""

from __future__ import annotations

import re

from tests.integration.labs import Lab, produce_with_confluent
from tests.kafka_tools.tools import KafkaTools


def test_replicas_are_the_same(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic, partitions=2)
    produce_with_confluent(lab, topic, [b"%d" % number for number in range(500)])

    # The first round may meet a follower on its way to the last records.
    printed = tools.run(
        f"kafka-replica-verification --topics-include {topic} --time -2 --report-interval-ms 200 "
        "--max-wait-ms 100 --fetch-size 2000",
        until="max lag is 0 for partition",
    )

    assert printed.lines[0].endswith(": verification process is started")
    assert re.search(
        rf"max lag is 0 for partition {topic}-\d at offset \d+ among 2 partitions$", printed.out
    )
    assert "mismatch" not in printed.out


def test_topics_that_match_nothing(tools: KafkaTools):
    printed = tools.run("kafka-replica-verification --topics-include nothing-here")
    assert (printed.code, printed.out) == (1, "")
    if tools.release.startswith("3."):  # 4.3's jars name no logger
        assert "No topics found. [topics-include] if specified, is either" in printed.err
