import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from analytics.class_archive import archive_of, archive_options, keep_archive, making_options


def java(folder: Path) -> Path:
    folder.mkdir(parents=True)
    program = folder / "java"
    program.write_text("")
    return program


def test_each_java_has_its_archive_below_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = archive_of(java(tmp_path / "17")), archive_of(java(tmp_path / "21"))
    assert one != other
    assert one.parent == tmp_path / "jbodlab"


def test_an_archive_is_used_when_it_is_there_and_made_else(tmp_path: Path) -> None:
    archive = tmp_path / "a folder" / "spark.jsa"
    assert archive_options(archive) == ""
    assert f'"-XX:ArchiveClassesAtExit={archive}.' in making_options(archive)
    archive.write_text("")
    assert f'"-XX:SharedArchiveFile={archive}"' in archive_options(archive)


def test_without_a_cache_folder_no_archive_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert making_options(tmp_path / "file" / "spark.jsa") == ""


@pytest.mark.parametrize("started", [{}, {"proc": None}])
def test_a_java_that_spark_submit_started_is_left_running(
    started: dict[str, None], tmp_path: Path
) -> None:
    ended: list[str] = []
    gateway = SimpleNamespace(shutdown=lambda: ended.append("gateway"), **started)
    keep_archive(tmp_path / "spark.jsa", gateway)
    assert ended == []


def test_a_java_that_takes_too_long_is_ended_and_leaves_no_half_archive(tmp_path: Path) -> None:
    archive = tmp_path / "spark.jsa"
    unfinished = Path(re.findall(r'ArchiveClassesAtExit=([^"]+)', making_options(archive))[0])
    unfinished.write_text("half")
    java = subprocess.Popen(["tail", "-f", "/dev/null"])
    keeps_open = SimpleNamespace(close=lambda: None)
    waits = iter([subprocess.TimeoutExpired("java", 120)])

    def wait(_: float | None = None) -> int:
        if (late := next(waits, None)) is not None:
            raise late
        return java.wait()

    process = SimpleNamespace(stdin=keeps_open, wait=wait, kill=java.kill)
    keep_archive(archive, SimpleNamespace(shutdown=lambda: None, proc=process))
    assert java.returncode == -9
    assert list(tmp_path.iterdir()) == []
