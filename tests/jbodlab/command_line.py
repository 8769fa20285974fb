"""Runs ``jbodlab`` in this process, for tests of commands that need no cluster."""

from __future__ import annotations

from click.testing import CliRunner, Result

from jbodlab.cli import main


def jbodlab(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def main_with_input(stdin: str, *arguments: str) -> Result:
    """Run it with what stands in stdin."""
    return CliRunner().invoke(main, list(arguments), input=stdin)


def one_line(result: Result) -> str:
    """Return the only line of stderr, without the program's name."""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("jbodlab: ")
