from pathlib import Path

import pytest

from analytics.errors import ConnectorMissing
from analytics.kafka_connector import NAME, VERSION, cache_folder, connector_jars


def maven(folder: Path, script: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / "mvn"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


FETCHES = f"""
for word in "$@"; do case "$word" in -DoutputDirectory=*) to="${{word#*=}}";; esac; done
mkdir -p "$to" && touch "$to/{NAME}-{VERSION}.jar" "$to/kafka-clients-3.9.2.jar"
"""


def test_jars_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven(tmp_path / "bin", FETCHES)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jars = connector_jars()
    assert [jar.name for jar in jars] == ["kafka-clients-3.9.2.jar", f"{NAME}-{VERSION}.jar"]
    assert {jar.parent for jar in jars} == {cache_folder()}
    maven(tmp_path / "bin", "exit 1")
    assert connector_jars() == jars


def test_a_machine_without_maven_is_told_where_jars_may_be_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConnectorMissing, match=f"install Maven, or put {NAME} .* into {tmp_path}"):
        connector_jars(tmp_path / "jars")


def test_a_download_that_fails_leaves_nothing_and_says_what_maven_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven(tmp_path / "bin", f"{FETCHES}\necho 'no route to host'; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    with pytest.raises(ConnectorMissing, match="no route to host"):
        connector_jars(tmp_path / "jars")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]
