"""What Spark's own status store tells of the stages and tasks that ran, as its pages show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession

_TASKS_MAX: Final = 100_000
"""Of a stage."""
_UNITS: Final = ("B", "KiB", "MiB", "GiB")


class TaskTime(NamedTuple):
    """When one task ran; ms since the epoch."""

    begin_ms: int
    end_ms: int


# Any: Java's objects.
def stages_of(spark: SparkSession) -> list[Any]:
    """Return Spark's ``StageData`` of all stages that it still knows."""
    context: Any = spark.sparkContext
    scala: Any = context._jsc.sc()  # noqa: SLF001
    scala.listenerBus().waitUntilEmpty()
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)  # noqa: SLF001
    no_states = getattr(context._jvm, "java.util.ArrayList")()  # noqa: SLF001
    found = scala.statusStore().stageList(None, False, False, no_quantiles, no_states)  # noqa: FBT003 - Java
    return [found.apply(place) for place in range(found.size())]


def sent_to_all(spark: SparkSession) -> list[float]:
    """Return the bytes of each table that a join sent to all executors, as the driver held it."""
    session: Any = spark._jsparkSession  # pyright: ignore  # noqa: SLF001
    store: Any = session.sharedState().statusStore()
    executions = store.executionsList()
    found: list[float] = []
    for place in range(executions.size()):
        number = executions.apply(place).executionId()
        values = store.executionMetrics(number)
        metrics = _sent(store.planGraph(number).allNodes())
        told = [values.get(metric.accumulatorId()) for metric in metrics]
        found += [size_bytes(each.get()) for each in told if each.isDefined()]
    return found


def _sent(nodes: Any) -> list[Any]:
    """Return the metrics that tell of such a table's size, of the nodes of a plan."""
    each = [nodes.apply(place) for place in range(nodes.size())]
    metrics = [node.metrics() for node in each if node.name() == "BroadcastExchange"]
    all_of_them = [one.apply(place) for one in metrics for place in range(one.size())]
    return [metric for metric in all_of_them if metric.name() == "data size"]


def size_bytes(text: str) -> float:
    """Return the bytes of what Spark writes as "8.0 MiB"."""
    number, unit = text.split()
    return float(number) * 1024 ** _UNITS.index(unit)


def last_stage(spark: SparkSession) -> int:
    """Return the number of the latest stage, -1 without any."""
    return max((stage.stageId() for stage in stages_of(spark)), default=-1)


def task_times(spark: SparkSession, after: int) -> list[TaskTime]:
    """Return when each task ran of the stages with a number above ``after``."""
    context: Any = spark.sparkContext
    store: Any = context._jsc.sc().statusStore()  # noqa: SLF001
    times: list[TaskTime] = []
    for stage in (each for each in stages_of(spark) if each.stageId() > after):
        tasks = store.taskList(stage.stageId(), stage.attemptId(), _TASKS_MAX)
        for task in (tasks.apply(place) for place in range(tasks.size())):
            begin_ms: int = task.launchTime().getTime()
            if task.duration().isDefined():
                times.append(TaskTime(begin_ms, begin_ms + task.duration().get()))
    return times


def at_once(times: Iterable[TaskTime]) -> Counter[int]:
    """Return for how many ms how many tasks ran at once, from the first begin to the last end."""
    changes = sorted(change for each in times for change in ((each.begin_ms, 1), (each.end_ms, -1)))
    found: Counter[int] = Counter()
    running = 0
    for (at_ms, change), (next_ms, _) in pairwise(changes):
        running += change
        if next_ms > at_ms:
            found[running] += next_ms - at_ms
    return found
