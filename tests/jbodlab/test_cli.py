"""Errors end as one line on stderr and a number of their own; every command explains itself."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from jbodlab.cli import COMMANDS as LINES
from jbodlab.cli import main
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.lab_spec import write_lab_spec
from protocol.errors import ErrorCode, KafkaError
from tests.jbodlab.command_line import jbodlab, one_line


def all_commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> dict[tuple[str, ...], click.Command]:
    found: dict[tuple[str, ...], click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found.update(all_commands(command, (*path, name)))
        else:
            found[*path, name] = command
    return found


COMMANDS = all_commands(main)
KAFKA_TOOLS = [path for path in COMMANDS if path[0].startswith("kafka-")]
"""Kafka's commands explain themselves in Kafka's way: on stderr, ending with 1."""
WITHOUT_CLUSTER = (
    ("conform", "record"),
    ("init",),
    ("decode",),
    ("dump-log",),
    ("scenario", "list"),
    ("scenario", "check"),
    ("scenario", "run"),
    ("simulate",),
    ("swap-matrix",),
)
HEAVY = ("kafka", "aiokafka", "confluent_kafka", "pyspark", "dpkt", "broker", "simulation")


@pytest.mark.parametrize("path", KAFKA_TOOLS, ids=" ".join)
def test_every_command_of_kafkas_explains_itself_and_speaks_json(path: tuple[str, ...]) -> None:
    result = jbodlab(*path, "--help")
    assert result.exit_code == 1
    assert "--json" in result.stderr
    assert "--bootstrap-server" in result.stderr
    assert COMMANDS[path].help


@pytest.mark.parametrize(
    "path", [path for path in COMMANDS if path not in KAFKA_TOOLS], ids=" ".join
)
def test_every_command_explains_itself_and_speaks_json(path: tuple[str, ...]) -> None:
    result = jbodlab(*path, "--help")
    assert result.exit_code == ExitCode.OK
    assert "--json" in result.stdout
    assert ("--config" in result.stdout) is (path not in WITHOUT_CLUSTER)
    assert COMMANDS[path].help


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_what_a_command_says_of_itself_has_lines_as_written(path: tuple[str, ...]) -> None:
    """A raw docstring would show the mark of click that keeps lines, and join them."""
    assert r"\b" not in jbodlab(*path, "--help").output


def test_the_commands_of_the_project_are_there() -> None:
    assert sorted(" ".join(path) for path in COMMANDS) == [
        "brokers kill",
        "brokers pause",
        "brokers restart",
        "brokers resume",
        "brokers start",
        "brokers stop",
        "conform record",
        "console",
        "consume",
        "decode",
        "demo",
        "down",
        "dump-log",
        "faults add",
        "faults clear",
        "faults list",
        "faults passed",
        "faults release",
        "init",
        "kafka-acls",
        "kafka-configs",
        "kafka-consumer-groups",
        "kafka-delegation-tokens",
        "kafka-leader-election",
        "kafka-log-dirs",
        "kafka-reassign-partitions",
        "kafka-topics",
        "kafka-transactions",
        "load",
        "log-dirs describe",
        "log-dirs fail",
        "log-dirs heal",
        "log-dirs move",
        "log-dirs replace",
        "log-dirs restart",
        "log-dirs restart-partition",
        "produce",
        "reassignments cancel",
        "reassignments list",
        "rebalance plan",
        "rebalance run",
        "rebalance undo",
        "report",
        "scenario check",
        "scenario list",
        "scenario run",
        "serve",
        "simulate",
        "status",
        "swap-matrix",
        "topics create",
        "topics delete",
        "topics describe",
        "topics fill",
        "topics list",
        "up",
    ]


def test_the_main_help_shows_a_line_of_each_command_and_first_what_comes_first() -> None:
    result = jbodlab("--help")
    assert result.exit_code == ExitCode.OK
    shown = result.stdout.partition("Commands:\n")[2].splitlines()
    names = [line.split()[0] for line in shown]
    assert sorted(names) == sorted({path[0] for path in COMMANDS})
    assert names == list(LINES)
    assert names[:4] == ["init", "up", "down", "status"]
    assert "  status                     Show processes, brokers and partitions." in shown


@pytest.mark.parametrize("name", LINES)
def test_the_line_of_each_command_is_what_it_says_of_itself(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert LINES[name][1] == command.get_short_help_str(80)


def groups(group: click.Group, path: tuple[str, ...] = ("jbodlab",)) -> list[tuple[str, ...]]:
    context = click.Context(group)
    below = {name: group.get_command(context, name) for name in group.list_commands(context)}
    nested = [
        groups(each, (*path, name)) for name, each in below.items() if isinstance(each, click.Group)
    ]
    return [path, *(one for found in nested for one in found)]


@pytest.mark.parametrize("path", groups(main), ids=" ".join)
def test_a_line_of_a_command_is_whole_where_a_terminal_has_80_columns(
    path: tuple[str, ...],
) -> None:
    result = CliRunner().invoke(main, [*path[1:], "--help"], terminal_width=80)
    shown = result.stdout.partition("Commands:\n")[2].splitlines()
    assert shown
    assert [line for line in shown if line.endswith("...") or line.startswith("   ")] == []


def test_a_command_that_is_not_there_is_named() -> None:
    result = jbodlab("stauts")
    assert result.exit_code == ExitCode.USAGE
    assert "No such command 'stauts'" in result.stderr


def test_the_help_of_a_command_imports_nothing_that_it_does_not_need() -> None:
    source = (
        "import sys\n"
        "from jbodlab.cli import main\n"
        "for name in ('load', 'produce', 'simulate', 'up', 'status'):\n"
        "    main([name, '--help'], standalone_mode=False)\n"
        f"print(sorted(set({HEAVY!r}).intersection(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    *shown, imported = done.stdout.splitlines()
    assert "Show processes, brokers and partitions." in "".join(shown)
    assert imported == "[]"


def test_no_command_needs_spark_before_its_job_runs() -> None:
    """It is an extra: where it was not installed, an import fails."""
    source = (
        "import sys\n"
        "sys.modules['pyspark'] = None\n"
        "from click.testing import CliRunner\n"
        "from jbodlab.cli import COMMANDS, main\n"
        "for name in COMMANDS:\n"
        "    result = CliRunner().invoke(main, [name, '--help'])\n"
        "    print(name, type(result.exception).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    told = dict(line.split() for line in done.stdout.splitlines())
    assert {
        name: error for name, error in told.items() if "Import" in error or "Mod" in error
    } == {}
    assert (told["report"], told["rebalance"]) == ("NoneType", "NoneType")


def test_all_mistakes_of_the_cluster_file_are_told(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("cluster_id: x\nbroker: []\n")
    result = jbodlab("status", "--config", str(file))
    assert result.exit_code == ExitCode.BAD_CONFIG
    assert result.stderr.splitlines() == [
        f"jbodlab: {file}: 3 mistake(s)",
        "broker: unknown key (did you mean brokers?)",
        "controller: is missing",
        "brokers: is missing",
    ]


def test_a_missing_cluster_file_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    result = jbodlab("up", "--config", str(file))
    assert result.exit_code == ExitCode.BAD_CONFIG
    words = "there is no such file: `jbodlab init` writes one, --config names another"
    assert result.stderr == f"jbodlab: {file}: {words}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("log-dirs", "describe"),
        ("topics", "list"),
        ("topics", "create", "t"),
        ("topics", "describe", "t"),
        ("topics", "delete", "t"),
        ("topics", "fill", "t"),
        ("reassignments", "list"),
        ("reassignments", "cancel", "t", "0"),
    ],
)
def test_without_a_cluster_commands_say_how_to_start_one(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    result = jbodlab(*arguments, "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.NOT_RUNNING
    assert "start the cluster with `jbodlab up`" in one_line(result)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (LabError(ExitCode.TIMED_OUT, "late"), ExitCode.TIMED_OUT, "late"),
        (
            KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "t is there"),
            ExitCode.FAILED,
            "the cluster answers TOPIC_ALREADY_EXISTS: t is there",
        ),
        (
            ConnectionError("refused"),
            ExitCode.NOT_RUNNING,
            "the cluster does not answer (refused): try `jbodlab status`, `jbodlab up`",
        ),
    ],
)
def test_errors_become_one_line_and_an_exit_code(
    error: Exception, code: ExitCode, line: str
) -> None:
    @main.command("break")
    def break_it() -> None:
        raise error

    try:
        result = jbodlab("break")
    finally:
        del main.commands["break"]
    assert (result.exit_code, one_line(result)) == (code, line)


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "jbodlab: interrupted"),
        (ExceptionGroup("steps", [BrokenPipeError(errno.EPIPE, "head has gone")]), 1, ""),
    ],
)
def test_a_command_that_is_broken_off_makes_no_more_words(
    raised: BaseException, code: int, said: str
) -> None:
    group = type(main)(table={}, name="jbodlab")

    @group.command()
    def work() -> None:
        raise raised

    result = CliRunner().invoke(group, ["work"])
    assert (result.exit_code, result.stderr.strip()) == (code, said)
