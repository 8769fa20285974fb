"""YAML texts as plain values, with what YAML's reader would pass over in silence.

It knows no document: whether the values make sense is checked by who owns them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from protocol.document_shape import Path, place

if TYPE_CHECKING:
    import yaml


# Any: what a YAML reader returns.
def read_yaml(text: str) -> tuple[Any, list[str]]:
    """Return the content of a text, and a mistake for each key that a mapping has twice.

    Raises:
        ValueError: one sentence: the text is no YAML.
    """
    import yaml  # noqa: PLC0415 - needed once; loaded only where a file is read

    loader_class: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_class(text)
        node = loader.get_single_node()
        mistakes = list(_repeated_keys(node, ()))
        content = None if node is None else _content_of(loader, node)
    except yaml.YAMLError as error:
        raise ValueError(f"is no YAML: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise ValueError("is nested too deeply, or an alias in it refers to itself") from None
    return content, mistakes


def _content_of(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    construct: Any = getattr(loader, "construct_document")  # noqa: B009 - it has no whole type
    return construct(node)


def _repeated_keys(node: yaml.Node | None, path: Path) -> Iterator[str]:
    """Find what YAML's reader would pass over: of two values of a key it takes the last."""
    import yaml  # noqa: PLC0415 - as above

    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines:
                yield f"{place((*path, name))}: is given twice, in lines {lines[name]} and {line}"
            lines.setdefault(name, line)
            yield from _repeated_keys(value, (*path, name))
    elif isinstance(node, yaml.SequenceNode):
        for index, element in enumerate(cast("list[yaml.Node]", node.value)):
            yield from _repeated_keys(element, (*path, index))
