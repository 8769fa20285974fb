"""Failovers by step, and their durations, as DuckDB makes them."""

from __future__ import annotations

from typing import Final

from benchmarks.duckdb_tables import RUN, Made

_FAILURE: Final = f"{RUN}, failure_id"
_PARTITION: Final = f"{RUN}, topic, partition"
_LOG_DIR: Final = f"{RUN}, broker_id, log_dir"
_STEPS: Final = (
    "['log_dir_failed', 'heartbeat_sent', 'controller_noticed', 'replicas_offline', "
    "'leaders_elected', 'brokers_told', 'client_recovered']"
)

FAILOVERS: Final = {
    "failed_dirs": Made(
        f"""
        SELECT {_FAILURE}, at_ms AS failed_at_ms, coalesce(elected, at_ms + 60000) AS elected_at_ms,
            TRY_CAST(regexp_extract(node, '^broker-([0-9]+)$', 1) AS BIGINT) AS broker_id,
            split_part(detail, ': ', 1) AS log_dir
        FROM failover_event LEFT JOIN (
            SELECT {_FAILURE}, min(at_ms) AS elected FROM failover_event
            WHERE step = 'leaders_elected' GROUP BY ALL) USING ({_FAILURE})
        WHERE step = 'log_dir_failed'
        QUALIFY row_number() OVER (PARTITION BY {_FAILURE} ORDER BY at_ms, node, detail) = 1""",
        is_shown=False,
    ),
    "silent_partitions": Made(
        f"""
        WITH led AS (
            SELECT failed_dirs.*, topic, partition, at_ms
            FROM failed_dirs JOIN replica USING ({_LOG_DIR})
            WHERE is_leader AND NOT is_future AND at_ms <= failed_at_ms
            QUALIFY at_ms = max(at_ms) OVER (PARTITION BY {_FAILURE}))
        SELECT {_FAILURE}, topic, partition, silence_ms, silence_ended_at_ms, client
        FROM led JOIN client USING ({_PARTITION})
        WHERE silence_ended_at_ms >= 0 AND silence_ended_at_ms > failed_at_ms
            AND silence_ended_at_ms - silence_ms <= elected_at_ms
        QUALIFY row_number() OVER (PARTITION BY {_FAILURE}, topic, partition
            ORDER BY silence_ms DESC, silence_ended_at_ms DESC, client DESC) = 1""",
        is_shown=False,
    ),
    "failover_steps": Made(
        f"""
        WITH recovered AS (
            SELECT {_FAILURE}, 'client_recovered' AS step, silence_ended_at_ms AS at_ms,
                'client ' || client AS node, '' AS detail,
                count(*) OVER (PARTITION BY {_FAILURE}) AS partition_count
            FROM silent_partitions QUALIFY row_number() OVER (PARTITION BY {_FAILURE}
                ORDER BY silence_ended_at_ms DESC, client DESC) = 1),
        told AS (
            SELECT {_FAILURE}, step, at_ms, node, detail, partition_count FROM failover_event
            UNION ALL SELECT * FROM recovered),
        seen AS (
            SELECT {_FAILURE}, step,
                CASE WHEN step IN ('brokers_told', 'client_recovered') THEN max(told.at_ms)
                    ELSE min(told.at_ms) END AS at_ms,
                min(struct_pack(told.at_ms, told.node, told.detail)) AS told_first,
                max(told.partition_count) AS partition_count
            FROM told GROUP BY {_FAILURE}, step),
        every AS (
            SELECT {_FAILURE}, unnest({_STEPS}[1:6]) AS step
            FROM (SELECT DISTINCT {_FAILURE} FROM told)),
        steps AS (
            SELECT *, list_position({_STEPS}, step) - 1 AS step_order
            FROM every FULL JOIN seen USING ({_FAILURE}, step))
        SELECT {_FAILURE}, step_order, step, told_first.node AS node, at_ms,
            at_ms - coalesce(min(at_ms) FILTER (step = 'log_dir_failed') OVER failure,
                min(at_ms) OVER failure) AS since_failure_ms,
            at_ms - last_value(at_ms IGNORE NULLS) OVER (failure ORDER BY step_order
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS since_previous_ms,
            partition_count, told_first.detail AS detail
        FROM steps WINDOW failure AS (PARTITION BY {_FAILURE})"""
    ),
    "failovers": Made(
        f"""
        WITH whole AS (
            SELECT {_FAILURE}, min(at_ms - since_failure_ms) AS failed_at_ms,
                arg_min(node, step_order) FILTER (at_ms IS NOT NULL) AS node,
                arg_min(detail, step_order) FILTER (at_ms IS NOT NULL) AS detail,
                coalesce(max(partition_count) FILTER (step = 'replicas_offline'),
                    max(partition_count) FILTER (step = 'log_dir_failed')) AS offline_count,
                max(partition_count) FILTER (step = 'leaders_elected') AS moved_count,
                max(since_failure_ms) FILTER (step = 'leaders_elected') AS elected_after_ms,
                max(since_failure_ms) FILTER (step = 'client_recovered') AS recovered_after_ms,
                max(since_failure_ms) AS ended_after_ms,
                arg_max(step, step_order) FILTER (at_ms IS NOT NULL) AS last_step,
                arg_min(step, step_order) FILTER (at_ms IS NULL) AS waiting_for,
                coalesce(greatest(max(-since_previous_ms), 0), 0) AS clock_skew_ms
            FROM failover_steps GROUP BY ALL)
        SELECT *, waiting_for IS NULL AS is_finished, regexp_replace(
            CASE WHEN len(string_split(detail, ': ')) >= 3
                THEN array_to_string(string_split(detail, ': ')[3:], ': ')
                ELSE string_split(detail, ': ')[-1] END, ': ''[^'']*''$', '') AS cause
        FROM whole"""
    ),
    "failover_durations": Made(
        f"""
        SELECT {RUN}, cause, CASE WHEN offline_count >= 0 THEN
                pow(10, floor(log10(greatest(offline_count, 1))))::BIGINT || '-'
                || (pow(10, floor(log10(greatest(offline_count, 1))) + 1) - 1)::BIGINT
                ELSE 'unknown' END AS size_class,
            count(*) AS failure_count, count(*) FILTER (NOT is_finished) AS unfinished_count,
            quantile_cont(elected_after_ms, 0.5) AS p50_ms,
            quantile_cont(elected_after_ms, 0.9) AS p90_ms,
            quantile_cont(elected_after_ms, 0.99) AS p99_ms, max(elected_after_ms) AS max_ms
        FROM failovers GROUP BY {RUN}, cause, size_class"""
    ),
}
