"""What makes the golden znodes anew: whose a transaction is, what of it is a run's own."""

from __future__ import annotations

from typing import Any

from tests.golden.make_znodes import differences, normal, standing_transactions

PORTS = {1: 12051, 2: 12052}
UUID = "tIjLsPf-TVGRThDRjvH8iw"


def logged(ms: int, session: str, *ops: dict[str, Any]) -> dict[str, Any]:
    return {"session": session, "zxid": ms, "ms": ms, "multi": len(ops) > 1, "ops": list(ops)}


def create(path: str, data: str) -> dict[str, Any]:
    return {"op": "create", "path": path, "data": data, "ephemeral": False}


def test_a_transaction_names_its_chapter_its_broker_and_nothing_of_its_run() -> None:
    registration = '{"timestamp":"1732400000123","endpoints":["PLAINTEXT://127.0.0.1:12052"]}'
    topic = f'{{"partitions":{{"0":[2]}},"topic_id":"{UUID}"}}'
    lines = [
        logged(1, "a", {"op": "open"}),
        logged(2, "a", create("/brokers/ids/2", registration)),
        logged(3, "a", create("/brokers", "x"), {"op": "failed"}),
        logged(8, "a", create("/brokers/topics/t", topic), create("/again", topic)),
        logged(9, "b", {"op": "close"}),
        logged(11, "a", {"op": "close"}),
    ]

    found = list(normal(lines, {"starts": 5, "writes": 10}, PORTS))

    assert [(one["chapter"], one["by"], one["multi"]) for one in found] == [
        ("starts", "broker 2", False),
        ("starts", "broker 2", False),
        ("writes", "broker 2", True),
        ("writes", "zookeeper", False),
    ]
    assert found[1]["ops"][0]["data"] == (
        '{"timestamp":"1700000000000","endpoints":["PLAINTEXT://127.0.0.1:9092"]}'
    )
    ids = [op["data"].split(":")[-1] for op in found[2]["ops"]]
    assert ids == ['"topic-000000000000001A"}'] * 2


def test_forms_of_operations_are_compared_and_not_the_values_of_a_run() -> None:
    stands = standing_transactions()
    others = [one for one in stands if "log_dir_event" not in str(one)]
    told = [line.split("[")[0] for line in differences(others, stands)]

    assert list(differences(stands[::-1], stands)) == []
    assert told == ["only before: "] * 3, "the folder, a notification made, and deleted"


def test_the_story_has_each_kind_of_znode_that_a_broker_and_a_controller_write() -> None:
    paths = {op.get("path", "") for one in standing_transactions() for op in one["ops"]}
    roots = {"/" + "/".join(path.split("/")[1:3]) for path in paths if path}

    assert {
        "/admin/delete_topics",
        "/brokers/ids",
        "/brokers/topics",
        "/cluster/id",
        "/config/changes",
        "/config/users",
        "/controller",
        "/controller_epoch",
        "/feature",
        "/isr_change_notification/isr_change_0000000000",
        "/latest_producer_id_block",
        "/log_dir_event_notification/log_dir_event_0000000000",
    } <= roots
