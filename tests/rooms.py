"""``python -m tests.rooms`` writes the picture of the rooms in docs/architecture.md.

From the imports of the code, as import-linter sees them; a test compares them. A box is a folder of
a package, or a module that the page's table of rooms names; imports lead through all other modules.
An arrow is left out where others, one after another, lead to the same box.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "architecture.md"
PACKAGES: Final = (
    *("jbodlab", "simulation", "broker", "controller", "analytics", "conformance", "protocol"),
)
"""From top to bottom."""
BEGIN: Final = "<!-- picture of the rooms -->"
END: Final = "<!-- end of the picture -->"

Arrows = Mapping[str, Sequence[str]]
"""Room -> the rooms that it leads to, sorted."""


def picture() -> str:
    """Return the picture, as Mermaid's text."""
    table = table_rooms(PAGE.read_text(encoding="utf-8"))
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    rooms = boxes(sorted(graph.modules), table)
    found = arrows(graph, rooms)
    return mermaid(rooms, without_implied(inside(found)), without_implied(between(found)))


def page_with(text: str) -> str:
    """Return the page with this picture in its place."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n```mermaid\n{text}```\n\n{END}{tail}"


def table_rooms(page: str) -> list[str]:
    """Return what the table of rooms names, such as ``protocol.wire`` and ``analytics``."""
    found: list[str] = []
    for cell in re.findall(r"(?m)^\| (`[a-z_/`, ]+`) \|", page):
        first, *others = re.findall(r"`([a-z_/]+)`", cell)
        package = first.partition("/")[0]
        found += [first.replace("/", "."), *(f"{package}.{other}" for other in others)]
    return found


def boxes(modules: Sequence[str], table: Sequence[str]) -> list[str]:
    """Return the rooms that are drawn, sorted; a package without rooms in the table is one."""
    split = {_package(name) for name in table if "." in name}
    folders = {".".join(name.split(".")[:2]) for name in modules if name.count(".") > 1}
    rooms = {*folders, *(name for name in table if name in modules and "." in name)}
    whole = [name for name in PACKAGES if name not in split]
    return sorted([*whole, *(name for name in rooms if name.partition(".")[0] in split)])


def arrows(graph: grimp.ImportGraph, rooms: Sequence[str]) -> Arrows:
    """Return which rooms a room imports, itself or through modules that are no room."""
    found: dict[str, list[str]] = {}
    for room in rooms:
        reached: set[str] = set()
        left = [room, *sorted(graph.find_descendants(room))]
        seen = set(left)
        while left:
            for module in sorted(graph.find_modules_directly_imported_by(left.pop())):
                other = _room_of(module, rooms)
                if other is not None:
                    reached.add(other)
                elif module not in seen:
                    seen.add(module)
                    left.append(module)
        found[room] = sorted(reached - {room})
    return found


def inside(found: Arrows) -> Arrows:
    """Return the arrows from a room to one of its own package."""
    return {
        room: [other for other in others if _package(other) == _package(room)]
        for room, others in found.items()
    }


def between(found: Arrows) -> Arrows:
    """Return the arrows from one package to another one."""
    return {
        package: [
            below
            for below in PACKAGES
            if below != package
            and any(
                _package(room) == package and below in map(_package, others)
                for room, others in found.items()
            )
        ]
        for package in PACKAGES
    }


def without_implied(direct: Arrows) -> Arrows:
    """Return the arrows without those that two or more others, one after another, replace."""
    return {
        room: [
            other
            for other in others
            if not any(other in reachable(direct, via) for via in others if via != other)
        ]
        for room, others in direct.items()
    }


def reachable(direct: Arrows, room: str) -> set[str]:
    """Return the rooms that arrows lead to from a room."""
    found: set[str] = set()
    left = [room]
    while left:
        new = [other for other in direct[left.pop()] if other not in found]
        found.update(new)
        left += new
    return found


def mermaid(rooms: Sequence[str], thin: Arrows, thick: Arrows) -> str:
    """Return a flowchart: a frame for each package, its rooms in it."""
    lines = ["flowchart TB"]
    for package in PACKAGES:
        lines += _frame(package, [room for room in rooms if _package(room) == package])
    lines += [f"  {_id(room)} --> {_id(other)}" for room in rooms for other in thin[room]]
    lines += [f"  {package} ==> {below}" for package in PACKAGES for below in thick[package]]
    return "\n".join(lines) + "\n"


def _frame(package: str, rooms: Sequence[str]) -> Iterator[str]:
    if rooms == [package]:
        yield f"  {package}"
        return
    yield f"  subgraph {package}"
    yield "    direction TB"
    yield from (f"    {_id(room)}[{room.partition('.')[2]}]" for room in rooms)
    yield "  end"


def _id(room: str) -> str:
    return room.replace(".", "_")


def _package(room: str) -> str:
    return room.partition(".")[0]


def _room_of(module: str, rooms: Sequence[str]) -> str | None:
    """Return the room that a module is in, None for one that is in none."""
    parts = module.split(".")
    return next((name for name in (".".join(parts[:2]), parts[0]) if name in rooms), None)


if __name__ == "__main__":
    PAGE.write_text(page_with(picture()), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
