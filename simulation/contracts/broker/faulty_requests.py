"""What a broker promises of faults on requests: they meet what they are about, as often as told.

Which are there and what they say of themselves is in docs/faults.md.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import fields, is_dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from broker.core import request_parts as rules
from broker.core.request_parts import IsChosen, NameOf, Part, parts_of
from broker.core.request_rules import RequestRule, RequestSeen
from protocol.errors import ErrorCode
from protocol.faults.requests import RequestFault, RequestMode
from simulation.contracts.contract import Broken, of_function, of_method


@of_method(RequestRule, "meets")
def meets(
    rule: RequestRule, seen: RequestSeen, _chance: Callable[[], float]
) -> Generator[None, bool, Broken]:
    """A fault meets requests that it is about, from its first to its last, and counts them all."""
    fault, matches, hits = rule.fault, rule.matches, rule.hits
    is_met = yield
    is_about = _is_about(fault, seen)
    if (rule.matches, rule.hits) != (matches + is_about, hits + is_met):
        return f"{matches} matches and {hits} hits become {rule.matches} and {rule.hits}"
    number = matches + 1
    may_meet = (
        is_about
        and (fault.times is None or hits < fault.times)
        and number >= fault.from_nth
        and (fault.nth is None or fault.nth == number)
    )
    if is_met and not may_meet:
        return f"{fault} meets number {number}, {seen}, after {hits} others"
    if may_meet and fault.probability >= 1 and not is_met:
        return f"{fault} does not meet number {number}, {seen}"
    return None


def _is_about(fault: RequestFault, seen: RequestSeen) -> bool:
    if fault.apis is not None and seen.api not in fault.apis:
        return False
    if seen.version < fault.version_min or seen.version > fault.version_max:
        return False
    if fault.client_id is not None and not fnmatchcase(seen.client_id, fault.client_id):
        return False
    if fault.mode is RequestMode.THROTTLE and not seen.has_throttle_time:
        return False
    return fault.topic is None or seen.names_all or any(_named(fault, one) for one in seen.parts)


def _named(fault: RequestFault, part: Part) -> bool:
    """Tell whether a fault names a topic, and of it this partition; a topic alone is any of it."""
    is_topic = fault.topic is None or fnmatchcase(part.topic, fault.topic)
    is_whole = fault.partition is None or part.partition is None
    return is_topic and (is_whole or part.partition == fault.partition)


@of_function(rules.divide)
def divide(
    request: Any, is_chosen: IsChosen, name_of: NameOf
) -> Generator[None, tuple[Any, Any], Broken]:
    """What is chosen of a request and what is not are all of it, each in the order of before."""
    named = parts_of(request, name_of)
    chosen, rest = yield
    if not named:
        return None if (chosen, rest) == (request, None) else f"{chosen}, {rest} of {request}"
    told = [[] if one is None else parts_of(one, name_of) for one in (chosen, rest)]
    wanted = [[one for one in named if is_chosen(one) is wish] for wish in (True, False)]
    return None if told == wanted else f"{told} of {named}, not {wanted}"


@of_function(rules.error_names)
def error_names(answer: Any) -> Generator[None, list[str], Broken]:
    """Each code that an answer has is named once, and no other."""
    told = yield
    wanted = list(dict.fromkeys(ErrorCode(code).name for code in _codes(answer) if code))
    return None if sorted(told) == sorted(wanted) else f"{told}, not {wanted}"


def _codes(row: Any) -> Iterator[int]:
    for field in fields(row):
        value = getattr(row, field.name)
        if field.name in ("error_code", "partition_error_code"):
            yield value
        for below in cast("list[Any]", value) if isinstance(value, list | tuple) else ():
            if is_dataclass(below):
                yield from _codes(below)
