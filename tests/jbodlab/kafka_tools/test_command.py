"""What all tools do alike: help, versions, files, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.kafka_tools.command import read_file
from jbodlab.kafka_tools.core.failures import ToolFailure
from tests.jbodlab.command_line import jbodlab
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import run

TOOLS = (
    "kafka-configs",
    "kafka-leader-election",
    "kafka-log-dirs",
    "kafka-reassign-partitions",
    "kafka-topics",
)


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_and_a_cry_for_help_show_the_options(tool: str):
    bare, helped = jbodlab(tool), jbodlab(tool, "--help")
    assert (bare.exit_code, bare.stdout) == (1, "")
    assert bare.stderr == helped.stderr
    assert "\nOption " in bare.stderr
    assert "--json" in bare.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_a_version_is_no_failure(tool: str):
    result = jbodlab(tool, "--version")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.strip()


def test_a_usage_error_is_shown_with_the_options():
    result = jbodlab("kafka-log-dirs", "--describe")
    assert result.exit_code == 1
    assert result.stderr.startswith('Missing required argument "[bootstrap-server]"\nOption ')


def test_connections_have_settings_in_a_file(cluster: FakeCluster, tmp_path: Path):
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=TLS\n")
    result = run(cluster, f"kafka-log-dirs --describe --command-config {file}")
    assert result.exit_code == 1
    assert result.stderr.startswith("security.protocol: must be one of PLAINTEXT, SSL, ")
    file.write_text("request.timeout.ms=3000\n")
    assert run(cluster, f"kafka-log-dirs --describe --command-config {file}").exit_code == 0


def test_files_that_cannot_be_read_are_told(tmp_path: Path):
    with pytest.raises(ToolFailure, match="Unable to read file"):
        read_file(str(tmp_path))
    file = tmp_path / "latin"
    file.write_bytes(b"\xff")
    with pytest.raises(ToolFailure, match="Unable to read file"):
        read_file(str(file))
