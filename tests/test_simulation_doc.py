"""The example in docs/simulation.md runs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_example_tells_one_story_per_seed() -> None:
    text = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "assert run_world(" in block
    exec(compile(block, "docs/simulation.md", "exec"), {"__name__": "docs"})
