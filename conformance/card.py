"""The report card of a run, for people: groups of cases, then every violation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from conformance.core.verdicts import Outcome, Verdict

VALUE_CHARACTERS_MAX: Final = 300
DIFFERENCES_MAX: Final = 4
"""So many of a violation are shown; --json has all."""
GROUPS: Final = {
    "announced": "versions announced",
    "minimal": "the least request, every API and version",
    "tags": "unknown tagged fields",
    "cut": "bodies too short and too long",
    "beyond": "versions newer than announced",
    "below": "versions older than announced",
    "bounds": "fields at both ends of their range",
    "typical": "a typical use, every API and version",
    "produce": "errors and limits of Produce",
    "idempotence": "sequences of idempotent producers",
    "fetch": "errors and limits of Fetch",
    "epochs": "leader epochs",
    "sessions": "fetch sessions",
    "offsets": "ListOffsets",
    "isr": "Isr and high watermark",
    "topics": "topics and their partitions",
    "configs": "configurations",
    "groups": "groups and their members",
    "consumer-groups": "groups of KIP-848",
    "transactions": "transactions",
    "quotas": "quotas of clients",
    "log-dirs": "log dirs",
    "reassignments": "reassignments",
    "cluster": "the cluster as a whole",
    "frames": "malformed frames",
    "order": "order of answers",
    "nobody": "every API, by who may do nothing",
    "describer": "every API, by who may describe",
    "member": "every API, by who may read and write",
    "access": "what single rights do",
    "acls": "ACLs made, told and deleted",
    "tokens": "delegation tokens",
    "logins": "logins by SCRAM",
    "passwords": "passwords that change",
}
"""What each group is about, in the order of the card."""


def card(verdicts: Sequence[Verdict], against: str, command: str) -> RenderableType:
    """Return the card; ``command`` runs the same again, to which ``--only`` is added."""
    parts: list[RenderableType] = [_table(verdicts)]
    bad = [each for each in verdicts if each.outcome is Outcome.VIOLATION]
    parts += [_violation(each, command) for each in bad]
    known = [each for each in verdicts if each.outcome is Outcome.KNOWN]
    shown = {why.number: why for each in known for why in each.known}
    for _, why in sorted(shown.items()):
        names = [each.name for each in known if why in each.known]
        parts.append(Text(f"{why}: {_some(names)}", "dim"))
    parts.append(_last_line(verdicts, against))
    return Group(*parts)


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("group", "passed", "known", "not run", "violations"):
        table.add_column(name, justify="left" if name == "group" else "right")
    for group in [*GROUPS, *sorted({each.group for each in verdicts} - GROUPS.keys())]:
        of_group = [each for each in verdicts if each.group == group]
        if of_group:
            table.add_row(GROUPS.get(group, group), *_counts(of_group))
    return table


def _counts(verdicts: Sequence[Verdict]) -> list[str | Text]:
    passed = _count(verdicts, Outcome.PASSED)
    known = _count(verdicts, Outcome.KNOWN)
    violations = _count(verdicts, Outcome.VIOLATION)
    not_run = len(verdicts) - passed - known - violations
    bad = Text(str(violations or ""), "bold red")
    return [str(passed), str(known or ""), str(not_run or ""), bad]


def _count(verdicts: Sequence[Verdict], outcome: Outcome) -> int:
    return sum(each.outcome is outcome for each in verdicts)


def _violation(verdict: Verdict, command: str) -> RenderableType:
    lines = [Text(f"\n{verdict.name}", "bold red"), Text(f"  {verdict.about}")]
    for each in verdict.differences[:DIFFERENCES_MAX]:
        if each.path:
            lines.append(Text(f"  at {each.path}", "dim"))
        lines.append(Text(f"    expected  {_value(each.expected)}"))
        lines.append(Text(f"    got       {_value(each.got)}"))
    more = len(verdict.differences) - DIFFERENCES_MAX
    if more > 0:
        lines.append(Text(f"  and {more} more: --json has them", "dim"))
    lines.append(Text(f"  again: {command} --only '{verdict.name}'", "dim"))
    return Group(*lines)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}..."


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _last_line(verdicts: Sequence[Verdict], against: str) -> Text:
    violations = _count(verdicts, Outcome.VIOLATION)
    words = f"{len(verdicts)} cases judged by {against}: "
    if violations:
        return Text(f"\n{words}{violations} violation(s)", "bold red")
    return Text(f"\n{words}no violation", "bold green")


def content(verdicts: Sequence[Verdict], against: str, left: Sequence[str]) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "against": against,
        "violations": _count(verdicts, Outcome.VIOLATION),
        "left_behind": list(left),
        "cases": [_content(each) for each in verdicts],
    }


def _content(verdict: Verdict) -> dict[str, Any]:
    form: dict[str, Any] = {"case": verdict.name, "outcome": verdict.outcome.value}
    if verdict.differences:
        form["about"] = verdict.about
        form["known_differences"] = [
            {"number": each.number, "what": each.what, "row": each.row} for each in verdict.known
        ]
        form["differences"] = [
            {"path": each.path, "expected": each.expected, "got": each.got}
            for each in verdict.differences
        ]
    return form
