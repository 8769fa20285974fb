"""Turns what a YAML reader returned into the values of a plan, by the classes' own fields.

All mistakes are kept, with their path. It checks shapes only; what names stand for is noted for
``simulation.core.plan_checks``.
"""

from __future__ import annotations

import builtins
import collections.abc
import types
import typing
from collections.abc import Iterable
from dataclasses import is_dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin

from protocol.document_shape import Path, did_you_mean, place, shown
from protocol.faults.document import read_fault
from protocol.faults.model import DiskFault, NodeFault, broker_node
from simulation.core.actions import Fault, Step
from simulation.core.conditions import Condition
from simulation.core.plan_words import ACTIONS, CONDITIONS, Word, duration_ms, words_of
from simulation.core.references import Means, role_and_partition

_STEP_WORDS: Final = tuple(word for word in words_of(Step) if word.field != "action")


class Name(NamedTuple):
    """A text that stands for something."""

    path: Path
    means: Means
    text: str


class _WrongShapeError(Exception):
    """A value has no shape; its mistakes are noted already."""


class ShapeReader:
    """Reads one document; what is wrong with it gathers in ``mistakes``."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []
        self.names: list[Name] = []
        """Every name in the document, in the order of the text."""

    # Any: what a YAML reader returns, and a value of whatever class is asked for.
    def read(self, content: Any, class_: type, path: Path = ()) -> Any:
        """Return ``content`` as a value of ``class_``, or None when it has mistakes."""
        before = len(self.mistakes)
        try:
            value = self._value(content, class_, path)
        except _WrongShapeError:
            return None
        return value if len(self.mistakes) == before else None

    def mistake(self, path: Path, text: str) -> None:
        """Note a mistake."""
        self.mistakes.append(f"{place(path)}: {text}")

    def _wrong(self, path: Path, wanted: str, value: Any) -> _WrongShapeError:
        self.mistake(path, f"must be {wanted}, is {shown(value)}")
        return _WrongShapeError()

    def _value(self, value: Any, type_: Any, path: Path) -> Any:
        if is_dataclass(type_) or type_ == Condition:
            return self._object(value, type_, path)
        arguments = get_args(type_)
        match get_origin(type_):
            case typing.Annotated:
                return self._name(value, arguments, path)
            case builtins.tuple:
                return self._list(value, arguments[0], path)
            case collections.abc.Mapping:
                return self._mapping(value, arguments, path)
            case _:
                return self._plain(value, type_, path)

    def _plain(self, value: Any, type_: Any, path: Path) -> Any:
        if get_origin(type_) is Literal:
            if value in get_args(type_):
                return value
            raise self._wrong(path, f"one of {', '.join(map(str, get_args(type_)))}", value)
        if get_origin(type_) in {Union, types.UnionType}:
            if value is None and type(None) in get_args(type_):
                return None
            return self._value(value, get_args(type_)[0], path)
        if type_ is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if type(value) is type_:
            return value
        raise self._wrong(path, _WORDS[type_], value)

    def _name(self, value: Any, arguments: tuple[Any, Means], path: Path) -> Any:
        type_, means = arguments
        if means in {Means.NODE, Means.BROKER} and type(value) is int:
            value = f"broker-{value}"
        text = self._plain(value, type_, path)
        self.names.append(Name(path, means, text))
        return text

    def _list(self, value: Any, type_: Any, path: Path) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise self._wrong(path, "a list", value)
        elements = cast("list[Any]", value)
        return tuple(
            self._each(
                (self._value, element, type_, (*path, index))
                for index, element in enumerate(elements)
            )
        )

    def _mapping(self, value: Any, types_: tuple[Any, ...], path: Path) -> dict[Any, Any]:
        key_type, type_ = types_
        if not isinstance(value, dict):
            raise self._wrong(path, "a mapping", value)
        entries = cast("dict[Any, Any]", value)
        for key in entries:
            if type(key) is not key_type:
                raise self._wrong((*path, str(key)), _WORDS[key_type] + " as its key", key)
        read = self._text_value if type_ in {str, str | None} else self._value
        values = self._each((read, entries[key], type_, (*path, key)) for key in entries)
        return dict(zip(entries, values, strict=True))

    def _text_value(self, value: Any, type_: Any, path: Path) -> str | None:
        """Read a configuration, for which YAML has booleans and numbers, as Kafka's text."""
        if value is None and type_ is not str:
            return None
        if not isinstance(value, (str, int, float)):
            raise self._wrong(path, "text, a number, true or false", value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _each(self, calls: Iterable[tuple[Any, Any, Any, Path]]) -> list[Any]:
        """Read each of several values, so that the mistakes of all are noted."""
        values: list[Any] = []
        is_wrong = False
        for read, value, type_, path in calls:
            try:
                values.append(read(value, type_, path))
            except _WrongShapeError:
                is_wrong = True
        if is_wrong:
            raise _WrongShapeError
        return values

    def _object(self, value: Any, type_: Any, path: Path) -> Any:
        if type_ == Condition:
            return self._condition(value, path)
        if type_ is Step:
            return self._step(value, path)
        return type_(**self._fields(value, words_of(type_), path))

    def _fields(self, value: Any, words: tuple[Word, ...], path: Path) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(path, "a mapping of keys", value)
        entries = cast("dict[Any, Any]", value)
        known = {word.word: word for word in words}
        self._unknown([key for key in entries if key not in known], known, path)
        for word in words:
            if word.is_required and word.word not in entries:
                self.mistake((*path, word.word), "is missing")
        given = [word for word in words if word.word in entries]
        values = self._each(
            (self._field, entries[word.word], word, (*path, word.word)) for word in given
        )
        if any(word.is_required and word.word not in entries for word in words):
            raise _WrongShapeError
        return {word.field: each for word, each in zip(given, values, strict=True)}

    def _field(self, value: Any, word: Word, path: Path) -> Any:
        if not word.is_duration or (value is None and word.default is None):
            return self._value(value, word.type_, path)
        found = duration_ms(value) if isinstance(value, str) else None
        if found is None or (found < 0 and word.field != "by_ms"):
            raise self._wrong(path, "a time such as 500ms, 2s or 1min", value)
        return found

    def _unknown(self, keys: list[Any], known: Iterable[str], path: Path) -> None:
        for key in keys:
            self.mistake((*path, str(key)), f"unknown word{did_you_mean(str(key), list(known))}")

    def _step(self, value: Any, path: Path) -> Step:
        if not isinstance(value, dict):
            raise self._wrong(path, "a step: a mapping with the word of an action", value)
        entries = cast("dict[Any, Any]", value)
        found = [key for key in entries if key in ACTIONS]
        if len(found) != 1:
            self._no_single_word(entries, found, path)
            raise _WrongShapeError
        class_ = ACTIONS[found[0]]
        beside = (*_STEP_WORDS, *(word for word in words_of(class_) if word.is_beside))
        rest = {key: entries[key] for key in entries if key != found[0]}
        others, inner = self._each(
            [
                (self._fields, rest, beside, path),
                (self._content, entries[found[0]], class_, (*path, found[0])),
            ]
        )
        own = {word.field: others.pop(word.field) for word in _STEP_WORDS if word.field in others}
        return Step(action=class_(**inner, **others), **own)

    def _no_single_word(self, entries: dict[Any, Any], found: list[Any], path: Path) -> None:
        if found:
            self.mistake(path, f"one action a step, here are {' and '.join(found)}")
            return
        steps = [word.word for word in _STEP_WORDS]
        self.mistake(path, "has no word of an action")
        self._unknown([key for key in entries if key not in steps], ACTIONS, path)

    def _content(self, value: Any, class_: type, path: Path) -> dict[str, Any]:
        """Read what stands below the word of an action or condition."""
        words = tuple(word for word in words_of(class_) if not word.is_beside)
        if class_ is Fault:
            return self._fault(value, path)
        first, *rest = words
        is_bare = not any(word.is_required for word in rest) and (
            not rest or not isinstance(value, dict)
        )
        if is_bare:
            return {first.field: self._field(value, first, path)}
        return self._fields(value, words, path)

    def _fault(self, value: Any, path: Path) -> dict[str, Any]:
        """Read a fault: its id, and the keys of its rule beside it."""
        if not isinstance(value, dict):
            raise self._wrong(path, "a mapping of keys", value)
        rule: dict[Any, Any] = dict(cast("dict[Any, Any]", value))
        if "id" not in rule:
            hint = "; name is a pattern of files" if "name" in rule else ""
            self.mistake((*path, "id"), f"is missing: what clear and fault_hits call it{hint}")
            raise _WrongShapeError
        name = self._name(rule.pop("id"), (str, Means.NEW_NAME), (*path, "id"))
        role = self._role(rule, path)
        fault, mistakes = read_fault(rule, path=path)
        self.mistakes += mistakes
        if fault is None:
            raise _WrongShapeError
        if isinstance(fault, NodeFault):
            raise self._wrong((*path, "mode"), "of a disk or the network", fault.mode.value)
        if isinstance(fault, DiskFault):
            fault = replace(fault, node=role or fault.node)
            whose = Means.NODE if fault.log_dir is None else Means.BROKER
            self.names.append(Name((*path, "node"), whose, fault.node))
            if fault.log_dir is not None:
                self.names.append(Name((*path, "log_dir"), Means.LOG_DIR, fault.log_dir))
        return {"name": name, "rule": fault}

    def _role(self, rule: dict[Any, Any], path: Path) -> str | None:
        """Put a stand-in in the place of ``leader of orders-0``, which no fault document has."""
        for key in ("node", "broker"):
            value = rule.get(key)
            if isinstance(value, str) and role_and_partition(value) is not None:
                del rule[key]
                rule["node"] = broker_node(0)
                return value
        return None

    def _condition(self, value: Any, path: Path) -> Condition:
        if not isinstance(value, dict) or len(cast("dict[Any, Any]", value)) != 1:
            wanted = "one condition, as in {led: orders-0}; several go below all: or any:"
            raise self._wrong(path, wanted, value)
        ((word, content),) = cast("dict[Any, Any]", value).items()
        if word not in CONDITIONS:
            self._unknown([word], CONDITIONS, path)
            raise _WrongShapeError
        class_ = CONDITIONS[word]
        return class_(**self._content(content, class_, (*path, word)))


_WORDS: Final[dict[Any, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
