"""Runs seeds as tasks of Spark. It loads Spark: import it where Spark is asked for only."""

from __future__ import annotations

from functools import partial

from analytics.errors import SPARK_ERRORS, JavaMissing, SparkFailed, spark_error_text
from analytics.seeds import SeedTables, run_seeds
from analytics.session import find_java, start_session
from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.seed_records import SeedTask, record_text


def run_on_spark(task: SeedTask, seeds: range, master: str, out: str) -> SeedTables:
    """Run ``seeds`` by ``master``; write tables below ``out`` and return those that are shown.

    Raises:
        LabError: MISSING_JAVA, or FAILED when Spark does not start or gives up.
    """
    try:
        find_java()
        spark = start_session(master)
    except JavaMissing as error:
        raise LabError(ExitCode.MISSING_JAVA, str(error)) from error
    except SparkFailed as error:
        raise LabError(ExitCode.FAILED, str(error)) from error
    try:
        return run_seeds(spark, partial(record_text, task), seeds, out)
    except SPARK_ERRORS as error:
        raise LabError(ExitCode.FAILED, spark_error_text(error)) from error
    finally:
        spark.stop()
