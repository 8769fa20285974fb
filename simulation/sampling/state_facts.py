"""The controller's state as lines of text, field by field, whatever records it would be told in.

``controller.core.snapshot`` is not asked: what that leaves out would be missing on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, cast

from controller.core.snapshot import snapshot
from controller.core.state import ClusterState


def facts_of(state: ClusterState) -> tuple[str, ...]:
    """Return one line for each entry of each field that counts in comparisons, sorted."""
    return tuple(
        sorted(
            line
            for field in fields(state)
            if field.compare
            for line in _lines(field.name, getattr(state, field.name))
        )
    )


def compacted(state: ClusterState) -> ClusterState:
    """Return what a journal that is compacted now would replay to."""
    rebuilt = ClusterState()
    for record in snapshot(state):
        record.apply(rebuilt)
    return rebuilt


def _lines(name: str, value: Any) -> Iterator[str]:
    """Give the lines of one field. An entry that is empty says as much as none."""
    if isinstance(value, dict):
        for key, entry in cast("dict[Any, Any]", value).items():
            if not (isinstance(entry, dict) and not entry):
                yield f"{name} {key!r}: {_text(entry)}"
    else:
        yield f"{name}: {_text(value)}"


def _text(value: Any) -> str:
    """Describe a value; in which order the entries of a dict were put there does not count."""
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value).items()
        return f"{{{', '.join(sorted(f'{key!r}: {_text(entry)}' for key, entry in entries))}}}"
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{one.name}={_text(getattr(value, one.name))}" for one in fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    if type(value) in (list, tuple):
        return f"[{', '.join(map(_text, cast('Iterable[Any]', value)))}]"
    return repr(value)
