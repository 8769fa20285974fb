"""Apache Kafka's client of 4.3 subscribed by a pattern: brokers resolve it, again for new topics.

Needs Java and Maven (for Kafka's jars); skipped without them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from benchmarks.peer.kafka import BUILD_DIR, PeerMissingError, fetch
from jbodlab.processes.lab_spec import LabShape
from tests.integration.apache_kafka import run_tool
from tests.integration.labs import FAST, running_lab

CLIENT_VERSION: Final = "4.3.1"
PROGRAM: Final = Path(__file__).with_name("java") / "PatternConsumer.java"
PATTERN: Final = "orders[.-]eu"
SHORT: Final = {"group.consumer.heartbeat.interval.ms": "500"}


@pytest.mark.sampled_among("subscriptions by a pattern, of Apache Kafka 4.3", kept=0)
def test_a_member_has_the_topics_that_its_pattern_matches_now(tmp_path: Path) -> None:
    try:
        libs = fetch(BUILD_DIR, CLIENT_VERSION)
    except PeerMissingError as error:
        pytest.skip(str(error))
    with running_lab(tmp_path, LabShape(configs={**FAST, **SHORT})) as lab:
        lab.create("orders-eu")
        lab.create("more-orders-eu")
        names = ("readers", PATTERN, "orders-eu", "orders.eu")
        said = run_tool(libs, str(PROGRAM), ",".join(lab.servers), *names, cwd=tmp_path)
        lines = [line for line in said.splitlines() if not line.startswith("SLF4J")]
        assert lines[:2] == ["the topic that is there", "the new topic, too"], said
        assert lines[2].startswith("refused: ")
        assert lines[2].endswith(
            "`(readers` is not a valid regular expression: missing ): (readers."
        )
