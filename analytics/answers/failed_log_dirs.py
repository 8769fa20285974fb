"""Which log dir of which broker a failover was about."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c


def failed_log_dirs(failovers: DataFrame) -> DataFrame:
    """Input: ``failovers``. Output: run, failure_id, failed_at_ms, broker_id, log_dir, cause.

    One row per failure whose broker told of it: ``node`` is "broker-N", ``detail`` begins with the
    log dir.
    """
    broker = F.regexp_extract(c.NODE, "^broker-([0-9]+)$", 1).try_cast("bigint")
    log_dir = F.element_at(F.split(c.DETAIL, ": ", 2), 1)
    return failovers.select(
        *c.RUN,
        c.FAILURE_ID,
        c.FAILED_AT_MS,
        broker.alias(c.BROKER_ID),
        log_dir.alias(c.LOG_DIR),
        c.CAUSE,
    ).where(F.col(c.BROKER_ID).isNotNull() & (F.col(c.LOG_DIR) != ""))
