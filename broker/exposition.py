"""Metric families in Prometheus' text format. Imported at the first scrape: it costs memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from broker.metrics import Family


def exposition(families: Sequence[Family]) -> tuple[str, bytes]:
    """Return the content type and the text."""
    registry = CollectorRegistry()
    registry.register(_Given(families))
    return CONTENT_TYPE_LATEST, generate_latest(registry)


class _Given(Collector):
    """Hands families that were taken before to Prometheus' client."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Translate family by family."""
        for family in self._families:
            kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
            metric = kind(family.name, family.help, labels=family.label_names)
            for sample in family.samples:
                metric.add_metric(sample.labels, sample.value)
            yield metric
