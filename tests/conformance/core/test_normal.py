from __future__ import annotations

import base64
from typing import Any

from conformance.core.cases.building import batch, idempotent
from conformance.core.normal import Normal
from conformance.core.script import Given


def seen(api: str, form: dict[str, Any]) -> dict[str, Any]:
    return Normal("77ab", [10, 20, 30]).body(api, form)


def test_what_differs_from_run_to_run_becomes_a_word() -> None:
    form = {"clusterId": "abc", "port": 9092, "rack": None, "errorMessage": "no", "host": ""}
    assert seen("X", form) == {
        "clusterId": "<cluster>",
        "port": "<port>",
        "rack": "<rack>",
        "errorMessage": "<text>",
        "host": "",
    }


def test_the_passwords_of_a_user_have_no_order() -> None:
    rows = [{"mechanism": each, "iterations": 4096} for each in (1, 2)]
    one, other = ({"credentialInfos": each} for each in (rows, rows[::-1]))
    assert seen("X", one) == seen("X", other)


def test_whether_a_client_is_to_wait_is_compared_and_not_how_long() -> None:
    assert seen("X", {"throttleTimeMs": 900}) == {"throttleTimeMs": "<time>"}
    assert seen("X", {"throttleTimeMs": 0}) == {"throttleTimeMs": 0}


def test_names_are_told_without_what_was_drawn_for_them() -> None:
    given = Given(0, "77ab", [])
    names = [given.name("group"), given.name("group", 12), f"a {given.name('x', 3)} b"]
    assert len(set(names)) == 3
    assert [seen("X", {"name": each})["name"] for each in names] == [
        "conform-group",
        "conform-group",
        "a conform-x b",
    ]


def test_an_id_keeps_its_number_and_another_one_gets_the_next() -> None:
    normal = Normal("77ab", [])
    assert normal.body("X", {"producerId": 900}) == {"producerId": "<producer 1>"}
    assert normal.body("X", {"producerId": 901}) == {"producerId": "<producer 2>"}
    assert normal.body("X", {"producerId": 900}) == {"producerId": "<producer 1>"}
    assert normal.body("X", {"producerId": -1, "sessionId": 0, "topicId": "A" * 22}) == {
        "producerId": -1,
        "sessionId": 0,
        "topicId": "A" * 22,
    }


def test_brokers_are_told_by_their_place_and_the_isr_has_no_order() -> None:
    assert seen("Metadata", {"leaderId": 20, "isrNodes": [30, 10], "replicaNodes": [30, 10]}) == {
        "leaderId": "<broker 2>",
        "isrNodes": ["<broker 1>", "<broker 3>"],
        "replicaNodes": ["<broker 3>", "<broker 1>"],
    }
    assert seen("Metadata", {"leaderId": -1}) == {"leaderId": -1}


def test_what_is_nobody_of_the_case_is_left_out_unless_it_is_an_error() -> None:
    rows = [
        {"name": "theirs", "errorCode": 0},
        {"name": "", "errorCode": 17},
        {"name": "conform-t-77ab", "errorCode": 0},
    ]
    assert seen("Metadata", {"topics": rows})["topics"] == [
        {"name": "conform-t", "errorCode": 0},
        {"name": "", "errorCode": 17},
    ]


def test_versions_are_compared_with_what_the_cluster_announced_first() -> None:
    rows = [{"apiKey": 1, "minVersion": 0, "maxVersion": 17}]
    normal = Normal("77ab", [], {1: (0, 17)})
    assert normal.body("ApiVersions", {"apiKeys": rows}) == {"apiKeys": "<left out>"}
    assert normal.body("ApiVersions", {"apiKeys": [*rows, *rows]})["apiKeys"] == [*rows, *rows]
    assert seen("ApiVersions", {"apiKeys": rows}) == {"apiKeys": rows}


def test_batches_are_compared_by_their_fields_and_their_records() -> None:
    (plain,) = seen("Fetch", {"records": batch(2)})["records"]
    assert (plain["crc"], plain["records_count"], plain["base_offset"]) == ("right", 2, 0)
    assert plain["records"]
    (made,) = seen("Fetch", {"records": idempotent((5000, 1), 3)})["records"]
    assert (made["producer_id"], made["base_sequence"]) == ("<producer 1>", 3)
    assert seen("Fetch", {"records": "AAAA"}) == {"records": {"unreadable": "AAAA"}}


