"""The result tables of a dump as DuckDB makes them: another engine, and no code of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import duckdb

RUN: Final = "cluster_id, run_id, seed"


class Made(NamedTuple):
    """A table that comes from other tables; all of its columns have names."""

    query: str
    is_shown: bool = True
    """Whether a report has it; else it only helps others."""


QUERIES: Final = {
    "runs": f"""
        SELECT {RUN}, min(at_ms), max(at_ms), count(DISTINCT broker_id), count(*)
        FROM log_dir GROUP BY ALL""",
    "log_dirs": f"""
        WITH steps AS (
            SELECT *, append_bytes_total - lag(append_bytes_total) OVER (
                PARTITION BY {RUN}, broker_id, log_dir, broker_epoch
                ORDER BY at_ms, append_bytes_total) AS diff
            FROM log_dir),
        epochs AS (
            SELECT {RUN}, broker_id, log_dir, max(at_ms) - min(at_ms) AS ms,
                sum(CASE WHEN diff < 0 THEN append_bytes_total ELSE coalesce(diff, 0) END) AS grown
            FROM steps GROUP BY {RUN}, broker_id, log_dir, broker_epoch),
        rates AS (
            SELECT {RUN}, broker_id, log_dir, sum(grown) * 1000.0 / nullif(sum(ms), 0) AS rate
            FROM epochs GROUP BY ALL),
        latest AS (
            SELECT * FROM replica QUALIFY at_ms = max(at_ms) OVER (PARTITION BY {RUN}, broker_id)),
        led AS (
            SELECT *, is_leader AND NOT is_future AND rank() OVER (
                PARTITION BY {RUN}, topic, partition, is_leader AND NOT is_future
                ORDER BY leader_epoch DESC, at_ms DESC, broker_id DESC) = 1 AS leads
            FROM latest),
        held AS (
            SELECT {RUN}, broker_id, log_dir, count(*) FILTER (leads) AS leaders,
                max(lag) AS lag_max
            FROM led GROUP BY ALL),
        dirs AS (
            SELECT *, max(queue_depth_count) OVER dir AS depth,
                max(interval_ms) OVER dir AS every_ms,
                max(at_ms) OVER (PARTITION BY {RUN}) AS end_ms
            FROM log_dir WINDOW dir AS (PARTITION BY {RUN}, broker_id, log_dir)
            QUALIFY row_number() OVER (PARTITION BY {RUN}, broker_id, log_dir ORDER BY at_ms DESC,
                broker_epoch DESC, append_count_total DESC, append_bytes_total DESC) = 1)
        SELECT {RUN}, broker_id, log_dir,
            CASE WHEN every_ms > 0 AND end_ms - at_ms > 3 * every_ms THEN 'stale'
                WHEN online THEN 'online' ELSE 'offline' END,
            at_ms, used_bytes, total_bytes, usable_bytes, replica_count, future_count,
            CASE WHEN total_bytes > 0 THEN used_bytes / total_bytes END,
            coalesce(leaders, 0), coalesce(lag_max, 0), depth, rate
        FROM dirs LEFT JOIN rates USING ({RUN}, broker_id, log_dir)
        LEFT JOIN held USING ({RUN}, broker_id, log_dir)""",
    "partitions": f"""
        WITH current AS (
            SELECT *, size_bytes - lag(size_bytes) OVER (
                PARTITION BY {RUN}, broker_id, topic, partition ORDER BY at_ms, size_bytes) AS diff
            FROM replica WHERE NOT is_future),
        grown AS (
            SELECT {RUN}, topic, partition, count(DISTINCT at_ms) AS samples,
                coalesce(sum(greatest(diff, 0)) FILTER (is_leader), 0) AS bytes
            FROM current GROUP BY ALL),
        ends AS (
            SELECT {RUN}, max(at_ms) AS end_ms, max(at_ms) - min(at_ms) AS ms
            FROM replica GROUP BY ALL),
        led AS (
            SELECT *, at_ms - interval_ms - lag(at_ms) OVER (
                PARTITION BY {RUN}, topic, partition ORDER BY at_ms, leader_epoch, broker_id) AS gap
            FROM replica WHERE is_leader AND NOT is_future),
        gaps AS (
            SELECT {RUN}, topic, partition,
                coalesce(sum(gap) FILTER (gap > interval_ms), 0) AS gaps,
                coalesce(sum(interval_ms) FILTER (is_under_min_isr), 0) AS under
            FROM led GROUP BY ALL),
        last AS (
            SELECT * FROM led QUALIFY row_number() OVER (PARTITION BY {RUN}, topic, partition
                ORDER BY leader_epoch DESC, at_ms DESC, broker_id DESC) = 1)
        SELECT {RUN}, topic, partition,
            CASE WHEN ms > 0 AND samples > 1 THEN bytes * 1000.0 / ms END,
            broker_id, leader_epoch, isr_count, size_bytes, at_ms,
            gaps + CASE WHEN end_ms - at_ms > 2 * interval_ms THEN end_ms - at_ms ELSE 0 END, under
        FROM grown JOIN ends USING ({RUN}) LEFT JOIN gaps USING ({RUN}, topic, partition)
        LEFT JOIN last USING ({RUN}, topic, partition)""",
    "moves": f"""
        SELECT {RUN}, broker_id, topic, partition, source_log_dir, target_log_dir, started_at_ms,
            state, state IN ('done', 'cancelled', 'failed'), at_ms, copied_bytes, total_bytes,
            at_ms - started_at_ms, copied_bytes * 1000.0 / nullif(at_ms - started_at_ms, 0),
            nullif(throttle_bytes_per_s, -1),
            copied_bytes * 1000.0 / nullif(at_ms - started_at_ms, 0)
                / nullif(throttle_bytes_per_s, -1)
        FROM move_progress QUALIFY row_number() OVER (
            PARTITION BY {RUN}, broker_id, topic, partition, source_log_dir,
            target_log_dir, started_at_ms ORDER BY at_ms DESC) = 1""",
    "requests": f"""
        WITH covered AS (
            SELECT {RUN}, broker_id, max(at_ms) - min(at_ms - interval_ms) AS ms
            FROM request GROUP BY ALL)
        SELECT {RUN}, broker_id, api, sum(request_count), sum(error_count),
            sum(request_count) * 1000.0 / any_value(ms),
            sum(p50_us * request_count) / sum(request_count), max(p99_us), max(max_us),
            sum(received_bytes), sum(sent_bytes)
        FROM request JOIN covered USING ({RUN}, broker_id)
        GROUP BY {RUN}, broker_id, api""",
    "latencies": f"""
        WITH pairs AS (
            SELECT {RUN}, scope, broker_id, name, operation, unnest(bucket_us) AS us,
                unnest(bucket_counts) AS n
            FROM latency),
        single AS (
            SELECT {RUN}, scope, broker_id, name, operation, us, unnest(range(n)) FROM pairs),
        bounds AS (
            SELECT {RUN}, scope, broker_id, name, operation, quantile_disc(us, 0.5) AS p50,
                quantile_disc(us, 0.9) AS p90, quantile_disc(us, 0.99) AS p99,
                quantile_disc(us, 0.999) AS p999
            FROM single GROUP BY ALL),
        totals AS (
            SELECT {RUN}, scope, broker_id, name, operation, sum(sample_count) AS n,
                sum(sum_us) / sum(sample_count) AS mean, max(max_us) AS largest
            FROM latency GROUP BY ALL)
        SELECT {RUN}, scope, broker_id, name, operation, n, mean, least(p50, largest),
            least(p90, largest), least(p99, largest), least(p999, largest), largest
        FROM totals JOIN bounds USING ({RUN}, scope, broker_id, name, operation)""",
}


def tables_of(dump: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of every table in ``QUERIES``, as ``comparable`` has them."""
    database = loaded(dump)
    return {name: comparable(database.execute(query).fetchall()) for name, query in QUERIES.items()}


def loaded(dump: Path) -> duckdb.DuckDBPyConnection:
    """Return a database with the metric tables of a dump; it has one thread."""
    import duckdb  # noqa: PLC0415 - whoever has loaded it complains of leaks when it ends

    database = duckdb.connect()
    database.execute("SET threads = 1")
    for folder in sorted(dump.iterdir()):
        files = f"{folder}/v*/*/*.jsonl"
        database.execute(
            f"CREATE TABLE {folder.name} AS SELECT DISTINCT * FROM "
            f"read_json('{files}', format = 'newline_delimited', hive_partitioning = false)"
        )
    return database


def comparable(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows in one order, fractions to ten digits."""
    return sorted((tuple(map(_rounded, row)) for row in rows), key=repr)


def _rounded(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    return float(f"{float(value):.10g}")
