"""Answers and checks as DuckDB makes them, out of rows, failovers and facts."""

from __future__ import annotations

from typing import Final

from benchmarks.duckdb_tables import RUN, Made

_FAILURE: Final = f"{RUN}, failure_id"
_PARTITION: Final = f"{RUN}, topic, partition"
_LOG_DIR: Final = f"{RUN}, broker_id, log_dir"
_MOVE: Final = f"{RUN}, broker_id, topic, partition, started_at_ms"
_MEASURE: Final = """CASE WHEN scope = 'client' THEN 'client produce p99 us'
    WHEN scope = 'api' AND name = 'Produce' THEN 'Produce request p99 us'
    WHEN scope = 'log_dir' AND operation IN ('append', 'sync')
        THEN 'log dir ' || operation || ' p99 us' END"""


def _gini(load: str) -> str:
    """Of ``load`` with ``rank`` and ``n``: half the mean difference of two, by the mean."""
    return f"sum({load} * (2 * rank - n - 1)) / nullif(any_value(n) * sum({load}), 0)"


def _produce_p99s(moved: str) -> str:
    """What producers of its broker felt as long before each of ``moved`` as it took, and then."""
    return f"""pairs AS (
            SELECT {_MOVE}, latency.at_ms >= started_at_ms AS is_during, max_us,
                unnest(bucket_us) AS us, unnest(bucket_counts) AS n
            FROM {moved} AS moved JOIN latency USING ({RUN}, broker_id)
            WHERE scope = 'api' AND name = 'Produce'
                AND latency.at_ms BETWEEN started_at_ms - ms AND started_at_ms + ms),
        risen AS (
            SELECT {_MOVE}, is_during, us, sum(n) OVER (moved ORDER BY us) AS seen,
                sum(n) OVER moved AS total, max(max_us) OVER moved AS largest
            FROM pairs WINDOW moved AS (PARTITION BY {_MOVE}, is_during)),
        p99s AS (
            SELECT {_MOVE}, is_during,
                least(min(us) FILTER (seen >= total * 0.99::DOUBLE), any_value(largest)) AS p99
            FROM risen GROUP BY ALL),
        felt AS (
            SELECT {_MOVE}, any_value(p99) FILTER (NOT is_during) AS produce_p99_before_us,
                any_value(p99) FILTER (is_during) AS produce_p99_us
            FROM p99s GROUP BY ALL)"""


