"""Verdicts as a JUnit file, which every CI server reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from conformance.core.verdicts import Outcome, Verdict

_SKIPPED = (Outcome.NOT_ANNOUNCED, Outcome.TOO_FEW_BROKERS)


def junit(verdicts: Sequence[Verdict], against: str) -> bytes:
    """Return the file: one suite per group; known differences and what was not run are skipped."""
    root = Element("testsuites", name=f"conform against {against}")
    for group in dict.fromkeys(each.group for each in verdicts):
        of_group = [each for each in verdicts if each.group == group]
        failures = sum(each.outcome is Outcome.VIOLATION for each in of_group)
        skipped = sum(each.outcome in (*_SKIPPED, Outcome.KNOWN) for each in of_group)
        counts = {"tests": len(of_group), "failures": failures, "skipped": skipped}
        told = {"name": group, **{key: str(count) for key, count in counts.items()}}
        suite = SubElement(root, "testsuite", told)
        for each in of_group:
            _add(suite, each)
    indent(root)
    return tostring(root, encoding="utf-8", xml_declaration=True)


def _add(suite: Element, verdict: Verdict) -> None:
    made = SubElement(suite, "testcase", classname=verdict.group, name=verdict.name)
    if verdict.outcome is Outcome.VIOLATION:
        first = verdict.differences[0]
        failure = SubElement(made, "failure", message=_words(first.path, first.expected, first.got))
        failure.text = "\n".join(
            [verdict.about, *(_words(e.path, e.expected, e.got) for e in verdict.differences)]
        )
    elif verdict.outcome is Outcome.KNOWN:
        SubElement(made, "skipped", message=", ".join(map(str, verdict.known)))
    elif verdict.outcome in _SKIPPED:
        SubElement(made, "skipped", message=verdict.outcome.value)


def _words(path: str, expected: object, got: object) -> str:
    told = f"expected {json.dumps(expected)}, got {json.dumps(got)}"
    return f"{path}: {told}" if path else told
