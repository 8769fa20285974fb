"""Errors of the code itself, as violations."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import errno
import logging

from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError

from simulation.core.checkers.evidence import Violation
from simulation.defects import Defects
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop, run_world
from tests.simulation.world.worlds import small_cluster


def found_by(
    error: BaseException | None, *, is_logged: bool, node: str = "broker-1"
) -> list[Violation]:
    async def main(loop: SimLoop) -> list[Violation]:
        cluster = SimCluster(loop, small_cluster())
        await cluster.start()
        with Defects() as defects:
            if error is not None and is_logged:
                logging.getLogger("broker.engine").error("it failed", exc_info=error)
            elif error is not None:
                cluster.nodes[node].crashes.append(error)
            defects.look_into(cluster)
        logging.getLogger("broker.engine").error("after", exc_info=ValueError("too late"))
        return defects.found

    return run_world(1, main)


def test_a_clean_run_has_none() -> None:
    assert found_by(None, is_logged=False) == []


def test_an_error_that_was_logged_with_its_traceback_is_one() -> None:
    assert [violation.text for violation in found_by(KeyError("x"), is_logged=True)] == [
        "world logs it failed: KeyError('x')"
    ]


def test_an_error_that_ended_a_process_is_one_with_all_that_it_holds() -> None:
    group = ExceptionGroup("tasks", [KeyError("x"), ValueError("y")])
    assert [violation.text for violation in found_by(group, is_logged=False)] == [
        "broker-1 ended with KeyError('x'); ValueError('y')"
    ]


def test_a_controller_ends_when_the_disk_of_its_journal_fails_and_that_is_none() -> None:
    failed = ExceptionGroup("tasks", [OSError(errno.EIO, "Input/output error")])
    assert found_by(failed, is_logged=False, node="controller") == []
    (of_broker,) = found_by(failed, is_logged=False)
    assert of_broker.text.startswith("broker-1 ended with OSError")
    mixed = ExceptionGroup("tasks", [OSError(errno.EIO, "Input/output error"), KeyError("x")])
    assert found_by(mixed, is_logged=False, node="controller") != []
    assert found_by(ConnectionError("x"), is_logged=False, node="controller") != []


def dropped(error: Exception, *, is_task: bool = False) -> list[str]:
    """Return what is found after a future, or a task, ended with an error that nobody asked for."""

    async def failing() -> None:
        raise error

    def drop() -> None:
        if not is_task:
            asyncio.get_running_loop().create_future().set_exception(error)
        else:
            asyncio.get_running_loop().create_task(failing())

    async def main(loop: SimLoop) -> list[str]:
        cluster = SimCluster(loop, small_cluster())
        with Defects() as defects:
            drop()
            await asyncio.sleep(0.1)
            loop.collect_garbage()
            await asyncio.sleep(0.1)
            defects.look_into(cluster)
        return [violation.text for violation in defects.found]

    return run_world(1, main)


def test_an_error_that_nobody_caught_is_one_once() -> None:
    assert dropped(KeyError("x")) == ["nobody caught KeyError('x')"]
    (of_task,) = dropped(KeyError("x"), is_task=True)
    assert of_task.startswith("nobody caught KeyError('x') in dropped.<locals>.failing")


def test_a_future_of_the_library_that_nobody_looks_at_is_none() -> None:
    assert dropped(KafkaConnectionError()) == []


def test_a_task_of_our_own_that_ends_with_an_error_of_the_library_is_one() -> None:
    (found,) = dropped(KafkaConnectionError(), is_task=True)
    assert "failing" in found


def test_a_connection_of_the_library_that_nobody_closed_is_none() -> None:
    async def main(loop: SimLoop) -> list[Violation]:
        with Defects() as defects:
            forgotten = AIOKafkaConnection("127.0.0.1", 9000)
            loop.call_exception_handler({"message": "Unclosed", "conn": forgotten})
            defects.look_into(SimCluster(loop, small_cluster()))
        return defects.found

    assert run_world(1, main) == []


def test_a_task_that_is_given_up_is_none_if_it_is_the_library_s() -> None:
    async def main(loop: SimLoop) -> list[Violation]:
        with Defects() as defects:
            for given_up in (AIOKafkaConnection("127.0.0.1", 9000).connect(), asyncio.sleep(9)):
                task = loop.create_task(given_up)
                text = f"pending: {given_up.__qualname__}"
                loop.call_exception_handler({"message": text, "task": task})
                task.cancel()
            defects.look_into(SimCluster(loop, small_cluster()))
        return defects.found

    (found,) = run_world(1, main)
    assert found.text == "nobody caught pending: sleep"
