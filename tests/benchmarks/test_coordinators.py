from __future__ import annotations

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main as all_benchmarks
from benchmarks.coordinators import PARTS, main


def test_an_unknown_part_is_refused_with_the_known_ones() -> None:
    result = CliRunner().invoke(main, ["--only", "nothing"])
    assert result.exit_code == 2
    assert all(part in result.output for part in PARTS)


def test_it_is_one_of_all_benchmarks() -> None:
    result = CliRunner().invoke(all_benchmarks, ["--help"])
    assert "coordinators" in result.output


@pytest.mark.parametrize("option", ["--transactions", "--commits", "--members", "--groups"])
def test_what_is_measured_can_be_made_smaller(option: str) -> None:
    assert option in CliRunner().invoke(main, ["--help"]).output
