"""Java is found, its version read, and its absence told."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.java import find_java, java_major, require_java


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no java here", None),
    ],
)
def test_the_major_version_is_read(text: str, major: int | None) -> None:
    assert java_major(text) == major


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "jdk", "21.0.1")
    other = fake_java(tmp_path / "old", "1.8.0")
    environment = {"JAVA_HOME": str(tmp_path / "jdk"), "PATH": str(other.parent)}
    assert find_java(environment) == str(java)
    assert require_java(environment) == str(java)


def test_no_java_is_one_line_that_says_what_to_do() -> None:
    with pytest.raises(LabError, match="install a JDK 17 or newer") as caught:
        require_java({"PATH": ""})
    assert caught.value.exit_code is ExitCode.MISSING_JAVA


def test_an_old_java_is_not_enough(tmp_path: Path) -> None:
    fake_java(tmp_path, "1.8.0_392")
    with pytest.raises(LabError, match="has version 8"):
        require_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
