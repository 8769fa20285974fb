"""What the processes of a world log."""

from __future__ import annotations

import logging

import pytest

from simulation.world.process import Process
from simulation.world.world_log import world_log
from tests.simulation.world.worlds import running_cluster

logger = logging.getLogger("tests.world_log")


async def test_lines_have_the_time_and_the_node_of_the_world():
    lines: list[str] = []
    with world_log(lines.append):
        Process("broker-7").context().run(logger.info, "hello %d", 1)
        logger.warning("of nobody")
    logger.warning("too late")
    assert lines == [
        "    0.000000 broker-7 INFO tests.world_log: hello 1",
        "    0.000000 world WARNING tests.world_log: of nobody",
    ]


async def test_less_than_the_level_is_not_written():
    lines: list[str] = []
    with world_log(lines.append, logging.WARNING):
        await running_cluster(brokers=1)
    assert lines == []


async def test_a_cluster_tells_what_it_does_and_nobody_else_hears_it(
    capsys: pytest.CaptureFixture[str],
):
    lines: list[str] = []
    with world_log(lines.append):
        await running_cluster(brokers=1)
    assert any("broker-1 INFO broker.app: listening on 127.0.0.1:9001" in line for line in lines)
    assert any(" controller INFO controller.app: " in line for line in lines)
    assert capsys.readouterr().err == ""


def test_lines_from_outside_of_a_world_have_no_time():
    lines: list[str] = []
    with world_log(lines.append):
        logger.warning("not yet")
    assert lines == ["    0.000000 world WARNING tests.world_log: not yet"]
