"""Finds Java and starts Spark, quietly. It knows nothing of metrics."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

import analytics
from analytics.class_archive import archive_of, archive_options, making_options
from analytics.errors import SPARK_ERRORS, JavaMissing, SparkFailed, spark_error_text

JAVA_MAJOR_MIN: Final = 17
"""What Spark 4 needs."""

_ROOM_FOR_CLASSES: Final = "-XX:MetaspaceSize=256m"
"""Without it, Java collects all garbage each time the data of its classes outgrow their space."""
_JAVA: Final = f"-XX:+UseSerialGC {_ROOM_FOR_CLASSES}"
"""One thread for garbage: on a few processors those of Spark are in the way of more."""
_QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""For a dump of some megabytes: half the time. For a larger one it is twice the time.

Java would give what it compiles quickly 48 MiB, and compile nothing more when they are full.
"""
PLANNING_JAVA: Final = f"{_QUICK_JAVA} {_ROOM_FOR_CLASSES}"
"""For the driver of a cluster, whatever the size of the dump: tasks run elsewhere.

It names no way to collect garbage: beside a user's own one Java would not start.
"""
_QUICK_PAGE: Final = "1m"
"""What each sort and each sum takes at once; Spark itself would take and clear 16 MiB."""
SMALL_BYTES_MAX: Final = 32 << 20
_FOR_LITTLE: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    # A join of two single partitions needs no shuffle; a broadcast would be a job of its own.
    "spark.sql.optimizer.disableHints": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.ui.explainMode": "simple",
}
_OPEN_FILES: Final = {"spark.sql.maxConcurrentOutputFileWriters": "16"}
"""Of a task that writes rows by run and day: of one file at a time, it sorts the rows before."""
_SENT_TO_ALL: Final = "spark.sql.autoBroadcastJoinThreshold"
_MEASURED: Final = "spark.sql.adaptive.autoBroadcastJoinThreshold"
_JOINED_AS_MEASURED: Final = {_SENT_TO_ALL: "-1", _MEASURED: "10m"}
"""Joins send no table to all executors for its files are small, but for its rows are few.

It goes through the driver, and 10 MB of Parquet may be some hundred MiB there.
"""
_SHUFFLED: Final = "spark.sql.shuffle.partitions"
_SHUFFLED_BYTES: Final = 32 << 20
"""Of a dump, for each task of a shuffle: of 200, Spark's own number, each writes 200 files."""
_ASKED_OFTEN: Final = (
    "functions",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.types.Metadata",
    "PythonSQLUtils",
    "PythonUtils",
)
"""Java's classes that PySpark looks up by name again for each function of a column."""
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


def find_java() -> Path:
    """Return the Java that Spark will start: that of JAVA_HOME, else the first in PATH.

    Raises:
        JavaMissing: there is none, or it is too old.
    """
    found = _java_path()
    major = _major_version(found)
    if major < JAVA_MAJOR_MIN:
        raise JavaMissing(
            f"{found} is Java {major}: Spark needs {JAVA_MAJOR_MIN} or newer; set JAVA_HOME to one"
        )
    return Path(found)


def _java_path() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        where = f"JAVA_HOME ({home})" if home else "PATH"
        raise JavaMissing(
            f"no java in {where}: install Java {JAVA_MAJOR_MIN} or newer and set JAVA_HOME"
        )
    return found


