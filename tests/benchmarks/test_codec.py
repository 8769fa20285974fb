import pytest

from benchmarks.codec import print_bars, print_table, ratios
from benchmarks.codec_peers import CONSTRUCT, KAFKA_PYTHON, KIO, OURS, decoders, encoders
from benchmarks.codec_rows import ROWS, Row

SIZES = ("Produce 16 KiB v9", "Produce 1 MiB v9", "Fetch 16 KiB v12", "Fetch 1 MiB v12")


def table(*, theirs: float, large: float = 1) -> dict[str, dict[str, float]]:
    return {
        row: {OURS: large if "MiB" in row else 1, KAFKA_PYTHON: theirs, CONSTRUCT: 40}
        for row in SIZES
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name} v{row.version}")
def test_every_peer_reads_and_writes_the_same_message(row: Row) -> None:
    names = decoders(row).keys()
    assert names == encoders(row).keys()
    assert (KAFKA_PYTHON in names) == (KIO in names) == (row.name != "LeaderAndIsr 1,000")


def test_a_peer_without_the_message_is_shown_as_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    all_have: dict[str, float] = {OURS: 1, KAFKA_PYTHON: 2, KIO: 2, CONSTRUCT: 2}
    print_table("decode", {"Usual v1": all_have, "Odd v1": {OURS: 1, CONSTRUCT: 4}})
    odd = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Odd"))
    assert odd.split()[-4:] == ["-", "-", "4.0", "x"]


def test_bars_that_are_reached_are_met(capsys: pytest.CaptureFixture[str]) -> None:
    print_bars("decode", table(theirs=4), copies=False)
    assert "MISSED" not in capsys.readouterr().out


def test_bars_that_are_not_reached_are_missed(capsys: pytest.CaptureFixture[str]) -> None:
    print_bars("decode", table(theirs=0.5, large=3), copies=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.startswith("MISSED") for line in lines] == [True, False, True, True, True]


def test_rows_that_a_peer_lacks_do_not_count() -> None:
    assert ratios({"a": {OURS: 1, KIO: 3}, "b": {OURS: 1}}, KIO) == {"a": 3}
