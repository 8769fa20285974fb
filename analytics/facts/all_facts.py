"""Every fact table by its name, with the metric table it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame

from analytics.facts.brokers import broker_facts, request_facts
from analytics.facts.latencies import latency_facts
from analytics.facts.log_dirs import log_dir_facts
from analytics.facts.moves import move_facts
from analytics.facts.partitions import partition_facts

FactsOf: TypeAlias = Callable[[DataFrame, str], DataFrame]
"""(rows with event time, bucket) -> facts."""


class Fact(NamedTuple):
    """One fact table."""

    source: str
    """The metric table."""
    of: FactsOf


FACTS: Final[dict[str, Fact]] = {
    "log_dir_facts": Fact("log_dir", log_dir_facts),
    "broker_facts": Fact("log_dir", broker_facts),
    "partition_facts": Fact("replica", partition_facts),
    "request_facts": Fact("request", request_facts),
    "latency_facts": Fact("latency", latency_facts),
    "move_facts": Fact("move_progress", move_facts),
}
