"""The Spark job is not even tried without a dump; tests/analytics show the job itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.spark_job import read_report, run_report


def test_without_a_dump_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="there is no dump in") as caught:
        run_report(tmp_path / "none", tmp_path / "out")
    assert caught.value.exit_code is ExitCode.FAILED


def test_without_java_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(LabError, match="install Java 17 or newer") as caught:
        run_report(tmp_path, tmp_path / "out")
    assert caught.value.exit_code is ExitCode.MISSING_JAVA


@pytest.mark.integration
def test_what_is_no_plan_is_told_in_its_own_words(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("[]")
    with pytest.raises(LabError) as caught:
        run_report(tmp_path, tmp_path / "out", "--plan", str(plan))
    assert caught.value.exit_code is ExitCode.FAILED
    assert str(caught.value).startswith(f"{plan} is no plan: ")


def test_a_report_names_paths_from_the_folder_of_the_cluster_file(tmp_path: Path) -> None:
    told = {"dump": f"{tmp_path}/data/metrics", "out": "/elsewhere", "row_counts": {"replica": 3}}
    report = read_report(json.dumps(told), tmp_path)
    assert (report.dump, report.out) == ("data/metrics", "/elsewhere")
    assert report.row_counts == {"replica": 3}
