"""Scenario files: YAML to a Plan, all mistakes reported together, and a Plan to YAML.

Reads and writes texts, no files. What it writes, it reads back as the same plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, cast

import yaml

from protocol.cluster_file.yaml import read_yaml
from protocol.faults.document import fault_content
from simulation.core.actions import Fault, Step
from simulation.core.plan import Plan
from simulation.core.plan_checks import plan_mistakes
from simulation.core.plan_shape import ShapeReader
from simulation.core.plan_words import CONDITIONS, Word, duration_text, word_of, words_of

_LINE_CHARACTERS: Final = 100
# Any: the stubs know neither of them as a dumper that has a name of its own.
_FAST_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml's, where it is there: a story has a line of YAML for every step."""


class PlanError(ValueError):
    """A text that is no plan: every mistake with its path."""

    def __init__(self, source: str, mistakes: list[str]) -> None:
        super().__init__("\n".join([f"{source}: {len(mistakes)} mistake(s)", *mistakes]))
        self.source = source
        self.mistakes = mistakes


def parse_plan(text: str, *, source: str) -> Plan:
    """Return the plan that a scenario file holds.

    Raises:
        PlanError: lists all mistakes.
    """
    try:
        content, mistakes = read_yaml(text)
    except ValueError as error:
        raise PlanError(source, [str(error)]) from error
    if mistakes:
        raise PlanError(source, mistakes)
    return read_plan(content, source=source)


# Any: what a YAML reader returns.
def read_plan(content: Any, *, source: str) -> Plan:
    """Return the plan that the content of a scenario file describes.

    Raises:
        PlanError: lists all mistakes.
    """
    reader = ShapeReader()
    plan = cast("Plan | None", reader.read(content, Plan))
    mistakes = reader.mistakes
    if plan is not None:
        mistakes = plan_mistakes(plan, reader.names)
    if plan is None or mistakes:
        raise PlanError(source, mistakes)
    return plan


def plan_text(plan: Plan) -> str:
    """Return a text that ``parse_plan`` turns into ``plan``; defaults are left out."""
    return yaml.safe_dump(
        plan_content(plan), sort_keys=False, width=_LINE_CHARACTERS, default_flow_style=None
    )


def plan_content(plan: Plan) -> dict[str, Any]:
    """Return what ``read_plan`` turns into ``plan``; defaults are left out."""
    return _fields(plan)


# Any: any value of a plan.
def value_text(value: Any) -> str:
    """Return an action or a condition in one line, as a file would have it."""
    content = {word_of(_class_of(value)): _content(value), **_beside(value)}
    text = yaml.dump(
        content, Dumper=_FAST_DUMPER, sort_keys=False, width=1 << 16, default_flow_style=True
    )
    return text.strip().removeprefix("{").removesuffix("}")


def _class_of(value: Any) -> type[Any]:
    return cast("type[Any]", type(value))


def _fields(value: Any) -> dict[str, Any]:
    return {
        word.word: _field(value, word) for word in words_of(_class_of(value)) if _says(value, word)
    }


def _says(value: Any, word: Word) -> bool:
    return word.is_required or getattr(value, word.field) != word.default


def _field(value: Any, word: Word) -> Any:
    content = getattr(value, word.field)
    return duration_text(content) if word.is_duration and content is not None else _plain(content)


def _plain(value: Any) -> Any:
    if isinstance(value, Step):
        return _step(value)
    if _class_of(value) in _CONDITION_CLASSES:
        return {word_of(_class_of(value)): _content(value)}
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in cast("tuple[Any, ...]", value)]
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return {key: _plain(entries[key]) for key in entries}
    return value


def _step(step: Step) -> dict[str, Any]:
    head = {word: each for word, each in _fields(step).items() if word != "action"}
    return {**head, word_of(type(step.action)): _content(step.action), **_beside(step.action)}


def _beside(value: Any) -> dict[str, Any]:
    words = words_of(_class_of(value))
    return {
        word.word: _field(value, word) for word in words if word.is_beside and _says(value, word)
    }


def _content(value: Any) -> Any:
    """Return what stands below the word of an action or condition."""
    if isinstance(value, Fault):
        return {"id": value.name, **fault_content(value.rule)}
    first, *rest = (word for word in words_of(_class_of(value)) if not word.is_beside)
    is_mapping = isinstance(getattr(value, first.field), Mapping)  # would be read as the fields
    if not is_mapping and not any(word.is_required or _says(value, word) for word in rest):
        return _field(value, first)
    return {word.word: _field(value, word) for word in (first, *rest) if _says(value, word)}


_CONDITION_CLASSES: Final = frozenset(CONDITIONS.values())
