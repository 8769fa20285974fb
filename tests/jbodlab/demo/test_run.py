"""The demo's last step, without Java; the rest is shown by tests/integration/test_demo.py."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from jbodlab.demo.narrator import Narrator
from jbodlab.demo.run import show_report


def test_without_java_the_demo_ends_well_and_says_why_there_is_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    narrator = Narrator(Console(width=400, record=True, file=io.StringIO()))
    show_report(tmp_path, tmp_path, narrator)
    [said] = [line for line in narrator.console.export_text().splitlines() if line]
    assert "no report: no java in JAVA_HOME" in said
    assert "everything else was shown" in said
