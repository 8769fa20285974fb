"""The programs of docs/python.md do what the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.integration.typed import typed

pytestmark = pytest.mark.sampled_among("the programs of docs/python.md", kept=1)

pytest_plugins = ["pytester"]
PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
SCRIPT, SUITE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_script_survives_its_broken_disk(tmp_path: Path) -> None:
    file = tmp_path / "survive.py"
    file.write_text(SCRIPT)
    done = typed(tmp_path, [sys.executable, str(file)])
    assert done.stdout.splitlines()[-1] == "[b'before', b'after']"
    assert "leader is now broker" in done.stdout


def test_the_suite_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_orders=SUITE)
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=1)
