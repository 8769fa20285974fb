"""What can go wrong for a user of the job, each with one clear line. Nothing is raised here."""

from __future__ import annotations

from typing import Final

from py4j.protocol import Py4JJavaError  # pyright: ignore[reportMissingTypeStubs] - it has none
from pyspark.errors import PySparkException


class AnalyticsError(Exception):
    """The job cannot be done; the text is for the user."""


class JavaMissing(AnalyticsError):  # noqa: N818 - named for what is the matter
    """No Java that Spark can use."""


class SparkFailed(AnalyticsError):  # noqa: N818 - named for what is the matter
    """Spark did not start."""


class ConnectorMissing(AnalyticsError):  # noqa: N818 - named for what is the matter
    """Spark's Kafka connector is not here and cannot be fetched."""


class EmptyDump(AnalyticsError):  # noqa: N818 - named for what the folder is
    """No metric row lies in the folder."""


class UnreadableDump(AnalyticsError):  # noqa: N818 - named for what the folder is
    """The folder does not exist, or its file system refuses."""


class BadPlan(AnalyticsError):  # noqa: N818 - named for what the file is
    """The file of ``--plan`` is not there, or no plan."""


class UnknownRun(AnalyticsError):  # noqa: N818 - named for what is asked for
    """A run that a report shall be about is not in the dump."""


class JobFailed(AnalyticsError):  # noqa: N818 - named for what is the matter
    """Spark gave up half-way, such as for tables that cannot be written."""


SPARK_ERRORS: Final = (PySparkException, Py4JJavaError)
"""What PySpark raises: its own errors, and Java's where it knows none of its own."""


def spark_error_text(error: Exception) -> str:
    """Return the one line of an error of Spark that says what is the matter."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if isinstance(error, Py4JJavaError) and len(lines) > 1:
        return lines[1].removeprefix(": ")  # the first line names py4j's own object
    return lines[0]
