"""The page of the HTTP API, of its table of operations and the structs of bodies and answers."""

from __future__ import annotations

from collections.abc import Iterator
from types import GenericAlias
from typing import Any, Final

import msgspec

from jbodlab.http_api.core.bodies import ControlOrder, FaultOrder, Mistake
from jbodlab.http_api.core.operations import OPERATIONS, Operation
from tests.guide.commands import escaped, escaped_bars
from tests.simulation.core.language import field_texts, table

FREE: Final = (FaultOrder, ControlOrder)
"""Their keys are told elsewhere."""


def http_api_page() -> list[str]:
    """Return the parts of the page."""
    rows = [
        (
            f"`{each.method}`",
            f"`{each.path}`",
            escaped(each.summary),
            "" if each.body is None else _link(each.body),
            f"{each.status} {_answer(each)}",
        )
        for each in OPERATIONS
    ]
    parts = [
        "# HTTP API",
        "`jbodlab up` serves it beside the cluster, `jbodlab serve` anywhere; `GET /openapi.json` "
        "says the same to programs. [The console and the HTTP API](../../console.md) has an "
        "example of each request, and says who may ask.",
        table(("method", "path", "does", "body", "answers"), rows),
        "## Bodies and answers",
        "Times are milliseconds since the Unix epoch where nothing else is said. A field without a "
        "default is needed in a body, and always there in an answer.",
    ]
    for struct in structs():
        parts += [f"### {struct.__name__}", escaped(_first_line(struct)), *_fields(struct)]
    return parts


def structs() -> list[type[msgspec.Struct]]:
    """Return every struct that is sent or answered, by name."""
    found: dict[str, type[msgspec.Struct]] = {}
    for each in (Mistake, *(one for op in OPERATIONS for one in (op.body, op.answer))):
        _gather(each, found)
    return [found[name] for name in sorted(found)]


def _gather(kind: Any, found: dict[str, type[msgspec.Struct]]) -> None:
    if isinstance(kind, type) and not isinstance(kind, GenericAlias):
        if issubclass(kind, msgspec.Struct) and kind.__name__ not in found:
            found[kind.__name__] = kind
            info: Any = msgspec.inspect.type_info(kind)
            for field in info.fields:
                _gather_type(field.type, found)
        return
    for inner in getattr(kind, "__args__", ()):
        _gather(inner, found)


def _gather_type(info: Any, found: dict[str, type[msgspec.Struct]]) -> None:
    _gather(getattr(info, "cls", None), found)
    inner = [getattr(info, name, None) for name in ("item_type", "value_type")]
    for each in (*inner, *getattr(info, "types", ())):
        if each is not None:
            _gather_type(each, found)


def _answer(operation: Operation) -> str:
    kind = operation.answer
    of = getattr(kind, "__args__", ())
    return f"list of {_link(of[0])}" if of else _link(kind)


def _link(kind: Any) -> str:
    name = getattr(kind, "__name__", str(kind))
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return f"[{name}](#{name.lower()})" if is_struct else "JSON"


def _first_line(struct: type) -> str:
    return (struct.__doc__ or "").partition("\n")[0].replace("``", "`")


def _fields(struct: type[msgspec.Struct]) -> Iterator[str]:
    fields = msgspec.structs.fields(struct)
    if not fields or struct in FREE:
        return
    texts = field_texts(struct)
    rows = [
        (
            f"`{each.name}`",
            f"`{escaped_bars(_type(struct, each.name))}`",
            _default(each),
            escaped(texts.get(each.name, "")),
        )
        for each in fields
    ]
    yield table(("field", "type", "default", "meaning"), rows)


def _type(struct: type[msgspec.Struct], name: str) -> str:
    return str(struct.__annotations__[name])


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default_factory is not msgspec.NODEFAULT:
        return "empty"
    if field.default is msgspec.NODEFAULT:
        return ""
    return f"`{msgspec.json.encode(field.default).decode()}`"
