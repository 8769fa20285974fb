"""Fetches Spark's own Kafka connector, once, by Maven. It starts no Spark.

Spark itself would ask Ivy at each start; so a start needs no network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from analytics.errors import ConnectorMissing

VERSION: Final = "4.2.0"
"""The newest on Maven Central; PySpark 4.3 works with it."""
NAME: Final = "spark-sql-kafka-0-10_2.13"
_POM: Final = Path(__file__).with_name("kafka_connector.pom.xml")
_SAID_LAST: Final = 300
"""Characters shown of what Maven said when it failed."""


def cache_folder() -> Path:
    """Return where the jars are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "jbodlab" / f"{NAME}-{VERSION}"


def connector_jars(folder: Path | None = None) -> list[Path]:
    """Return the connector and what it needs beside Spark; fetch them if they are not there.

    Raises:
        ConnectorMissing: there is no Maven, or it could not fetch them.
    """
    folder = folder or cache_folder()
    if not any(folder.glob(f"{NAME}-*.jar")):
        _fetch(folder)
    return sorted(folder.glob("*.jar"))


def _fetch(folder: Path) -> None:
    """Fetch into a folder beside it first: half of the jars are none."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ConnectorMissing(
            f"no mvn in PATH to fetch Spark's Kafka connector: install Maven, or put {NAME} "
            f"{VERSION} and its dependencies into {folder}"
        )
    beside = folder.with_name(f"{folder.name}-{os.getpid()}")
    command = [maven, "-q", "-B", "-f", str(_POM), "dependency:copy-dependencies"]
    options = [f"-DoutputDirectory={beside}", f"-Dconnector.version={VERSION}"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(beside, ignore_errors=True)
        said = " ".join((done.stdout or done.stderr).split())[-_SAID_LAST:]
        raise ConnectorMissing(f"Maven could not fetch {NAME} {VERSION}: {said}")
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)
