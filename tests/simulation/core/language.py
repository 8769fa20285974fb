"""``python -m tests.simulation.core.language`` writes the vocabulary of docs/scenario-language.md.

From the classes themselves, so that the page says what the code does; a test compares them.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

from simulation.core.actions import Fault, Step
from simulation.core.plan import ClusterPlan, Ending, Plan, Workload
from simulation.core.plan_checks import BOUNDED
from simulation.core.plan_words import ACTIONS, CONDITIONS, Word, duration_text, words_of

PAGE = Path(__file__).parents[3] / "docs" / "scenario-language.md"
BEGIN = "<!-- vocabulary -->"
END = "<!-- end of the vocabulary -->"


def vocabulary() -> str:
    """Return the tables."""
    parts: list[str] = []
    for title, class_ in (
        ("A file", Plan),
        ("`cluster`", ClusterPlan),
        ("`workloads`, each", Workload),
        ("`ending`", Ending),
        ("Beside the word of any step", Step),
    ):
        rows = [_key_row(class_, word) for word in words_of(class_) if word.word != "action"]
        parts += [f"### {title}", table(("key", "default", "meaning"), rows)]
    steps = [_class_row(word, class_) for word, class_ in ACTIONS.items()]
    parts += ["### Steps", table(("step", "takes", "does"), steps)]
    conditions = [_class_row(word, class_) for word, class_ in CONDITIONS.items()]
    parts += ["### Conditions", table(("condition", "takes", "holds when"), conditions)]
    return "\n\n".join(parts)


def page_with(tables: str) -> str:
    """Return the page with these tables in their place."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}"


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _key_row(class_: type, word: Word) -> tuple[str, ...]:
    choices = _choices(word)
    meaning = " ".join(filter(None, [choices, field_texts(class_).get(word.field, "")]))
    return f"`{word.word}`", "" if word.is_required else _default(word), meaning


def _default(word: Word) -> str:
    if word.default is None or word.default in ((), {}) or not _is_plain(word.default):
        return "none" if _is_plain(word.default) else ""
    if isinstance(word.default, tuple):
        return ", ".join(map(str, cast("tuple[Any, ...]", word.default)))
    text = duration_text(word.default) if word.is_duration else str(word.default)
    return text.lower() if isinstance(word.default, bool) else text


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | tuple | dict)


def _class_row(word: str, class_: type) -> tuple[str, ...]:
    words = words_of(class_)
    own = [each for each in words if not each.is_beside]
    texts = field_texts(class_)
    if class_ is Fault:
        texts = {}
    notes = [
        f"`{each.word}`: {note}"
        for each in words
        if (note := " ".join(filter(None, [_choices(each), texts.get(each.field, "")])))
    ]
    says = " ".join([_paragraph(class_.__doc__ or ""), *notes])
    beside = [f"beside it {_key(each)}" for each in words if each.is_beside]
    return f"`{word}`", ", ".join([_takes(class_, own), *beside]), says


def _takes(class_: type, own: list[Word]) -> str:
    if class_ is Fault:
        return "`id` and the keys of a fault"
    keys = ", ".join(_key(each) for each in own)
    first, *rest = own
    if not rest or class_ in BOUNDED or get_origin(first.type_) is Mapping:
        return keys
    return keys if any(each.is_required for each in rest) else f"{keys}; or `{first.word}` alone"


def _key(word: Word) -> str:
    return f"`{word.word}`" if word.is_required else f"[`{word.word}`]"


def _choices(word: Word) -> str:
    type_ = word.type_
    if get_origin(type_) is tuple:
        type_ = get_args(type_)[0]
    if get_origin(type_) is not Literal:
        return ""
    return f"{', '.join(map(str, get_args(type_)))}."


def field_texts(class_: type) -> dict[str, str]:
    """Return the texts below fields, or members of an enum, which Python itself does not keep."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(class_))).body
    assert isinstance(tree, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        match field:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                    texts[name] = _paragraph(str(below.value.value))
            case _:
                pass
    return texts


def _paragraph(text: str) -> str:
    return " ".join(text.replace("``", "`").replace("None: ", "without: ").split())


if __name__ == "__main__":
    PAGE.write_text(page_with(vocabulary()), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
