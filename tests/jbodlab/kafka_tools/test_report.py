"""Lines for people, or one document."""

from __future__ import annotations

import json

import pytest

from jbodlab.kafka_tools.report import Report


def write(report: Report) -> None:
    report.say("a")
    report.say("b", end="")
    report.note("c", 1)
    report.complain("d")
    report.finish()


def test_people_read_lines(capsys: pytest.CaptureFixture[str]):
    write(Report(is_json=False))
    assert capsys.readouterr() == ("a\nb", "d\n")


def test_programs_read_one_document(capsys: pytest.CaptureFixture[str]):
    write(Report(is_json=True))
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == ({"c": 1}, "d\n")
