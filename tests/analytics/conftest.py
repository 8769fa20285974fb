import os
from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from analytics.session import find_java, start_session, suited_to

_PRODUCTION = {
    "spark.sql.optimizer.disableHints": "false",
    "spark.sql.autoBroadcastJoinThreshold": "10MB",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.wholeStage": "true",
}


@pytest.fixture(scope="session")
def poisoned_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a PATH whose first python3 is of no use: Spark's workers may not take it."""
    folder = tmp_path_factory.mktemp("path")
    poison = folder / "python3"
    poison.write_text("#!/bin/sh\necho 'the wrong python3' >&2\nexit 9\n")
    poison.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="session")
def spark(poisoned_path: str) -> Generator[SparkSession]:
    """One Spark for all tests: starting it costs more than all of them."""
    find_java()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", poisoned_path)
        session = start_session("local[1]")
    with suited_to(session, size_bytes=0):  # Ten rows are quicker so.
        yield session
    session.stop()


@pytest.fixture
def viewed(spark: SparkSession, tmp_path: Path) -> str:
    """Return what another file system of Hadoop's calls ``tmp_path``."""
    context: Any = spark.sparkContext
    settings = context._jsc.hadoopConfiguration()
    mount = uuid4().hex
    settings.set(f"fs.viewfs.mounttable.{mount}.link./lab", tmp_path.as_uri())
    return f"viewfs://{mount}/lab"


@pytest.fixture
def spark_in_production(spark: SparkSession) -> Generator[SparkSession]:
    """The same Spark with the settings that it has for larger dumps."""
    before = {name: spark.conf.get(name) for name in _PRODUCTION}
    for name, value in _PRODUCTION.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value or "")
