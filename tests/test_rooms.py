"""The picture of the rooms in docs/architecture.md is that of the code."""

from __future__ import annotations

import grimp

from tests.rooms import (
    PACKAGES,
    PAGE,
    arrows,
    boxes,
    inside,
    mermaid,
    page_with,
    picture,
    reachable,
    table_rooms,
    without_implied,
)


def test_the_picture_is_that_of_the_code() -> None:
    assert page_with(picture()) == PAGE.read_text(encoding="utf-8"), "write it: make picture"


def test_the_rooms_are_folders_and_what_the_table_names() -> None:
    page = "| `a/x`, `y` | text |\n| `b` | text |\n| `a/data/*.json` | no room |"
    table = table_rooms(page)
    assert table == ["a.x", "a.y", "b"]
    assert "broker.engine" in boxes(["broker.engine", "broker.engine.log"], ["broker.core"])
    modules = ["analytics.transforms.moves", "broker.app", "broker.context", "broker.core.isr"]
    whole = [name for name in PACKAGES if name != "broker"]
    assert boxes(modules, ["analytics", "broker.app"]) == sorted(
        [*whole, "broker.app", "broker.core"]
    )


def test_an_import_leads_through_modules_that_are_no_room() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (
        ("broker.app", "broker.assembly"),
        ("broker.assembly", "broker.broker_control"),
        ("broker.broker_control", "broker.engine.moves"),
        ("broker.engine.moves", "broker.core"),
    ):
        graph.add_import(importer=importer, imported=imported)
    graph.add_module("broker.engine")
    found = arrows(graph, ["broker.app", "broker.core", "broker.engine"])
    assert found == {
        "broker.app": ["broker.engine"],
        "broker.core": [],
        "broker.engine": ["broker.core"],
    }


def test_arrows_that_others_imply_are_left_out_and_nothing_becomes_unreachable() -> None:
    direct = {"a": ["b", "c", "d"], "b": ["c"], "c": ["d"], "d": []}
    shown = without_implied(direct)
    assert shown == {"a": ["b"], "b": ["c"], "c": ["d"], "d": []}
    assert {room: reachable(shown, room) for room in shown} == {
        room: reachable(direct, room) for room in direct
    }


def test_a_package_is_a_frame_with_its_rooms_and_what_it_imports_a_thick_arrow() -> None:
    found = inside({"broker.app": ["broker.core", "protocol"], "broker.core": [], "protocol": []})
    thick = {package: ["protocol"] if package == "broker" else [] for package in PACKAGES}
    lines = [line.strip() for line in mermaid(sorted(found), found, thick).splitlines()]
    assert lines[lines.index("subgraph broker") + 2] == "broker_app[app]"
    assert [line for line in lines if ">" in line] == [
        "broker_app --> broker_core",
        "broker ==> protocol",
    ]
