"""What an answer betrays: its errors of authorization, authorized operations, and what it lists.

Other errors are one, as they depend on much else; but for those of authorization they shall not
tell what there is from what there is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, cast

from protocol.errors import ErrorCode

AUTHORIZATION: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)
_NAMES: Final = (
    "name",
    "topic",
    "topic_name",
    "group_id",
    "key",
    "transactional_id",
    "user",
    "principal_name",
)
_LEFT_OUT: Final = ("brokers", "configs", "current_voters", "observers")


def betrayed(answer: Any) -> dict[str, str]:
    """Return by its place in the answer what each error and each authorization is."""
    return dict(sorted(_betrayed("", answer)))


def _betrayed(place: str, part: Any) -> Iterator[tuple[str, str]]:
    for each in fields(part):
        value = getattr(part, each.name)
        where = f"{place}.{each.name}" if place else each.name
        if each.name in _LEFT_OUT:
            continue
        if each.name.endswith("error_code"):
            yield where, _error(value)
        elif each.name.endswith("authorized_operations"):
            yield where, str(value)
        elif is_dataclass(value):
            yield from _betrayed(where, value)
        elif isinstance(value, list | tuple):
            yield from _listed(where, cast("Sequence[Any]", value))


def _listed(where: str, rows: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Give what rows betray, and that they are told; those without a name come in any order."""
    rows = [one for one in rows if is_dataclass(one)]  # Rows of a response are typed nowhere.
    named = {name: one for one in rows if (name := _name(one)) is not None}
    for name, one in named.items():
        yield f"{where}[{name}]", "is told"
        yield from _betrayed(f"{where}[{name}]", one)
    nameless = sorted(list(_betrayed("", one)) for one in rows if _name(one) is None)
    for number, parts in enumerate(nameless):
        yield f"{where}[{number}]", "is told"
        yield from ((f"{where}[{number}].{part}", text) for part, text in parts)


def _error(code: int) -> str:
    return ErrorCode(code).name if code in AUTHORIZATION else "other"


def _name(part: Any) -> str | None:
    """Return by what a row is known, whatever its place."""
    kind = getattr(part, "resource_type", "")
    named = next((str(getattr(part, each)) for each in _NAMES if getattr(part, each, None)), None)
    name = getattr(part, "resource_name", named)
    index = getattr(part, "partition_index", getattr(part, "partition", getattr(part, "index", "")))
    if name is not None:
        return f"{kind}{name}"
    return str(index) if index != "" else None
