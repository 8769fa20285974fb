"""Brokers are restarted under idempotent producers of real clients; `make restarts` does more.

The Java client is only in the full one: a JVM more would cost every run of the tests seconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.restarts.loads import Client
from tests.restarts.rounds import Way, rounds

RATE = 300


@pytest.mark.sampled_among("the longest waits for clusters", kept=1)
def test_no_restart_ends_an_idempotent_producer_or_loses_or_doubles_a_record(
    tmp_path: Path,
) -> None:
    with rounds(tmp_path, [Client.LIBRDKAFKA, Client.AIOKAFKA], RATE) as under_way:
        for way in (Way.CLEAN, Way.KILL, Way.CLEAN):
            under_way.play(way)
        outcome = under_way.judge()
    assert outcome.is_clean, outcome
    assert outcome.leaders_moved > 0
    acknowledged = [
        verdict.acknowledged for topics in outcome.verdicts.values() for verdict in topics.values()
    ]
    assert min(acknowledged) > 0
