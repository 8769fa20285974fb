"""Finds Java and starts Spark, quietly. It knows nothing of metrics."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import analytics
from analytics.errors import SPARK_ERRORS, JavaMissing, SparkFailed, spark_error_text

JAVA_MAJOR_MIN: Final = 17
"""What Spark 4 needs."""

_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


def find_java() -> Path:
    """Return the Java that Spark will start: that of JAVA_HOME, else the first in PATH.

    Raises:
        JavaMissing: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        where = f"JAVA_HOME ({home})" if home else "PATH"
        raise JavaMissing(
            f"no java in {where}: install Java {JAVA_MAJOR_MIN} or newer and set JAVA_HOME"
        )
    major = _major_version(found)
    if major < JAVA_MAJOR_MIN:
        raise JavaMissing(
            f"{found} is Java {major}: Spark needs {JAVA_MAJOR_MIN} or newer; set JAVA_HOME to one"
        )
    return Path(found)


def start_session(master: str) -> SparkSession:
    """Start Spark on ``master``; ``find_java`` first.

    Options of the user's own ``spark-defaults.conf`` hold where none is set here.

    Raises:
        SparkFailed: Spark does not start, such as for a master that does not exist.
    """
    java_options = f"-Dlog4j2.configurationFile={files(analytics) / 'log4j2.properties'}"
    if master.startswith("local"):
        # For a dump of some megabytes: half the time, and a fifth of what then is left.
        java_options += " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    builder = (
        SparkSession.Builder()
        .master(master)
        .appName("jbodlab analytics")
        .config("spark.driver.extraJavaOptions", java_options)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", value=False)
        .config("spark.ui.showConsoleProgress", value=False)
    )
    if master.startswith("local"):
        # One machine: no name to look up, and few rows need few partitions.
        builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.sql.shuffle.partitions", 2)
    _take_own_python()
    with tempfile.TemporaryFile() as chatter:
        try:
            with _stderr_to(chatter.fileno()):
                return builder.getOrCreate()
        except (*SPARK_ERRORS, OSError) as error:
            chatter.seek(0)
            raise SparkFailed(_why(error, chatter.read().decode(errors="replace"))) from error


def _take_own_python() -> None:
    """Have Spark's workers run in the Python that runs this.

    They must be of one minor version; Spark itself would start the first python3 in PATH. It asks
    the environment, no setting.
    """
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@contextmanager
def _stderr_to(descriptor: int) -> Generator[None]:
    """Keep what Java's start prints (it inherits the descriptor) out of the user's terminal."""
    sys.stderr.flush()
    terminal = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _why(error: Exception, chatter: str) -> str:
    said = [line for line in chatter.splitlines() if "WARN" not in line and line.strip()]
    return " ".join([spark_error_text(error), *said[:1]])


def _major_version(java: str) -> int:
    """Ask for the version; 0 when it does not tell. Java 8 calls itself 1.8."""
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = _VERSION.search(answer.stderr)
    return int(match.group(1)) if match else 0
