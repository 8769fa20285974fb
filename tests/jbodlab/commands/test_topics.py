"""Topic commands without a cluster. With one: tests/integration."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from jbodlab.admin import PartitionView
from jbodlab.commands.topics import partitions_table
from jbodlab.errors import ExitCode
from jbodlab.lab_spec import write_lab_spec
from tests.jbodlab.command_line import jbodlab


def test_a_setting_needs_a_value(tmp_path: Path) -> None:
    file = str(write_lab_spec(tmp_path))
    result = jbodlab("topics", "create", "t", "--set", "retention.ms", "--config", file)
    assert result.exit_code == ExitCode.USAGE
    assert "--set takes KEY=VALUE" in result.stderr


def test_the_table_shows_a_partition_without_a_leader() -> None:
    view = PartitionView(
        topic="t",
        partition=3,
        leader=-1,
        leader_epoch=7,
        replicas=(1, 2),
        isr=(1,),
        offline_replicas=(1, 2),
        error_code=5,
    )
    console = Console(width=120)
    with console.capture() as shown:
        console.print(partitions_table([view]))
    row = next(line for line in shown.get().splitlines() if "t-3" in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == [
        "t-3",
        "none",
        "7",
        "1, 2",
        "1",
        "1, 2",
        "LEADER_NOT_AVAILABLE",
    ]
