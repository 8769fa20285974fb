"""What is said of quotas: those of users, client ids and addresses of a conversation."""

from __future__ import annotations

from typing import Any, Final

from conformance.core.script import CONTROLLER, Form, Request, Until
from tests.conversations.speaker import Speaker, Step, first_of, say

_TYPES: Final = (("user",), ("client-id",), ("user", "client-id"))
_KEYS: Final = (
    *("producer_byte_rate", "consumer_byte_rate", "request_percentage"),
    *("controller_mutation_rate", "connection_creation_rate", "no_such_rate"),
)
_RATES: Final = (1e6, 1024.0, 0.5, 1.0, 1e20)
_NO_RATES: Final = (0.0, -1.0)
"""3.9 takes these, too."""
_EXACT: Final = 0
_DEFAULT: Final = 1
_ANY: Final = 2
_NO_KIND: Final = 7
"""Of which 3.9 says no more than UNKNOWN_SERVER_ERROR."""


def alter(speaker: Speaker) -> Step:
    """AlterClientQuotas of one entity; who is asked later knows of it."""
    types = speaker.mostly(speaker.one_of(_TYPES), ("ip",), ("nobody",), (), ("user", "ip"))
    entity = [{"entityType": each, "entityName": speaker.name(f"quota-{each}")} for each in types]
    if speaker.chance(0.05):
        entity = entity * 2
    keys = [speaker.one_of(_KEYS) for _ in range(speaker.mostly(1, 0, 2))]
    if speaker.is_told_late:
        keys = list(dict.fromkeys(keys))  # 3.9 takes one that is there twice.
    values = _RATES if speaker.is_told_late else (*_RATES, *_NO_RATES)
    ops: list[dict[str, Any]] = [
        {"key": key, "value": speaker.one_of(values), "remove": speaker.chance(0.25)}
        for key in keys
    ]
    is_only_looked_at = speaker.chance(0.15)
    form = {"entries": [{"entity": entity, "ops": ops}], "validateOnly": is_only_looked_at}
    answer = yield from say(speaker, "AlterClientQuotas", form, to=CONTROLLER)
    if first_of(answer, "entries").get("errorCode") == 0 and not is_only_looked_at:
        yield _is_known(entity, {each["key"]: each for each in ops})
    yield from describe(speaker)


def _is_known(entity: list[dict[str, str]], last: dict[str, dict[str, Any]]) -> Until:
    """Wait until a broker tells what each key was set to last, or no more of it."""
    rows = [
        {"entityType": each["entityType"], "matchType": _EXACT, "match": each["entityName"]}
        for each in entity
    ]
    request = Request("DescribeClientQuotas", 0, {"components": rows, "strict": True})

    def condition(answer: Form) -> bool:
        found = {
            one["key"]: one["value"] for each in answer["entries"] or () for one in each["values"]
        }
        return all(
            found.get(key) == (None if each["remove"] else each["value"])
            for key, each in last.items()
        )

    return Until(request, condition)


def describe(speaker: Speaker) -> Step:
    """DescribeClientQuotas by names of the conversation, by defaults or by types."""
    types = speaker.mostly(speaker.one_of(_TYPES), ("ip",), ("nobody",), (), ("user", "user"))
    rows: list[dict[str, Any]] = []
    for each in types:
        others = (_DEFAULT, _ANY) if speaker.is_told_late else (_DEFAULT, _ANY, _NO_KIND)
        kind = speaker.mostly(_EXACT, *others)
        match = speaker.name(f"quota-{each}") if kind == _EXACT else None
        rows.append({"entityType": each, "matchType": kind, "match": match})
    form = {"components": rows, "strict": speaker.chance(0.5)}
    yield from say(speaker, "DescribeClientQuotas", form)
