"""Metric rows as records of a topic: its name, and what a key says. It sends and reads nothing.

A value is the line that a dump folder would have; a key is ``<table>/v<version>``, as its path.
"""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.metrics.rows import TABLE_OF_ROW, TABLE_VERSION, MetricRow

METRICS_TOPIC: Final = "__jbodlab_metrics"


def record_key(row: MetricRow) -> bytes:
    """Return the key of a row's record, such as ``log_dir/v2``."""
    return f"{TABLE_OF_ROW[type(row)]}/v{TABLE_VERSION}".encode()


def record_value(line_begins: bytes, row: MetricRow) -> bytes:
    """Return the line of a row; ``line_begins`` as ``writer.line_begins``."""
    return line_begins + msgspec.json.encode(row)[1:]
