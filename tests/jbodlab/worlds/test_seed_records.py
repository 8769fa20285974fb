"""One seed as a record: the same run as anywhere else, and errors told instead of raised."""

from __future__ import annotations

import json
from pathlib import Path

from jbodlab.worlds.seed_records import SeedTask, record_text, seed_record
from jbodlab.worlds.seed_runs import run_quietly
from simulation.simulated_run import simulate

SEED = 3
EXPERIMENT = "unreported-log-dir"


def test_a_drawn_seed_is_the_run_that_every_sweep_has() -> None:
    record = seed_record(SeedTask(seconds=1), SEED)
    run = run_quietly(1, SEED)
    assert record["trace_hash"] == run.trace_hash
    assert record["is_ok"] is run.verdict.is_ok
    assert record["acknowledged_count"] == run.verdict.acknowledged
    assert record["features"] == sorted(run.features)
    assert record["replay"] == f"jbodlab simulate --seed {SEED} --seconds 1"
    assert record["cell"] == {}


def test_a_seed_of_an_experiment_tells_its_failover_and_how_long_nobody_wrote() -> None:
    task = SeedTask(experiment=EXPERIMENT)
    wanted = {"controller_away_ms": "3000", "failure_timeout_ms": "30000"}
    seed = next(n for n in range(54) if wanted.items() <= task.cell(n).items())
    record = json.loads(record_text(task, seed))
    assert record["is_ok"], record
    assert 3_000 <= record["unavailable_ms"] < 30_000
    assert record["silent_partition_count"] == 1
    assert record["fault_hits"]["eio"] > 0
    steps = {json.loads(line)["step"] for line in record["event_lines"]}
    assert steps >= {"log_dir_failed", "controller_noticed", "leaders_elected"}
    assert {json.loads(line)["seed"] for line in record["event_lines"]} == {seed}
    assert record["replay"] == f"jbodlab simulate --seed {seed} --experiment {EXPERIMENT}"
    again = simulate(task.plan(seed), seed)
    assert again.trace_hash == record["trace_hash"], "taking rows changes nothing"
    assert task.plan(seed) == SeedTask(experiment=EXPERIMENT).plan(seed)


def test_a_seed_that_cannot_run_says_why_in_its_record(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(
        "name: broken\nasks: What?\nfactors: {brokers: [1]}\n"
        "plan: |\n  name: broken\n  shows: Nothing.\n  worlds: [real]\n  steps: [{wait: 1s}]\n"
    )
    record = seed_record(SeedTask(experiment=str(file)), SEED)
    assert record["is_ok"] is False
    assert record["error"]
