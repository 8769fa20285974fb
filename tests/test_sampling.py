"""Exhaustive tests: a seed repeats its sample, other tests are whole, ``--unsampled`` is all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXHAUSTIVE = """
import pytest

@pytest.mark.sampled("part", kept=2)
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("story", ["a", "b"])
def test_exhaustive(story, part):
    pass

@pytest.mark.parametrize("number", range(3))
def test_other(number):
    pass

@pytest.mark.sampled("release", kept=1, together="releases")
@pytest.mark.parametrize("release", ["old", "new"])
@pytest.mark.parametrize("number", range(8))
def test_release(release, number):
    pass

@pytest.mark.sampled("release", kept=1, together="releases")
@pytest.mark.parametrize("release", ["old", "new"])
def test_release_too(release):
    pass

@pytest.mark.sampled_among("long ones", kept=1)
def test_long():
    pass

@pytest.mark.sampled_among("long ones", kept=1)
def test_longer():
    pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(EXHAUSTIVE)
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  sampled: x\n  sampled_among: x\n")
    return tmp_path


def chosen(suite: Path, *options: str) -> list[str]:
    """Return the tests that pytest would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options]
    listed = subprocess.run(
        command,
        cwd=suite,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(line for line in listed.stdout.splitlines() if "::" in line)


def test_a_seed_repeats_its_sample_and_every_other_parameter_has_as_many(suite: Path) -> None:
    sample = chosen(suite, "-p", "randomly", "--randomly-seed=1")
    assert sample == chosen(suite, "-p", "randomly", "--randomly-seed=1")
    assert sum("test_exhaustive[a-" in name for name in sample) == 2
    assert sum("test_exhaustive[b-" in name for name in sample) == 2
    assert sum("test_other" in name for name in sample) == 3
    assert sum("test_long" in name for name in sample) == 1
    releases = ["old" in name for name in sample if "test_release" in name]
    assert releases in ([True] * 9, [False] * 9)
    others = [chosen(suite, "-p", "randomly", f"--randomly-seed={seed}") for seed in (2, 3)]
    assert [sample, sample] != others


def test_what_a_sample_left_out_is_all_the_rest(suite: Path) -> None:
    seed = ("-p", "randomly", "--randomly-seed=7")
    sample, rest = chosen(suite, *seed), chosen(suite, *seed, "--left-out")
    assert sorted([*sample, *rest]) == chosen(suite, "--unsampled")
    assert not any("test_other" in name for name in rest)


def test_unsampled_leaves_nothing_out(suite: Path) -> None:
    assert len(chosen(suite, "--unsampled")) == 23 + 16 + 2 + 2
