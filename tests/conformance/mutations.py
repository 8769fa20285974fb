"""Changes of answers, drawn from a seed: what a broker that is wrong might send."""

from __future__ import annotations

import threading
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, cast

from protocol.apis import APIS
from protocol.json_form import decode_body, decode_header, encode_body, encode_header

KINDS: Final = ("error code", "field", "order", "version", "missing", "doubled")
_CODES: Final = (1, 3, 6, 15, 22, 25, 42, 47, 87)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of the first answer that it fits."""

    kind: str
    seed: int


class Mutator:
    """Carries one mutation out, once: ``change`` is the proxy's."""

    def __init__(self, mutation: Mutation, left_alone: Set[str] = frozenset()) -> None:
        """``left_alone``: APIs whose answers are not changed."""
        self.mutation = mutation
        self._left_alone = left_alone
        self.did = ""
        """What was changed; empty: nothing fitted yet."""
        self._random = Random(mutation.seed)
        self._held: bytes | None = None
        self._lock = threading.Lock()

    def change(self, key: int, version: int, frame: bytes) -> Sequence[bytes] | None:
        """Return what is sent in place of an answer, or None."""
        with self._lock:
            if self.did or key not in APIS or APIS[key].name in self._left_alone:
                return None
            changed = self._change(key, version, frame)
            if changed is not None:
                self.did = f"{self.mutation.kind} of {APIS[key].name} v{version}"
            return changed

    def _change(self, key: int, version: int, frame: bytes) -> Sequence[bytes] | None:
        match self.mutation.kind:
            case "missing":
                return []
            case "doubled":
                return [frame, frame]
            case "order":
                return self._swapped(frame)
            case "version":
                return self._in_another_version(key, version, frame)
            case kind:
                return self._with_another_value(key, version, frame, is_code=kind == "error code")

    def _swapped(self, frame: bytes) -> Sequence[bytes] | None:
        """Give the answer another request's correlation id: as if two had changed places."""
        other = (int.from_bytes(frame[:4], "big", signed=True) + 1) % (2**31)
        return [other.to_bytes(4, "big") + frame[4:]]

    def _in_another_version(self, key: int, version: int, frame: bytes) -> Sequence[bytes] | None:
        versions = APIS[key].versions
        others = [each for each in (version - 1, version + 1) if each in versions]
        head, form = _read(key, version, frame)
        for other in others:
            try:
                made = _written(key, other, head, form)
            except ValueError:
                continue
            if made != frame:
                return [made]
        return None

    def _with_another_value(
        self, key: int, version: int, frame: bytes, *, is_code: bool
    ) -> Sequence[bytes] | None:
        head, form = _read(key, version, frame)
        places = [each for each in _places(form) if (each[1] == "errorCode") is is_code]
        if not places:
            return None
        holder, name = self._random.choice(places)
        holder[name] = self._another(holder[name], is_code=is_code)
        try:
            return [_written(key, version, head, form)]
        except ValueError:
            return None

    def _another(self, value: Any, *, is_code: bool) -> Any:
        if is_code:
            return self._random.choice([code for code in _CODES if code != value])
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + 1 if value < 100 else value - 1
        return f"{value}x"


def _places(form: Any) -> list[tuple[dict[str, Any], str]]:
    """Return every scalar field of a form: the object that has it, and its name."""
    found: list[tuple[dict[str, Any], str]] = []
    if isinstance(form, list):
        for each in cast("list[Any]", form):
            found += _places(each)
    elif isinstance(form, dict):
        fields = cast("dict[str, Any]", form)
        found += [(fields, key) for key, each in fields.items() if _can_change(key, each)]
        for each in fields.values():
            found += _places(each)
    return found


def _can_change(key: str, value: Any) -> bool:
    return isinstance(value, int | str) and key not in ("records", "topicId", "authBytes")


def _read(key: int, version: int, frame: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    head, end = decode_header(key, "response", version, frame)
    return head, decode_body(key, "response", version, frame[end:])


def _written(key: int, version: int, head: dict[str, Any], form: dict[str, Any]) -> bytes:
    start = encode_header(key, "response", version, head)
    return start + encode_body(key, "response", version, form)


def drawn(count: int, seed: int) -> list[Mutation]:
    """Return so many mutations, of all kinds alike."""
    random = Random(seed)
    first = Mutation("", 0)
    return [
        replace(first, kind=KINDS[index % len(KINDS)], seed=random.randrange(2**32))
        for index in range(count)
    ]
