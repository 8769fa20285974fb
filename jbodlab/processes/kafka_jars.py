"""Fetches the jars of Apache Kafka and its ZooKeeper from Maven Central, once. Runs neither."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

from jbodlab.errors import ExitCode, LabError

VERSION: Final = "3.9.2"
"""The last release line that runs with ZooKeeper."""
ZOOKEEPER_VERSION: Final = "3.8.4"
"""What that release of Kafka depends on."""
JARS_BYTES: Final = 58_427_513
"""Of ``VERSION``, all together."""
DOWNLOAD_BYTES: Final = 67_000_000
"""What Maven fetches where it never ran before: the jars, what describes them, its own plugins."""
_POM: Final = Path(__file__).with_name("kafka_jars.pom.xml")
_FETCHED: Final = re.compile(r"Downloaded from \S+ \S+ \(([\d.]+) ([kMG]?)B ")
_UNITS: Final = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
_SAID_LAST: Final = 300
"""Characters shown of what Maven said when it failed."""


def _keep_quiet(_done_bytes: int, _total_bytes: int) -> None: ...


def cache_folder() -> Path:
    """Return where the jars are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "jbodlab" / f"kafka-{VERSION}"


def has_jars(folder: Path) -> bool:
    """Tell whether they were fetched."""
    return any(folder.glob("kafka_2.13-*.jar"))


def kafka_jars(
    folder: Path,
    version: str = VERSION,
    *,
    show: Callable[[int, int], None] = _keep_quiet,
) -> Path:
    """Return ``folder`` with all jars in it; fetch them if they are not there.

    ``show`` is told how many bytes of how many were fetched.

    Raises:
        LabError: MISSING_JAVA; MISSING_PACKAGE: there is no Maven, or it could not fetch them.
    """
    if shutil.which("java") is None:
        words = f"no java in PATH, and Apache Kafka {version} runs on it: install Java 8 or newer"
        raise LabError(ExitCode.MISSING_JAVA, words)
    if not has_jars(folder):
        _fetch(folder, version, show)
    return folder


def _fetch(folder: Path, version: str, show: Callable[[int, int], None]) -> None:
    """Fetch into a folder beside it first: half of the jars are none."""
    maven = shutil.which("mvn")
    if maven is None:
        raise LabError(
            ExitCode.MISSING_PACKAGE,
            f"no mvn in PATH to fetch Apache Kafka {version}: install Maven, or put the jars of "
            f"org.apache.kafka:kafka_2.13:{version} and all they depend on into {folder}",
        )
    beside = folder.with_name(f"{folder.name}-{os.getpid()}").absolute()
    command = [maven, "-B", "-f", str(_POM), "dependency:copy-dependencies"]
    options = [f"-DoutputDirectory={beside}", f"-Dkafka.version={version}"]
    try:
        with subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            said = _watch(process.stdout, show)
        if process.returncode != 0 or not has_jars(beside):
            words = " ".join(said.split())[-_SAID_LAST:]
            raise LabError(
                ExitCode.MISSING_PACKAGE, f"Maven could not fetch Apache Kafka {version}: {words}"
            )
        shutil.rmtree(folder, ignore_errors=True)
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    show(DOWNLOAD_BYTES, DOWNLOAD_BYTES)


def _watch(output: IO[str], show: Callable[[int, int], None]) -> str:
    """Return what Maven says of errors; tell of what it has fetched."""
    done_bytes, errors = 0.0, list[str]()
    for line in output:
        if found := _FETCHED.search(line):
            done_bytes += float(found[1]) * _UNITS[found[2]]
            show(min(int(done_bytes), DOWNLOAD_BYTES), DOWNLOAD_BYTES)
        elif "ERROR" in line:
            errors.append(line)
    return "".join(errors[:2])
