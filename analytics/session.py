"""Finds Java and starts Spark, quietly. It knows nothing of metrics."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import analytics
from analytics.class_archive import archive_of, archive_options, making_options
from analytics.errors import SPARK_ERRORS, JavaMissing, SparkFailed, spark_error_text

JAVA_MAJOR_MIN: Final = 17
"""What Spark 4 needs."""

_QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m"
"""For a dump of some megabytes: half the time, and a fifth of what then is left.

Without room for class data, Java collects all garbage each time its classes outgrow their space.
"""
SMALL_BYTES_MAX: Final = 32 << 20
_FOR_LITTLE: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
}
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


def start_session(
    master: str | None = None, *, makes_archive: bool = False, jars: Sequence[Path] = ()
) -> SparkSession:
    """Start Spark, with ``jars`` on its class path; ``find_java`` first.

    ``master`` is what the user named here. Else it is what ``spark-submit`` or the user's own
    ``spark-defaults.conf`` names, and this machine when nobody names any. Options of that file hold
    where none is set here. With ``makes_archive`` call ``class_archive.keep_archive`` when done.

    Raises:
        SparkFailed: Spark does not start, such as for a master that does not exist.
    """
    if master is None and not _is_named_elsewhere():
        master = "local[*]"
    builder = (
        SparkSession.Builder()
        .appName("jbodlab analytics")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", value=False)
    )
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    java_options = f"-Dlog4j2.configurationFile={files(analytics) / 'log4j2.properties'}"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            builder = _for_one_machine(builder)
            java_options = f"{java_options} {_QUICK_JAVA} {_archive_options(makes=makes_archive)}"
        builder = builder.config("spark.driver.extraJavaOptions", java_options)
    _take_own_python()
    with tempfile.TemporaryFile() as chatter:
        try:
            with _stderr_to(chatter.fileno()):
                return builder.getOrCreate()
        except (*SPARK_ERRORS, OSError) as error:
            chatter.seek(0)
            raise SparkFailed(_why(error, chatter.read().decode(errors="replace"))) from error


@contextmanager
def suited_to(spark: SparkSession, size_bytes: int | None) -> Generator[None]:
    """Compile nothing, plan once and shuffle to one place, in a block, when there is little.

    Compiling a plan, or planning anew after each shuffle (a Spark job each), takes longer than the
    rows of a small dump do. Larger dumps, dumps elsewhere (None) and clusters keep all settings.
    """
    is_small = size_bytes is not None and size_bytes <= SMALL_BYTES_MAX
    if not is_small or not str(spark.sparkContext.master).startswith("local"):
        yield
        return
    before = {name: spark.conf.get(name) for name in _FOR_LITTLE}
    try:
        for name, value in _FOR_LITTLE.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")


def _archive_options(*, makes: bool) -> str:
    archive = archive_of(find_java())
    return making_options(archive) if makes and not archive.exists() else archive_options(archive)


def _for_one_machine(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add what suits one machine: no name to look up, nobody who looks at a page."""
    return (
        builder.config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", value=False)
    )


def _is_named_elsewhere() -> bool:
    """Tell whether ``spark-submit`` runs this, or a ``spark-defaults.conf`` names a master."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or "MASTER" in os.environ:
        return True
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    if folder is None:
        return False
    try:
        lines = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return any(re.match(r"\s*spark\.master[\s=:]", line) for line in lines)


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
