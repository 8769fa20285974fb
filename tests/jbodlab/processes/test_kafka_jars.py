"""Apache Kafka's jars are fetched once, and whoever waits sees how far that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.kafka_jars import DOWNLOAD_BYTES, VERSION, cache_folder, has_jars, kafka_jars

FETCHES = """
for word in "$@"; do case "$word" in -DoutputDirectory=*) to="${word#*=}";; esac; done
echo '[INFO] Downloading from central: https://example.org/a.pom'
echo '[INFO] Downloaded from central: https://example.org/a.pom (1.5 kB at 3.2 kB/s)'
echo '[INFO] Downloaded from central: https://example.org/a.jar (6.0 MB at 13 MB/s)'
mkdir -p "$to" && touch "$to/kafka_2.13-3.9.2.jar"
"""


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Java and a Maven that fetches; its programs are in the folder."""
    program(tmp_path / "bin", "java", "")
    program(tmp_path / "bin", "mvn", FETCHES)
    for tool in ("mkdir", "touch"):
        (tmp_path / "bin" / tool).symlink_to(f"/bin/{tool}")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "bin"


def test_jars_are_fetched_once_and_the_bytes_are_told(machine: Path) -> None:
    told: list[tuple[int, int]] = []
    folder = kafka_jars(cache_folder(), show=lambda done, total: told.append((done, total)))
    assert has_jars(folder)
    assert told == [(each, DOWNLOAD_BYTES) for each in (1500, 6_001_500, DOWNLOAD_BYTES)]
    program(machine, "mvn", "exit 1")
    assert kafka_jars(cache_folder()) == folder


def test_without_java_nothing_is_fetched(machine: Path) -> None:
    (machine / "java").unlink()
    with pytest.raises(LabError, match="install Java") as raised:
        kafka_jars(cache_folder())
    assert raised.value.exit_code is ExitCode.MISSING_JAVA
    assert not cache_folder().exists()


def test_without_maven_it_is_said_where_jars_may_be_put(machine: Path) -> None:
    (machine / "mvn").unlink()
    words = f"install Maven, or put the jars of .*:{VERSION} .* into {cache_folder()}"
    with pytest.raises(LabError, match=words) as raised:
        kafka_jars(cache_folder())
    assert raised.value.exit_code is ExitCode.MISSING_PACKAGE


def test_a_download_that_fails_leaves_nothing_and_says_what_maven_said(machine: Path) -> None:
    program(machine, "mvn", f"{FETCHES}\necho '[ERROR] no route to host'; exit 1")
    with pytest.raises(LabError, match="no route to host"):
        kafka_jars(cache_folder())
    assert list(cache_folder().parent.iterdir()) == []
