"""Where the nodes of a simulated world log."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from jbodlab.worlds.node_logs import node_logs

logger = logging.getLogger("broker.tests_of_node_logs")


def test_a_file_gets_every_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nodes.log"
    with node_logs(file):
        logger.info("first %d", 1)
        logger.debug("too small")
        logger.warning("second")
    assert [line.split(maxsplit=2)[2] for line in file.read_text().splitlines()] == [
        "INFO broker.tests_of_node_logs: first 1",
        "WARNING broker.tests_of_node_logs: second",
    ]
    assert capsys.readouterr().err == ""


def test_without_a_file_only_errors_are_made_and_nothing_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with node_logs(None):
        assert not logger.isEnabledFor(logging.WARNING)
        assert logger.isEnabledFor(logging.ERROR)
        logger.error("nobody reads this")
    assert capsys.readouterr().err == ""
