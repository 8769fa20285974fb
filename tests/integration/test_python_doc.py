"""The programs of docs/python.md and docs/faults.md do what the pages say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.integration.typed import typed

pytestmark = pytest.mark.sampled_among("the programs of docs/python.md", kept=1)

pytest_plugins = ["pytester"]
DOCS = Path(__file__).parents[2] / "docs"
SCRIPT, SUITE, FAULTS = (
    block
    for page in ("python.md", "faults.md")
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
)


def test_the_script_survives_its_broken_disk(tmp_path: Path) -> None:
    file = tmp_path / "survive.py"
    file.write_text(SCRIPT)
    done = typed(tmp_path, [sys.executable, str(file)])
    assert done.stdout.splitlines()[-1] == "[b'before', b'after']"
    assert "leader is now broker" in done.stdout


def test_requests_of_a_client_are_refused_and_held_back(tmp_path: Path) -> None:
    done = typed(tmp_path, [sys.executable, "-c", FAULTS])
    assert done.returncode == 0


def test_the_suite_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_orders=SUITE)
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=1)
