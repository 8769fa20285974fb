"""Works off steps that need each other's outcomes, several at a time. It knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from graphlib import TopologicalSorter
from typing import Any, NamedTuple


class Step(NamedTuple):
    """What makes one outcome."""

    # Any: steps make what they like.
    of: Callable[..., Any]
    needs: tuple[str, ...] = ()
    """The steps whose outcomes ``of`` is called with, in this order."""


def work_off(executor: Executor, steps: Mapping[str, Step]) -> dict[str, Any]:
    """Return the outcome of each step, by its name.

    Each step begins as soon as the last one that it needs is over. The first error is raised at
    once; steps that run go on meanwhile, and those that wait do not begin any more.

    Raises:
        CycleError: steps need each other.
        KeyError: a step needs one that there is not.
    """
    sorter = TopologicalSorter({name: step.needs for name, step in steps.items()})
    sorter.prepare()
    outcomes: dict[str, Any] = {}
    running: dict[Future[Any], str] = {}
    try:
        while sorter.is_active():
            for name in sorter.get_ready():
                step = steps[name]
                needed = [outcomes[each] for each in step.needs]
                running[executor.submit(step.of, *needed)] = name
            wait(running, return_when=FIRST_COMPLETED)
            for future in [each for each in running if each.done()]:
                name = running.pop(future)
                outcomes[name] = future.result()
                sorter.done(name)
    finally:
        for future in running:
            future.cancel()
    return outcomes
