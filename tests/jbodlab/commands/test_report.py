"""The report needs a dump; the Spark job itself is shown in tests/analytics."""

from __future__ import annotations

from pathlib import Path

from jbodlab.commands.report import ReportOptions
from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from tests.jbodlab.command_line import jbodlab, one_line


def test_without_a_dump_the_report_says_where_it_looked(tmp_path: Path) -> None:
    result = jbodlab("report", "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.FAILED
    assert f"there is no dump in {tmp_path}/data/metrics" in result.stderr.replace("\n", " ")
    assert "jbodlab up" in one_line(result)


def test_a_topic_is_read_as_it_is_now_and_instead_of_a_dump(tmp_path: Path) -> None:
    config = ("--config", str(write_lab_spec(tmp_path)))
    for other in (("--dump", str(tmp_path)), ("--live",)):
        result = jbodlab("report", "--from", "kafka://host:1", *other, *config)
        assert result.exit_code == ExitCode.USAGE
        assert "python -m analytics.follow" in " ".join(result.stderr.split())


def test_a_topic_needs_no_cluster_file_and_takes_its_security_from_a_file(tmp_path: Path) -> None:
    none = ("--config", str(tmp_path / "none.yaml"))
    security = ("--command-config", str(tmp_path / "none.properties"))
    result = jbodlab("report", "--from", "kafka://host:1", *none, *security)
    assert result.exit_code == ExitCode.USAGE
    assert "none.properties: No such file" in one_line(result)
    other = jbodlab("report", "--from", "kafka://host:1", "--bootstrap-server", "host:1", *none)
    assert "--from names the brokers" in other.stderr
    own = jbodlab("report", *security, "--config", str(write_lab_spec(tmp_path)))
    assert "--command-config goes with" in one_line(own)


def test_what_is_no_topic_is_told_how_to_write_one(tmp_path: Path) -> None:
    result = jbodlab("report", "--from", "host:1", "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.FAILED
    assert "write kafka://HOST:PORT" in " ".join(result.stderr.split())


def test_only_new_files_are_read_of_a_dump_that_is_not_followed(tmp_path: Path) -> None:
    config = ("--config", str(write_lab_spec(tmp_path)))
    for other in (("--from", "kafka://host:1"), ("--live",)):
        result = jbodlab("report", "--new", *other, *config)
        assert result.exit_code == ExitCode.USAGE
        assert "--new reads a dump folder" in " ".join(result.stderr.split())


def test_a_plan_is_scored_by_a_whole_report(tmp_path: Path) -> None:
    config = ("--config", str(write_lab_spec(tmp_path)))
    result = jbodlab("report", "--plan", "plan.json", "--live", *config)
    assert result.exit_code == ExitCode.USAGE
    assert "give --plan without --live" in " ".join(result.stderr.split())
    result = jbodlab("report", "--against", "run-1", "--live", *config)
    assert result.exit_code == ExitCode.USAGE
    assert "leave --run, --against out" in " ".join(result.stderr.split())


def test_the_job_is_told_the_plan_and_to_read_only_new_files() -> None:
    asked = ReportOptions(
        dump=None,
        topic=None,
        out=None,
        plan="plan.json",
        form=None,
        is_only_new=True,
        run=None,
        against=None,
    )
    assert asked.job_options() == ["--plan", "plan.json", "--new"]
    asked = asked._replace(plan=None, is_only_new=False)
    assert asked.job_options() == []
    compared = asked._replace(run="b", against="a")
    assert compared.job_options() == ["--run", "b", "--against", "a"]