def start_session(
    master: str | None = None,
    *,
    is_for_little: bool = True,
    makes_archive: bool = False,
    jars: Sequence[Path] = (),
) -> SparkSession:
    """Start Spark, with ``jars`` on its class path; ``find_java`` first.

    ``master`` is what the user named here. Else it is what ``spark-submit`` or the user's own
    ``spark-defaults.conf`` names, and this machine when nobody names any. Options of that file hold
    where none is set here. Without ``is_for_little`` Java compiles as well as it can what it runs
    often, which a small dump does not pay for, nor the driver of a cluster, which only plans. With
    ``makes_archive`` call ``class_archive.keep_archive`` when done.

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
        # Else each function of a column tells Java which line called it.
        .config("spark.python.sql.dataFrameDebugging.enabled", value=False)
    )
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    java_options = f"-Dlog4j2.configurationFile={files(analytics) / 'log4j2.properties'}"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            builder = _for_one_machine(builder)
            if is_for_little:
                builder = builder.config("spark.buffer.pageSize", _QUICK_PAGE)
            own = java_options_for(is_little=is_for_little)
            java_options = f"{java_options} {own} {_archive_options(makes=makes_archive)}"
        else:
            java_options = f"{java_options} {PLANNING_JAVA}"
        builder = builder.config(java_options_name(master), java_options)
    os.environ.update(python_variables(master, os.environ))
    with tempfile.TemporaryFile() as chatter:
        try:
            with _stderr_to(chatter.fileno()):
                spark = builder.getOrCreate()
        except (*SPARK_ERRORS, OSError) as error:
            chatter.seek(0)
            raise SparkFailed(_why(error, chatter.read().decode(errors="replace"))) from error
    _remember_classes(spark.sparkContext)
    name_call_sites(spark)
    return spark


def java_options_for(*, is_little: bool) -> str:
    """Return options of a Java that has little to do, or much."""
    return f"{_JAVA} {_QUICK_JAVA}" if is_little else _JAVA


def java_options_name(master: str) -> str:
    """Return the setting for options of the driver's Java.

    Beside a cluster's own settings it is the one that Spark puts before the user's options; on one
    machine it is in the place of them, for they would not suit the class archive.
    """
    kind = "extra" if master.startswith("local") else "default"
    return f"spark.driver.{kind}JavaOptions"


def python_variables(master: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which Spark's workers run in the Python that runs this.

    They must be of one minor version; Spark itself would start the first python3 in PATH. It asks
    the environment, no setting. Machines of a cluster may have theirs elsewhere: where the master
    is not surely this machine, variables that are set stay.
    """
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    is_local = master is not None and master.startswith("local")
    return {name: sys.executable for name in names if is_local or name not in environ}


def name_call_sites(spark: SparkSession) -> None:
    """Tell Java who asks, for all that this thread asks from now on.

    Else it looks at the stack for each step of each plan. Its pages would show no more than that
    PySpark asks.
    """
    for form in ("short", "long"):
        spark.sparkContext.setLocalProperty(f"callSite.{form}", "analytics")


class _Remembered:
    """A class of Java whose members are looked up once; they do not change."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._java_class, name)
        setattr(self, name, member)
        return member


def _remember_classes(context: Any) -> None:
    """Keep what names stand for: a report of 4,000 rows asks 3,400 times for members of five.

    Java looks for a class without a package in each package that PySpark imports, in every jar, and
    for a member among copies of all members.
    """
    java = context._jvm  # noqa: SLF001
    for name in _ASKED_OFTEN:
        known = getattr(java, name)
        if not isinstance(known, _Remembered):
            setattr(java, name, _Remembered(known))


@contextmanager
def suited_to(spark: SparkSession, size_bytes: int | None) -> Generator[bool]:
    """Set what suits a dump of this size, in a block that gets whether the dump is small.

    For a small one nothing is compiled, planned anew or broadcast: compiling a plan, or planning
    anew after each shuffle (a Spark job each), takes longer than its rows do. For a larger one of
    this machine a shuffle has as many tasks as its size wants. Dumps elsewhere (None) and clusters
    keep all settings but what joins send to all executors.
    """
    is_local = str(spark.sparkContext.master).startswith("local")
    is_small = is_local and size_bytes is not None and size_bytes <= SMALL_BYTES_MAX
    wanted = _FOR_LITTLE if is_small else _joins(spark)
    if is_local and size_bytes is not None:
        wanted = _OPEN_FILES | wanted | ({} if is_small else _shuffles(spark, size_bytes))
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield is_small
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def _joins(spark: SparkSession) -> dict[str, str]:
    """Return what joins of a large dump send to all executors; what the user has set stays."""
    conf = spark.sparkContext.getConf()
    is_set = conf.contains(_SENT_TO_ALL) or conf.contains(_MEASURED)
    return {} if is_set else _JOINED_AS_MEASURED


def _shuffles(spark: SparkSession, size_bytes: int) -> dict[str, str]:
    """Return in how many tasks a large dump of this machine is shuffled, unless a user says it."""
    context = spark.sparkContext
    if context.getConf().contains(_SHUFFLED):
        return {}
    return {_SHUFFLED: str(max(context.defaultParallelism, -(-size_bytes // _SHUFFLED_BYTES)))}


def _archive_options(*, makes: bool) -> str:
    archive = archive_of(Path(_java_path()))
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
