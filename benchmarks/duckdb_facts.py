"""Facts in buckets of time as DuckDB makes them. ``bucket`` is its begin, in ms since the epoch."""

from __future__ import annotations

from typing import Final

from benchmarks.duckdb_tables import RUN, Made

_PARTITION: Final = f"{RUN}, topic, partition"
_LOG_DIR: Final = f"{RUN}, broker_id, log_dir"
_HISTOGRAM: Final = f"{RUN}, scope, broker_id, name, operation"
_MOVE: Final = f"{RUN}, broker_id, topic, partition, source_log_dir, target_log_dir, started_at_ms"
_QUANTILES: Final = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}
_BUCKETS_S: Final = "[2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400]"


def _bounds() -> str:
    return ", ".join(
        f"min(us) FILTER (seen >= total * {share}::DOUBLE) AS {name}"
        for name, share in _QUANTILES.items()
    )


def _cut(names: list[str]) -> str:
    return ", ".join(f"least({name}, max_us) AS {name}" for name in names)


FACTS: Final = {
    "bucket": Made(
        f"""
        SELECT 1000::BIGINT * coalesce(min(s) FILTER (ms <= s::BIGINT * 120000), 86400) AS bucket_ms
        FROM (SELECT max(last_ms - first_ms) AS ms FROM
            (SELECT max(at_ms) AS last_ms, min(at_ms) AS first_ms FROM log_dir GROUP BY {RUN})),
            (SELECT unnest({_BUCKETS_S}) AS s)""",
        is_shown=False,
    ),
    "log_dir_facts": Made(
        f"""
        WITH steps AS (
            SELECT *, at_ms // bucket_ms * bucket_ms AS bucket,
                append_bytes_total - lag(append_bytes_total) OVER life AS more_bytes,
                append_count_total - lag(append_count_total) OVER life AS more_count
            FROM log_dir, bucket WINDOW life AS (PARTITION BY {_LOG_DIR}, at_ms // bucket_ms
                ORDER BY at_ms, append_bytes_total, append_count_total)),
        grouped AS (
            SELECT {_LOG_DIR}, bucket, bucket_ms, avg(online::INT) AS online_share,
                CASE WHEN count(DISTINCT at_ms) > 1  -- DuckDB's slope of one point is no number.
                    THEN regr_slope(used_bytes, at_ms - bucket) * 1000 END AS used_bytes_per_s,
                avg(queue_depth_count) AS queue_depth_mean,
                max(queue_depth_count) AS queue_depth_max,
                nullif(max(at_ms) - min(at_ms), 0) AS ms,
                sum(CASE WHEN more_bytes < 0 THEN append_bytes_total
                    ELSE coalesce(more_bytes, 0) END) AS bytes,
                sum(CASE WHEN more_count < 0 THEN append_count_total
                    ELSE coalesce(more_count, 0) END) AS appends
            FROM steps GROUP BY ALL),
        last AS (
            SELECT {_LOG_DIR}, bucket, used_bytes, total_bytes, usable_bytes, replica_count
            FROM steps QUALIFY row_number() OVER (PARTITION BY {_LOG_DIR}, bucket
                ORDER BY at_ms DESC, used_bytes DESC, total_bytes DESC, usable_bytes DESC,
                replica_count DESC) = 1)
        SELECT {_LOG_DIR}, bucket, bucket_ms, online_share, used_bytes, total_bytes,
            CASE WHEN total_bytes > 0 THEN used_bytes / total_bytes END AS fill, used_bytes_per_s,
            CASE WHEN used_bytes_per_s > 0 AND usable_bytes >= 0
                THEN usable_bytes * 1000.0 / used_bytes_per_s END AS ms_to_full,
            replica_count, queue_depth_mean, queue_depth_max,
            bytes * 1000.0 / ms AS append_bytes_per_s, appends * 1000.0 / ms AS appends_per_s
        FROM grouped JOIN last USING ({_LOG_DIR}, bucket)"""
    ),
    "latency_facts": Made(
        f"""
        WITH timed AS (
            SELECT *, at_ms // bucket_ms * bucket_ms AS bucket FROM latency, bucket),
        pairs AS (
            SELECT {_HISTOGRAM}, bucket, unnest(bucket_us) AS us, unnest(bucket_counts) AS n
            FROM timed),
        merged AS (SELECT {_HISTOGRAM}, bucket, us, sum(n) AS n FROM pairs GROUP BY ALL),
        risen AS (
            SELECT *, sum(n) OVER (PARTITION BY {_HISTOGRAM}, bucket ORDER BY us) AS seen,
                sum(n) OVER (PARTITION BY {_HISTOGRAM}, bucket) AS total
            FROM merged),
        bounds AS (SELECT {_HISTOGRAM}, bucket, {_bounds()} FROM risen GROUP BY ALL),
        totals AS (
            SELECT {_HISTOGRAM}, bucket, bucket_ms, sum(sample_count) AS sample_count,
                sum(sum_us) / sum(sample_count) AS mean_us, max(max_us) AS max_us
            FROM timed GROUP BY ALL)
        SELECT {_HISTOGRAM}, bucket, bucket_ms, sample_count, mean_us, {_cut(list(_QUANTILES))},
            max_us
        FROM totals JOIN bounds USING ({_HISTOGRAM}, bucket)"""
    ),
    "slowness": Made(
        f"""
        WITH took AS (
            SELECT *, ln(greatest(mean_us, 1)) AS took FROM latency_facts
            WHERE scope = 'log_dir' AND operation IN ('append', 'sync')),
        middle AS (
            SELECT {RUN}, bucket, operation, median(took) AS middle, count(*) AS n
            FROM took GROUP BY ALL HAVING n >= 3),
        spread AS (
            SELECT {RUN}, bucket, operation,
                greatest(median(abs(took - middle)) / 0.6745, 0.0953) AS spread
            FROM took JOIN middle USING ({RUN}, bucket, operation) GROUP BY ALL)
        SELECT {RUN}, bucket, bucket_ms, broker_id, name AS log_dir, operation, sample_count,
            mean_us, exp(middle) AS siblings_us, (took - middle) / spread AS z_score
        FROM took JOIN middle USING ({RUN}, bucket, operation)
        JOIN spread USING ({RUN}, bucket, operation)"""
    ),
    "broker_facts": Made(
        f"""
        SELECT {RUN}, broker_id, at_ms // bucket_ms * bucket_ms AS bucket, bucket_ms,
            count(DISTINCT log_dir) AS log_dir_count,
            count(DISTINCT log_dir) FILTER (NOT online) AS offline_log_dir_count,
            max(queue_depth_count) AS queue_depth_max, max(at_ms) AS last_seen_ms
        FROM log_dir, bucket GROUP BY ALL"""
    ),
    "partition_facts": Made(
        f"""
        WITH timed AS (
            SELECT *, at_ms // bucket_ms * bucket_ms AS bucket, is_leader AND NOT is_future AS led
            FROM replica, bucket),
        covered AS (
            SELECT {_PARTITION}, bucket, bucket_ms, min(isr_count) FILTER (led) AS isr_count_min,
                max(at_ms) - min(at_ms - interval_ms) AS covered,
                coalesce(sum(interval_ms) FILTER (led), 0) AS led_ms,
                coalesce(sum(interval_ms) FILTER (is_under_min_isr), 0) AS under_min_isr_ms
            FROM timed GROUP BY ALL),
        steps AS (
            SELECT *, size_bytes - lag(size_bytes) OVER (PARTITION BY {_PARTITION}, bucket
                ORDER BY at_ms, size_bytes) AS more
            FROM timed WHERE led),
        grown AS (
            SELECT {_PARTITION}, bucket, sum(greatest(more, 0)) * 1000.0
                / nullif(max(at_ms) - min(at_ms), 0) AS write_bytes_per_s
            FROM steps GROUP BY ALL),
        last AS (
            SELECT {_PARTITION}, bucket, broker_id AS leader, leader_epoch, isr_count, size_bytes
            FROM steps QUALIFY row_number() OVER (PARTITION BY {_PARTITION}, bucket
                ORDER BY leader_epoch DESC, at_ms DESC, broker_id DESC) = 1)
        SELECT {_PARTITION}, bucket, bucket_ms, leader, leader_epoch, isr_count, isr_count_min,
            size_bytes, write_bytes_per_s, greatest(covered - led_ms, 0) AS unavailable_ms,
            under_min_isr_ms
        FROM covered LEFT JOIN grown USING ({_PARTITION}, bucket)
        LEFT JOIN last USING ({_PARTITION}, bucket)"""
    ),
    "request_facts": Made(
        f"""
        SELECT {RUN}, broker_id, api, at_ms // bucket_ms * bucket_ms AS bucket, bucket_ms,
            sum(request_count) AS request_count, sum(error_count) AS error_count,
            sum(request_count) * 1000.0 / sum(interval_ms) AS per_s,
            sum(received_bytes) AS received_bytes, sum(sent_bytes) AS sent_bytes
        FROM request, bucket GROUP BY ALL"""
    ),
    "move_facts": Made(
        f"""
        WITH steps AS (
            SELECT *, at_ms // bucket_ms * bucket_ms AS bucket, copied_bytes - lag(copied_bytes)
                OVER (PARTITION BY {_MOVE}, at_ms // bucket_ms ORDER BY at_ms, copied_bytes) AS more
            FROM move_progress, bucket),
        rates AS (
            SELECT {_MOVE}, bucket, sum(greatest(more, 0)) * 1000.0
                / nullif(max(at_ms) - min(at_ms), 0) AS bytes_per_s
            FROM steps GROUP BY ALL),
        last AS (
            SELECT *, nullif(throttle_bytes_per_s, -1) AS throttle
            FROM steps QUALIFY row_number() OVER (PARTITION BY {_MOVE}, bucket
                ORDER BY at_ms DESC, copied_bytes DESC, state DESC) = 1)
        SELECT {_MOVE}, bucket, bucket_ms, state, copied_bytes, total_bytes, bytes_per_s,
            throttle AS throttle_bytes_per_s, bytes_per_s / throttle AS throttle_share
        FROM last JOIN rates USING ({_MOVE}, bucket)"""
    ),
}
