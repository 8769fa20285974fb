"""Reads the metrics that a broker serves, in Prometheus' text format."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


def metric_values(text: str) -> dict[str, float]:
    """Return every value by its name, with labels as in the text: ``size_bytes{log_dir="/d1"}``.

    Raises:
        ValueError: it is no text of Prometheus.
    """
    return {
        _name(sample): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _name(sample: Sample) -> str:
    """Return name and labels as the text has them, labels in the order of their names."""
    labels = ",".join(f'{key}="{_escaped(text)}"' for key, text in sorted(sample.labels.items()))
    return f"{sample.name}{{{labels}}}" if labels else sample.name


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
