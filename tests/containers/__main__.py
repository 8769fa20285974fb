"""``python -m tests.containers [--spark]``: the images and both compose files, in an engine.

It builds the image, plays one story per compose file, and looks how large the image is. Containers
and their volumes are removed in the end. Exit codes: 0 all as it must be, 1 not so, 2 no engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from tests.containers import cluster_story, networks_story
from tests.containers.engine import build, is_there, printed, say, size_mb

BASE: Final = "python:3.11-slim"
IMAGE: Final = "jbodlab"
SPARK_IMAGE: Final = "jbodlab:spark"
ABOVE_BASE_MB_MAX: Final = 70
RUN_ONCE: Final = ("docker", "run", "--rm", "--network", "host")
COUNTS_TO_3: Final = (
    "from pyspark.sql import SparkSession as S; print(S.builder.getOrCreate().range(3).count())"
)
STORIES: Final[tuple[Callable[[], bool], ...]] = (cluster_story.story, networks_story.story)


def main(arguments: list[str]) -> int:
    """Return 0 when everything came out as it must, 2 where there is no container engine."""
    if not is_there():
        sys.stderr.write(
            "tests.containers: no container engine answers: start one, or set DOCKER_HOST\n"
        )
        return 2
    build(IMAGE)
    is_small = _is_small_enough()
    if "--spark" in arguments:
        _check_spark()
    came_out = [play() for play in STORIES]
    return int(not (is_small and all(came_out)))


def _is_small_enough() -> bool:
    above_mb = size_mb(IMAGE) - size_mb(BASE)
    say(
        f"{IMAGE}: {size_mb(IMAGE):.0f} MB, {above_mb:.1f} MB above {BASE}, "
        f"of {ABOVE_BASE_MB_MAX} that it may be"
    )
    return above_mb <= ABOVE_BASE_MB_MAX


def _check_spark() -> None:
    build(SPARK_IMAGE, "--file", "Dockerfile.spark")
    say(f"{SPARK_IMAGE}: {size_mb(SPARK_IMAGE):.0f} MB")
    asked = printed(*RUN_ONCE, SPARK_IMAGE, "python", "-c", COUNTS_TO_3)
    assert asked.strip() == "3"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