ANSWERS: Final = {
    "imbalance": Made(
        f"""
        WITH online AS (
            SELECT *, row_number() OVER (PARTITION BY {RUN}, bucket ORDER BY used_bytes) AS rank,
                count(*) OVER (PARTITION BY {RUN}, bucket) AS n
            FROM log_dir_facts WHERE online_share > 0),
        used AS (
            SELECT {RUN}, bucket, bucket_ms, count(*) AS log_dir_count,
                {_gini("used_bytes")} AS used_bytes_gini,
                max(used_bytes) / nullif(avg(used_bytes), 0) AS used_bytes_largest_by_mean,
                first(broker_id || ': ' || log_dir
                    ORDER BY used_bytes DESC, broker_id || ': ' || log_dir DESC) AS fullest
            FROM online GROUP BY ALL),
        ranked AS (
            SELECT {RUN}, bucket, append_bytes_per_s,
                row_number() OVER (PARTITION BY {RUN}, bucket ORDER BY append_bytes_per_s) AS rank,
                count(*) OVER (PARTITION BY {RUN}, bucket) AS n
            FROM online WHERE append_bytes_per_s IS NOT NULL),
        appended AS (
            SELECT {RUN}, bucket, {_gini("append_bytes_per_s")} AS append_bytes_per_s_gini,
                max(append_bytes_per_s) / nullif(avg(append_bytes_per_s), 0)
                    AS append_bytes_per_s_largest_by_mean
            FROM ranked GROUP BY ALL)
        SELECT * FROM used LEFT JOIN appended USING ({RUN}, bucket)"""
    ),
    "slow_log_dirs": Made(
        f"""
        WITH broken AS (
            SELECT {_LOG_DIR}, min(failed_at_ms) AS failed_at_ms FROM failed_dirs GROUP BY ALL),
        early AS (
            SELECT * FROM slowness LEFT JOIN broken USING ({_LOG_DIR})
            WHERE failed_at_ms IS NULL OR bucket + bucket_ms <= failed_at_ms)
        SELECT {_LOG_DIR}, operation, count(*) AS bucket_count,
            count(*) FILTER (z_score > 3.5) AS slow_bucket_count,
            sum(mean_us * sample_count) / sum(sample_count) AS mean_us,
            avg(siblings_us) AS siblings_us, max(z_score) AS z_score_max,
            min(bucket) FILTER (z_score > 3.5) AS first_slow_ms,
            any_value(failed_at_ms) AS failed_at_ms,
            any_value(failed_at_ms) - min(bucket) FILTER (z_score > 3.5) AS warning_ms
        FROM early GROUP BY {_LOG_DIR}, operation"""
    ),
    "throttle_costs": Made(
        f"""
        WITH ended AS (
            SELECT *, nullif(throttle_bytes_per_s, -1) AS throttle, at_ms - started_at_ms AS ms,
                copied_bytes * 1000.0 / nullif(at_ms - started_at_ms, 0) AS bytes_per_s
            FROM move_progress QUALIFY row_number() OVER (
                PARTITION BY {_MOVE}, source_log_dir, target_log_dir ORDER BY at_ms DESC) = 1),
        fastest AS (
            SELECT {RUN}, max(bytes_per_s) FILTER (throttle IS NULL) AS unthrottled
            FROM ended GROUP BY ALL),
        {_produce_p99s("ended")}
        SELECT {_MOVE}, source_log_dir, target_log_dir, throttle AS throttle_bytes_per_s,
            bytes_per_s, copied_bytes, ms AS duration_ms, unthrottled AS unthrottled_bytes_per_s,
            CASE WHEN throttle IS NOT NULL AND unthrottled > 0
                THEN trunc(greatest(ms - copied_bytes * 1000.0 / unthrottled, 0)) END AS waited_ms,
            produce_p99_before_us, produce_p99_us
        FROM ended JOIN fastest USING ({RUN}) LEFT JOIN felt USING ({_MOVE})"""
    ),
    "reassignments_told": Made(
        f"""
        WITH told AS (SELECT *, state <> 'under_way' AS is_over FROM reassignment_progress),
        followed AS (
            SELECT *, lag(is_over) OVER later AS was_over, lag(adding) OVER later AS was_adding,
                lag(removing) OVER later AS was_removing
            FROM told WINDOW later AS (PARTITION BY {_PARTITION}
                ORDER BY at_ms, started_at_ms, is_over))
        SELECT *, count(*) FILTER (was_over IS NULL OR was_over OR was_adding <> adding
            OR was_removing <> removing) OVER (PARTITION BY {_PARTITION}
            ORDER BY at_ms, started_at_ms, is_over) AS number
        FROM followed""",
        is_shown=False,
    ),
    "reassignments": Made(
        f"""
        WITH ended AS (
            SELECT {_PARTITION}, min(started_at_ms) AS started_at_ms,
                arg_max(state, (at_ms, is_over)) AS state, bool_or(is_over) AS is_finished,
                max(at_ms) AS last_seen_ms, max(at_ms) - min(started_at_ms) AS ms,
                any_value(adding) AS adding, any_value(removing) AS removing,
                arg_min(leader, (at_ms, is_over)) AS broker_id,
                nullif(arg_max(throttle_bytes_per_s, (at_ms, is_over)), -1) AS throttle
            FROM reassignments_told GROUP BY {_PARTITION}, number),
        steps AS (
            SELECT {_PARTITION}, started_at_ms, replica.broker_id, at_ms, size_bytes,
                lag(size_bytes) OVER (PARTITION BY {_PARTITION}, started_at_ms, replica.broker_id
                    ORDER BY at_ms, size_bytes) AS before
            FROM (SELECT * EXCLUDE (broker_id), unnest(adding) AS broker_id FROM ended) AS target
            JOIN replica USING ({_PARTITION}, broker_id)
            WHERE NOT is_future AND at_ms > started_at_ms - 2 * interval_ms
                AND at_ms - interval_ms < last_seen_ms),
        copies AS (
            SELECT {_PARTITION}, started_at_ms, sum(CASE WHEN before IS NOT NULL
                THEN greatest(size_bytes - before, 0) WHEN at_ms > started_at_ms THEN size_bytes
                ELSE 0 END) AS copied
            FROM steps GROUP BY ALL),
        known AS (
            SELECT ended.*, CASE WHEN len(adding) = 0 THEN 0 ELSE copied END AS copied_bytes,
                copied_bytes * 1000.0 / nullif(ms, 0) AS bytes_per_s
            FROM ended LEFT JOIN copies USING ({_PARTITION}, started_at_ms)),
        {_produce_p99s("ended")}
        SELECT {_PARTITION}, started_at_ms, state, is_finished, last_seen_ms, ms AS duration_ms,
            adding, removing, broker_id AS leader, copied_bytes, bytes_per_s,
            throttle AS throttle_bytes_per_s, bytes_per_s / throttle AS throttle_share,
            produce_p99_before_us, produce_p99_us
        FROM known LEFT JOIN felt USING ({_MOVE})"""
    ),
    "reassignment_facts": Made(
        f"""
        WITH told AS (
            SELECT *, min(started_at_ms) OVER (PARTITION BY {_PARTITION}, number) AS began_ms
            FROM reassignments_told),
        spans AS (
            SELECT *, bucket_ms * unnest(
                range(started_at_ms // bucket_ms, last_seen_ms // bucket_ms + 1)) AS bucket
            FROM reassignments, bucket),
        said AS (
            SELECT {_PARTITION}, began_ms AS started_at_ms, bucket,
                arg_max(told.state, (at_ms, is_over)) AS state,
                arg_max(told.leader, (at_ms, is_over)) AS leader,
                nullif(arg_max(told.throttle_bytes_per_s, (at_ms, is_over)), -1) AS throttle
            FROM told JOIN spans USING ({_PARTITION})
            WHERE began_ms = spans.started_at_ms AND at_ms < bucket + bucket_ms GROUP BY ALL),
        sampled AS (
            SELECT {_PARTITION}, started_at_ms, last_seen_ms, broker_id, at_ms, size_bytes,
                coalesce(lag(size_bytes) OVER one, 0) AS size_before,
                greatest(lag(at_ms) OVER one, started_at_ms) AS ms_before
            FROM (SELECT *, unnest(adding) AS broker_id FROM reassignments) AS target
            JOIN replica USING ({_PARTITION}, broker_id)
            WHERE NOT is_future AND at_ms > started_at_ms - 2 * interval_ms
                AND at_ms - interval_ms < last_seen_ms
            WINDOW one AS (PARTITION BY {_PARTITION}, started_at_ms, broker_id
                ORDER BY at_ms, size_bytes)),
        copies AS (
            SELECT {_PARTITION}, started_at_ms,
                least(at_ms, last_seen_ms) // bucket_ms * bucket_ms AS bucket,
                sum(greatest(size_bytes - size_before, 0)) AS copied,
                sum(at_ms - ms_before) / count(DISTINCT broker_id) AS ms
            FROM sampled, bucket WHERE at_ms > started_at_ms GROUP BY ALL),
        felt AS (
            SELECT {RUN}, broker_id AS leader, bucket, p99_us
            FROM latency_facts WHERE scope = 'api' AND name = 'Produce')
        SELECT {_PARTITION}, started_at_ms, bucket, bucket_ms, said.state, adding, removing,
            said.leader, CASE WHEN len(adding) = 0 THEN 0 ELSE copied END AS copied_bytes,
            copied * 1000.0 / ms AS bytes_per_s, throttle AS throttle_bytes_per_s,
            copied * 1000.0 / ms / throttle AS throttle_share, produce_p99_before_us,
            p99_us AS produce_p99_us
        FROM spans JOIN said USING ({_PARTITION}, started_at_ms, bucket)
        LEFT JOIN copies USING ({_PARTITION}, started_at_ms, bucket)
        LEFT JOIN felt ON felt.leader = said.leader AND felt.bucket = spans.bucket
            AND felt.cluster_id = spans.cluster_id AND felt.run_id = spans.run_id
            AND felt.seed = spans.seed"""
    ),
    "outages": Made(
        f"""
        WITH ends AS (SELECT {RUN}, max(at_ms) AS run_end FROM replica GROUP BY ALL),
        led AS (
            SELECT replica.*, run_end,
                lead(at_ms - interval_ms) OVER leaders AS ended_ms,
                lead(broker_id) OVER leaders AS leader_after
            FROM replica JOIN ends USING ({RUN})
            WHERE is_leader AND NOT is_future AND interval_ms > 0
            WINDOW leaders AS (PARTITION BY {_PARTITION}
                ORDER BY at_ms, leader_epoch, broker_id)),
        gaps AS (
            SELECT *, coalesce(ended_ms, run_end) AS until_ms FROM led
            WHERE coalesce(ended_ms, run_end) - at_ms
                > interval_ms * CASE WHEN ended_ms IS NULL THEN 2 ELSE 1 END),
        causes AS (
            SELECT {_PARTITION}, gaps.at_ms, dirs.failure_id, dirs.failed_at_ms, failovers.cause
            FROM gaps JOIN failed_dirs AS dirs USING ({_LOG_DIR})
            JOIN failovers USING ({_FAILURE})
            WHERE dirs.failed_at_ms BETWEEN gaps.at_ms - interval_ms AND until_ms
            QUALIFY row_number() OVER (PARTITION BY {_PARTITION}, gaps.at_ms
                ORDER BY dirs.failed_at_ms, dirs.failure_id) = 1),
        samples AS (
            SELECT {RUN}, broker_id, at_ms, max(interval_ms) AS ms FROM log_dir GROUP BY ALL),
        quiet AS (
            SELECT {RUN}, broker_id, at_ms AS from_ms, ms, coalesce(
                lead(at_ms - ms) OVER (PARTITION BY {RUN}, broker_id ORDER BY at_ms),
                max(at_ms) OVER (PARTITION BY {RUN})) AS to_ms
            FROM samples QUALIFY ms > 0 AND to_ms - from_ms > ms),
        of_samples AS (
            SELECT {_PARTITION}, 'brokers' AS seen_by, gaps.at_ms AS began_ms, ended_ms,
                until_ms - gaps.at_ms AS duration_ms, broker_id AS leader_before, leader_after,
                CASE WHEN failure_id IS NOT NULL THEN 'log dir ' || log_dir || ': ' || cause
                    WHEN EXISTS (FROM quiet WHERE quiet.cluster_id = gaps.cluster_id
                        AND quiet.run_id = gaps.run_id AND quiet.seed = gaps.seed
                        AND quiet.broker_id = gaps.broker_id
                        AND from_ms < until_ms AND to_ms > gaps.at_ms)
                    THEN 'broker ' || broker_id || ' silent'
                    ELSE 'leader lost' END AS cause,
                failure_id
            FROM gaps LEFT JOIN causes USING ({_PARTITION}, at_ms)),
        of_clients AS (
            SELECT {_PARTITION}, 'client ' || client AS seen_by,
                silence_ended_at_ms - silence_ms AS began_ms, silence_ended_at_ms AS ended_ms,
                silence_ms AS duration_ms, broker_id AS leader_before, NULL AS leader_after,
                'log dir ' || log_dir || ': ' || cause AS cause, failure_id
            FROM silent_partitions JOIN failed_dirs USING ({_FAILURE})
            JOIN failovers USING ({_FAILURE}))
        FROM of_samples UNION ALL FROM of_clients"""
    ),
    "plan_scores": Made(
        f"""
        WITH planned AS (SELECT one.* FROM (SELECT unnest(partitions) AS one FROM plan)),
        latest AS (
            SELECT {_PARTITION}, broker_id, log_dir, size_bytes FROM (
                SELECT *, max(at_ms) OVER (PARTITION BY {RUN}, broker_id) AS latest
                FROM replica WHERE NOT is_future)
            WHERE at_ms = latest QUALIFY row_number() OVER (PARTITION BY {_PARTITION}, broker_id
                ORDER BY log_dir DESC, size_bytes DESC) = 1),
        here AS (
            SELECT latest.*, rate FROM latest LEFT JOIN write_rates USING ({_PARTITION})),
        targets AS (
            SELECT topic, partition, unnest(replicas) AS broker_id,
                unnest(coalesce(log_dirs, list_transform(replicas, lambda x: 'any'))) AS target
            FROM planned),
        going AS (
            SELECT {RUN}, topic, partition, targets.broker_id, here.log_dir AS before,
                coalesce(nullif(target, 'any'), here.log_dir) AS log_dir, size AS size_bytes,
                loads.rate
            FROM (SELECT {_PARTITION}, max(size_bytes) AS size, max(rate) AS rate
                FROM here GROUP BY ALL) AS loads
            JOIN targets USING (topic, partition)
            LEFT JOIN here USING ({_PARTITION}, broker_id)),
        moved AS (
            SELECT {RUN}, count(*) AS moved_replica_count, sum(size_bytes) AS moved_bytes
            FROM going WHERE before IS NULL OR log_dir IS DISTINCT FROM before GROUP BY ALL),
        loaded AS (
            SELECT 'now' AS moment, {_LOG_DIR}, size_bytes, rate FROM here
            UNION ALL SELECT 'then', {_LOG_DIR}, size_bytes, rate FROM going
            UNION ALL SELECT 'then', {_LOG_DIR}, size_bytes, rate FROM here
                WHERE (topic, partition) NOT IN (SELECT (topic, partition) FROM planned)),
        summed AS (
            SELECT moment, {_LOG_DIR}, [sum(size_bytes)::DOUBLE, coalesce(sum(rate), 0)] AS sums
            FROM loaded GROUP BY ALL),
        loads AS (
            SELECT moment, {_LOG_DIR}, unnest(sums) AS load,
                unnest(['bytes', 'write_bytes_per_s']) AS measure
            FROM summed),
        places AS (
            SELECT {_LOG_DIR}, unnest(['now', 'then']) AS moment, measure
            FROM online_log_dirs, (SELECT unnest(['bytes', 'write_bytes_per_s']) AS measure)),
        ranked AS (
            SELECT {RUN}, moment, measure, coalesce(load, 0) AS load,
                row_number() OVER place AS rank,
                count(*) OVER (PARTITION BY {RUN}, moment, measure) AS n
            FROM places LEFT JOIN loads USING (moment, {_LOG_DIR}, measure)
            WINDOW place AS (PARTITION BY {RUN}, moment, measure ORDER BY coalesce(load, 0))),
        scored AS (
            SELECT {RUN}, moment, measure, {_gini("load")} AS gini,
                max(load) / nullif(avg(load), 0) AS largest
            FROM ranked GROUP BY ALL)
        SELECT {RUN}, measure, any_value(gini) FILTER (moment = 'now') AS gini_now,
            any_value(largest) FILTER (moment = 'now') AS largest_by_mean_now,
            any_value(gini) FILTER (moment = 'then') AS gini_then,
            any_value(largest) FILTER (moment = 'then') AS largest_by_mean_then,
            coalesce(any_value(moved_replica_count), 0) AS moved_replica_count,
            coalesce(any_value(moved_bytes), 0) AS moved_bytes
        FROM scored LEFT JOIN moved USING ({RUN}) GROUP BY {RUN}, measure"""
    ),
    "comparisons": Made(
        f"""
        WITH samples AS (
            SELECT {RUN}, {_MEASURE} AS measure, p99_us AS value FROM latency_facts
            UNION ALL SELECT {RUN}, 'log dir failure to election ms', elected_after_ms
            FROM failovers),
        summed AS (
            SELECT {RUN}, measure, count(*) AS n, avg(value) AS mean,
                var_samp(value) / count(*) AS error2
            FROM samples WHERE measure IS NOT NULL AND value IS NOT NULL GROUP BY ALL),
        pairs AS (
            SELECT {RUN}, lag(run_id) OVER runs AS base_run_id, lag(seed) OVER runs AS base_seed
            FROM (SELECT {RUN}, min(at_ms) AS first_ms FROM log_dir GROUP BY ALL)
            WINDOW runs AS (PARTITION BY cluster_id ORDER BY first_ms, run_id, seed)
            QUALIFY base_run_id IS NOT NULL)
        SELECT own.cluster_id, own.run_id, own.seed, base_run_id, base_seed, measure,
            base.n AS base_count, own.n AS count, base.mean AS base_mean, own.mean AS mean,
            own.mean - base.mean AS difference, own.error2 + base.error2 AS error2,
            (own.error2 + base.error2) ** 2 / nullif(own.error2 ** 2 / nullif(own.n - 1, 0)
                + base.error2 ** 2 / nullif(base.n - 1, 0), 0) AS freedom
        FROM summed AS own JOIN pairs USING ({RUN}) JOIN summed AS base USING (measure)
        WHERE base.cluster_id = own.cluster_id AND base.run_id = base_run_id
            AND base.seed = base_seed"""
    ),
    "checks": Made(
        f"""
        WITH samples AS (
            SELECT {RUN}, broker_id, broker_epoch, at_ms, max(interval_ms) AS ms
            FROM log_dir GROUP BY ALL),
        gaps AS (
            SELECT run_id, broker_id, at_ms - ms - lag(at_ms) OVER (
                PARTITION BY {RUN}, broker_id, broker_epoch ORDER BY at_ms) AS gap, ms
            FROM samples),
        found AS (
            SELECT 'gap in samples' AS check, 'log_dir' AS table,
                run_id || ' broker ' || broker_id AS detail
            FROM gaps WHERE ms > 0 AND gap > ms
            UNION ALL SELECT 'broker not seen at the end', 'log_dir',
                run_id || ' broker ' || broker_id FROM stale_log_dirs
            UNION ALL SELECT 'unfinished failover', 'failover_event',
                run_id || ' ' || failure_id || ' waits for ' || waiting_for
            FROM failovers WHERE NOT is_finished
            UNION ALL SELECT 'clocks disagree', 'failover_event',
                run_id || ' ' || failure_id || ' ' || clock_skew_ms || ' ms'
            FROM failovers WHERE clock_skew_ms > 0)
        SELECT *, count(*) AS row_count FROM found GROUP BY ALL"""
    ),
}
