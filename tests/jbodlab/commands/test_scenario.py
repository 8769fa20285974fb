from __future__ import annotations

import json
import re
from pathlib import Path

from jbodlab.errors import ExitCode
from tests.jbodlab.command_line import jbodlab

WELL = """
name: short
shows: A topic is led.
cluster: {brokers: 1, topics: [{name: a}]}
steps:
  - {says: Who leads., expect: {leader: {of: a-0, is: 1}}}
"""


def written(folder: Path, text: str = WELL) -> str:
    file = folder / "short.yaml"
    file.write_text(text)
    return str(file)


def test_shipped_scenarios_are_listed_with_what_they_show() -> None:
    result = jbodlab("scenario", "list")

    assert result.exit_code == 0
    assert "kip-112-leader-log-dir-fails" in result.stdout
    rows = json.loads(jbodlab("scenario", "list", "--json").stdout)
    row = next(row for row in rows if row["name"] == "kip-113-good-log-dirs-unaffected")
    assert row["scenarios"] == [7]
    assert (row["worlds"], row["because"]) == (["simulated", "real"], None)
    kept = next(row for row in rows if row["name"] == "bug-leader-comes-back-before-the-controller")
    assert kept["worlds"] == ["simulated"]
    assert kept["because"] == "The power of a real machine is not cut."
    assert kept["because"] in " ".join(result.stdout.split())


def test_a_file_is_checked(tmp_path: Path) -> None:
    file = written(tmp_path)

    assert jbodlab("scenario", "check", file).stdout == f"{file}: short, 1 steps, is well\n"
    (line,) = jbodlab("scenario", "check", "--json", file).stdout.splitlines()
    assert json.loads(line) == {"file": file, "name": "short", "steps": 1}


def test_every_mistake_of_a_file_is_told(tmp_path: Path) -> None:
    result = jbodlab("scenario", "check", written(tmp_path, WELL.replace("leader:", "leder:")))

    assert result.exit_code == ExitCode.BAD_CONFIG
    assert "steps[0].expect.leder: unknown word (did you mean leader?)" in result.stderr


def test_a_run_tells_its_story_and_what_came_of_it(tmp_path: Path) -> None:
    result = jbodlab("scenario", "run", written(tmp_path), "--seed", "3")

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].endswith("short: A topic is led.")
    assert any(line.endswith("a-0 is led by broker-1") for line in lines)
    assert lines[-2].startswith("short: as it must be; ")
    assert lines[-1].startswith("checked: durability; one leader per epoch; ")


def test_what_nodes_log_stands_in_a_file_with_virtual_times_and_never_in_the_story(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, WELL + "  - kill: 1\n  - wait: 30s\n  - start: 1\n")
    log = tmp_path / "nodes.log"

    kept = jbodlab("scenario", "run", file, "--keep-log", str(log))
    dropped = jbodlab("scenario", "run", file)

    assert kept.stdout == dropped.stdout
    assert (kept.stderr, dropped.stderr) == ("", "")
    assert " WARNING " in log.read_text()
    assert re.search(r"^ +[0-9]+\.[0-9]{6} broker-1 INFO broker\.", log.read_text(), re.MULTILINE)


def test_real_processes_keep_their_own_logs(tmp_path: Path) -> None:
    words = (written(tmp_path), "--world", "real", "--keep-log", str(tmp_path / "log"))
    result = jbodlab("scenario", "run", *words)

    assert result.exit_code == ExitCode.USAGE
    assert "real processes: --folder" in result.stderr


def test_a_run_that_comes_out_wrong_ends_with_a_code_of_its_own(tmp_path: Path) -> None:
    text = WELL.replace("leader: {of: a-0, is: 1}", "topic_exists: no-such")
    result = jbodlab("scenario", "run", written(tmp_path, text))

    assert result.exit_code == ExitCode.VIOLATION
    assert "steps: expect: {topic_exists: no-such}: there is no topic no-such" in result.stderr
    assert "again: jbodlab scenario run " in result.stderr


def test_the_verdict_is_json_when_asked_for(tmp_path: Path) -> None:
    result = jbodlab("scenario", "run", written(tmp_path), "--json")

    verdict = json.loads(result.stdout)
    assert verdict["is_ok"] is True
    assert verdict["violations"] == []
    assert verdict["checks"][0] == {"checker": "durability", "reach": "checked", "without": []}
    assert verdict["story"][0]["text"] == "short: A topic is led."
    assert "a-0 is led by broker-1" in result.stderr


def test_a_scenario_in_both_worlds_is_a_table(tmp_path: Path) -> None:
    file = written(tmp_path, WELL + "  - skew_clock: {node: 1, by: 5ms}\n")

    result = jbodlab("scenario", "run", file, "--world", "both")

    assert result.exit_code == 0
    assert "as it must be" in result.stdout
    assert "All real clocks are the machine's." in result.stdout
    assert result.stdout.splitlines()[-1] == "1 as it must be, 1 not there, 0 WRONG"
    rows = json.loads(jbodlab("scenario", "run", file, "--world", "both", "--json").stdout)
    assert [(row["world"], row["outcome"]) for row in rows] == [
        ("simulated", "as it must be"),
        ("real", "not there"),
    ]


def test_a_table_with_something_wrong_ends_as_one_run_does(tmp_path: Path) -> None:
    text = WELL.replace("leader: {of: a-0, is: 1}", "topic_exists: no-such")
    file = written(tmp_path, text + "  - power_cut: 1\n")

    result = jbodlab("scenario", "run", file, "--world", "both")

    assert result.exit_code == ExitCode.VIOLATION
    assert "not as they must be: short (simulated)" in result.stderr


def test_what_is_run_is_said_once(tmp_path: Path) -> None:
    for words in ([], ["--all", written(tmp_path)], ["--all", "--folder", str(tmp_path)]):
        assert jbodlab("scenario", "run", *words).exit_code == ExitCode.USAGE
