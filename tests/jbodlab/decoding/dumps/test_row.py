"""Rows and findings."""

from __future__ import annotations

from jbodlab.decoding.dumps.row import Findings, row_of


def test_a_row_is_told_in_words_and_as_content() -> None:
    row = row_of({"offset": 3, "position": 40})
    assert row.text == "offset: 3 position: 40"
    assert row.content == {"offset": 3, "position": 40}


def test_findings_come_by_heading_and_only_faults_count() -> None:
    findings = Findings()
    findings.note("b", " 1")
    findings.note("a", " 2", is_fault=False)
    findings.note("b", " 3")
    assert findings.lines() == ["b", " 1", " 3", "a", " 2"]
    assert findings.faults_count == 2
