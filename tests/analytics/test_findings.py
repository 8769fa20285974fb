from analytics.findings import findings, latest_run, plan_finding, rows_of_run, shortened
from tests.analytics.told import RUN, of_run, reassignment, tables


def said(**changed: list[object]) -> list[str]:
    told = {**tables(), **changed}
    return findings(rows_of_run(shortened(told), latest_run(told)))  # pyright: ignore[reportArgumentType]


def test_a_run_comes_to_sentences_with_its_worst_first() -> None:
    assert said() == [
        "1 log dir failure; new leaders after 100 ms (broker-1, eio), clients served again after "
        "372 ms; 1 unfinished (no brokers told seen).",
        "1 partition unavailable, the longest orders-0 for 1.0 s, to the end: log dir d1: eio.",
        "3 log dirs, 1 not online: broker 1 d1 offline; broker 1 d2 holds most (2.0 KiB, 50.0% "
        "full).",
        "broker 1 d1 is slow at append: 5.7 times its siblings, in 6 of 13 buckets, first seen "
        "12.6 s before it failed.",
        "Clients' produce took 100 us (p50), 372 ms (p99), 372 ms at most.",
        "The fullest log dir (1: d2) holds 1.50 times the mean; Gini 0.04 at first, 0.10 at last.",
        "1 move between log dirs, 1 done, 5.7 MiB copied; throttles cost 1.5 s; meanwhile produce "
        "p99 was 18 ms, before 9.0 ms.",
        "2 reassignments, 1 completed, 1 unfinished (orders-1: adds 3, 4, for 4.0 s); 3.8 MiB "
        "copied to other brokers (throttled to 1.0 MiB/s); meanwhile produce p99 was 18 ms, before "
        "9.0 ms.",
        "The plan moves 3 replicas, 3.0 KiB; largest by mean: bytes 2.00 to 1.00.",
        "Against run run-1: client produce p99 us +50 % (95 %: +40 to +60).",
    ]


def test_what_did_not_happen_is_not_said() -> None:
    assert findings(rows_of_run({}, None)) == []


def test_rows_of_other_runs_are_left_out() -> None:
    other = {**tables()["runs"][0], "run_id": "run-1"}
    told = {"runs": [other, tables()["runs"][0]], "moves": tables()["moves"] * 2}
    assert latest_run(told) == tuple(RUN.values())
    assert len(rows_of_run(told, latest_run(told))["moves"]) == 2
    assert rows_of_run(told, tuple(other[name] for name in RUN))["moves"] == []


def test_no_slow_disk_and_nothing_beyond_chance_are_findings_too() -> None:
    slow = {**tables()["slow_log_dirs"][0], "slow_bucket_count": 0}
    same = {**tables()["comparisons"][0], "ci_low": -1.0}
    text = said(slow_log_dirs=[slow], comparisons=[same])
    assert "No log dir is slow among its siblings (z-score above 3.5)." in text
    assert "Nothing differs from run run-1 beyond chance (95 %)." in text


def test_a_reassignment_of_which_nothing_is_known_is_only_counted() -> None:
    told = reassignment("cancelled", 0) | dict.fromkeys(
        ("copied_bytes", "bytes_per_s", "throttle_bytes_per_s", "produce_p99_before_us")
    )
    assert said(reassignments=[told])[-3] == (
        "1 reassignment, 1 cancelled; 0 B copied to other brokers."
    )


def test_a_plan_that_moves_nothing_is_told_as_such() -> None:
    told = of_run(
        measure="bytes",
        largest_by_mean_now=2.0,
        largest_by_mean_then=2.0,
        moved_replica_count=0,
        moved_bytes=0,
    )
    found = plan_finding({"plan_scores": [told]})
    assert found == "The plan moves nothing; largest by mean: bytes 2.00 to 2.00."
