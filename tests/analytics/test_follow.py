from pathlib import Path

import pytest
from click.testing import CliRunner

from analytics.follow import main


def test_what_names_no_topic_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--from", "hdfs://x", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("analytics: 'hdfs://x' names no topic")
    assert result.stderr.count("\n") == 1


def test_a_missing_java_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["--from", "kafka://h:1", "--out", "o"])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_every_option_explains_itself() -> None:
    text = CliRunner().invoke(main, ["--help"]).stdout
    for option in ("--from", "--out", "--bucket", "--every", "--once", "--master"):
        assert option in text
