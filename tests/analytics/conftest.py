from collections.abc import Generator

import pytest
from pyspark.sql import SparkSession

from analytics.session import find_java, start_session


@pytest.fixture(scope="session")
def spark() -> Generator[SparkSession]:
    """One Spark for all tests: starting it costs more than all of them."""
    find_java()
    session = start_session("local[1]")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    yield session
    session.stop()
