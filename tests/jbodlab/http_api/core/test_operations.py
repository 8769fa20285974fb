"""The table of operations is one: no name or place is there twice."""

from __future__ import annotations

from jbodlab.http_api.core.operations import OPERATIONS


def test_no_operation_is_there_twice() -> None:
    names = [each.name for each in OPERATIONS]
    places = [(each.method, each.path) for each in OPERATIONS]
    assert len(OPERATIONS) > 20
    assert sorted(set(names)) == sorted(names)
    assert sorted(set(places)) == sorted(places)


def test_what_takes_long_says_where_to_look() -> None:
    begun = {each.name for each in OPERATIONS if each.status == 202}
    assert begun >= {"start_broker", "replace_log_dir", "restart_log_dir", "move_replica"}
    assert all(each.method == "POST" for each in OPERATIONS if each.status == 202)