def test_values_of_configurations_are_compared_where_the_topic_sets_them() -> None:
    own = {"name": "a", "value": "1", "configSource": 1}
    theirs = {"name": "b", "value": "2", "configSource": 5}
    assert seen("DescribeConfigs", {"configs": [theirs, own]})["configs"] == [
        own,
        {"name": "b", "value": "<value>"},
    ]


def test_log_dirs_without_topics_of_the_case_are_left_out_beside_those_that_have_some() -> None:
    empty = {"errorCode": 0, "logDir": "/a", "topics": [{"name": "another"}]}
    own = {"errorCode": 0, "logDir": "/b", "topics": [{"name": "conform-t-77ab"}]}
    failed: dict[str, Any] = {"errorCode": 56, "logDir": "/c", "topics": []}

    def left(*results: dict[str, Any]) -> list[Any]:
        return Normal("77ab", [1]).body("DescribeLogDirs", {"results": list(results)})["results"]

    assert left(empty, own) == left(own)
    assert len(left(failed, empty, own)) == 2
    assert len(left(empty, empty)) == 1


def test_answers_that_kafka_takes_out_of_a_hash_table_are_in_any_order() -> None:
    for api, name in (
        ("WriteTxnMarkers", "markers"),
        ("DeleteRecords", "partitions"),
        ("DeleteTopics", "responses"),
        ("UpdateFeatures", "results"),
        ("Produce", "responses"),
    ):
        rows = [{"errorCode": 3}, {"errorCode": 0}]
        assert seen(api, {name: rows}) == seen(api, {name: rows[::-1]})
        assert seen("Other", {name: rows}) != seen("Other", {name: rows[::-1]})


def test_of_a_name_that_is_filled_up_the_length_is_compared() -> None:
    for length in (249, 250):
        told = {
            Normal(drawn, []).text(f"conform-a-{drawn}".ljust(length, "x")) for drawn in ("1", "2b")
        }
        assert told == {f"conform-a<{length} characters>"}
    assert Normal("1a", []).text("x" * 249) == "x" * 249
    assert Normal("1a", []).text("conform-a-1a" + "x" * 300) == "conform-a" + "x" * 300


def test_times_of_a_token_are_how_long_they_are_after_it_was_made() -> None:
    token = {"issueTimestampMs": 1_000, "expiryTimestampMs": 3_601_020, "maxTimestampMs": 61_000}
    assert seen("CreateDelegationToken", token) == {
        "issueTimestampMs": "<time>",
        "expiryTimestampMs": "60 minutes",
        "maxTimestampMs": "1 minutes",
    }
    none = dict.fromkeys(token, -1)
    assert seen("CreateDelegationToken", none) == none


def test_of_an_exchange_of_scram_what_is_drawn_is_not_compared() -> None:
    said = base64.b64encode(b"r=abc,s=c2FsdA==,i=4096").decode()
    assert seen("SaslAuthenticate", {"authBytes": said}) == {
        "authBytes": {"r": "<drawn>", "s": "<drawn>", "i": "4096"}
    }
    assert seen("SaslHandshake", {"mechanisms": ["PLAIN", "SCRAM-SHA-256"]}) == {
        "mechanisms": ["SCRAM-SHA-256"]
    }


def test_who_judges_has_no_name_and_hosts_of_acls_stay() -> None:
    normal = Normal("77ab", [], me="admin")
    body = normal.body("X", {"principalName": "admin", "tokenRequesterPrincipalName": "bob"})
    assert body == {"principalName": "<me>", "tokenRequesterPrincipalName": "bob"}
    assert normal.body("DescribeAcls", {"host": "10.0.0.1"}) == {"host": "10.0.0.1"}


def test_what_cases_share_loses_its_suffix_and_what_is_put_together_has_no_order() -> None:
    rows = [{"name": "conform-orders-77"}, {"name": "conform-none-77ab"}]
    form = {"topics": rows}
    shared = Normal("77ab", [], shared_suffix="77").body("CreateTopics", form)
    assert shared == {"topics": [{"name": "conform-none"}, {"name": "conform-orders"}]}
    alone = Normal("77ab", []).body("CreateTopics", form)
    assert alone == {"topics": [{"name": "conform-orders-77"}, {"name": "conform-none"}]}
