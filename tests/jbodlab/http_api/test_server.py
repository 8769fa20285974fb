"""Who serves beyond loopback needs a token that nobody guesses."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.http_api.server import Place, place

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "lab.example"])
def test_beyond_loopback_a_token_is_needed(host: str) -> None:
    with pytest.raises(LabError, match="--token-file") as raised:
        place(host, 8099, None)
    assert raised.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_on_loopback_none_is_needed(host: str) -> None:
    assert place(host, 8099, None) == Place(host, 8099, None)


def test_a_token_is_read_without_the_end_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert place("0.0.0.0", 8099, file).token == TOKEN


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret")
    with pytest.raises(LabError, match="has 6 characters") as raised:
        place("127.0.0.1", 8099, file)
    assert raised.value.exit_code is ExitCode.BAD_CONFIG


def test_a_token_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot be read"):
        place("127.0.0.1", 8099, tmp_path / "nothing")
