"""Asks each release's own ``kafka-clients`` what it announces: ``releases.jsonl.gz``."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from tests.golden.made import GOLDEN, Made, run_java, write_vectors
from tests.golden.vectors import load_vectors

WRITER: Final = GOLDEN / "WriteReleases.java"


def clients_jar(version: str) -> Path:
    """Return the jar of one release of ``kafka-clients``, fetched once by Maven.

    Raises:
        SystemExit: Maven could not fetch it.
    """
    folder = BUILD_DIR / "kafka-clients"
    jar = folder / f"kafka-clients-{version}.jar"
    if not jar.is_file():
        command = ["mvn", "-q", "-B", "dependency:copy", f"-DoutputDirectory={folder}"]
        command.append(f"-Dartifact=org.apache.kafka:kafka-clients:{version}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"Maven could not fetch {jar.name}: {done.stdout[-300:]}")
    return jar


def announced(version: str) -> dict[str, list[int]]:
    """Return the lowest and highest version of each API, by its key."""
    (logging,) = fetch(BUILD_DIR).glob("slf4j-api-*.jar")
    told = run_java(f"{clients_jar(version)}:{logging}", str(WRITER))
    rows = sorted([int(word) for word in line.split()] for line in told.splitlines())
    return {str(key): [low, high] for key, low, high in rows}


def made() -> Made:
    """Ask every release that stands."""
    found: list[dict[str, Any]] = []
    differing: list[str] = []
    for line in load_vectors("releases"):
        apis = announced(line["kafkaClients"])
        found.append({**line, "apis": apis})
        differing += [
            f"{line['kafkaClients']} api {key}: {apis.get(key)} for {line['apis'].get(key)}"
            for key in sorted(apis.keys() | line["apis"].keys(), key=int)
            if apis.get(key) != line["apis"].get(key)
        ]
    return Made(
        f"{len(found)} asked anew", differing, functools.partial(write_vectors, "releases", found)
    )
