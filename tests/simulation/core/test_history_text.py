from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

from protocol.ids import TopicPartition
from simulation.core.history import (
    Assignment,
    Commit,
    Function,
    History,
    Order,
    Poll,
    ProducerRange,
    Read,
    Send,
    Txn,
)
from simulation.core.history_text import edn_lines, json_lines
from tests.simulation.core.edn import read_edn

ORDERS = TopicPartition("orders", 0)
PAID = TopicPartition("paid", 3)
SEND = Send(ORDERS, (1, 2), acks=-1, producer=ProducerRange(4, 0, 9))


def _history() -> History:
    ticks = count(1)
    return History(lambda: next(ticks))


def _rows(history: History) -> Iterator[dict[str, object]]:
    return (read_edn(line) for line in edn_lines(history) if not line.startswith(";"))


def test_a_send_is_written_with_the_offset_of_each_record_once_it_is_known() -> None:
    history = _history()
    history.begin("w", Function.SEND, SEND).ok(SEND._replace(base_offset=40, broker=1))

    begun, ended = _rows(history)

    assert begun == {
        ":type": ":invoke",
        ":f": ":send",
        ":value": [[":send", 0, 1], [":send", 0, 2]],
        ":process": 0,
        ":time": 1000,
        ":index": 0,
    }
    assert ended[":type"] == ":ok"
    assert ended[":value"] == [[":send", 0, [40, 1]], [":send", 0, [41, 2]]]


def test_a_send_without_acks_ends_with_an_unknown_offset() -> None:
    history = _history()
    history.begin("w", Function.SEND, SEND).ok(SEND)

    assert list(_rows(history))[1][":value"] == [
        [":send", 0, [None, 1]],
        [":send", 0, [None, 2]],
    ]


def test_a_poll_is_written_with_what_it_read() -> None:
    history = _history()
    poll = Poll(1, (Read(ORDERS, 0), Read(PAID, 5)))
    read = (Read(ORDERS, 0, error="FENCED_LEADER_EPOCH"), Read(PAID, 5, 2, ((5, 11), (7, 12))))
    history.begin("r", Function.POLL, poll).ok(Poll(1, read))
    history.begin("r", Function.POLL, poll).ok(Poll(1, ()))

    begun, ended, _, empty = _rows(history)

    assert begun[":value"] == [[":poll"]]
    assert ended[":value"] == [[":poll", {1: [[5, 11], [7, 12]]}]]
    assert empty[":value"] == [[":poll", {}]]


def test_partitions_are_integer_keys_that_a_comment_explains() -> None:
    history = _history()
    history.begin("w", Function.SEND, SEND).fail("MESSAGE_TOO_LARGE")
    history.begin("r", Function.POLL, Poll(1, (Read(PAID, 0),))).fail("OFFSET_OUT_OF_RANGE")

    lines = list(edn_lines(history))

    assert (lines[0], lines[3]) == ("; key 0 is orders-0", "; key 1 is paid-3")
    rows = list(_rows(history))
    assert [row[":type"] for row in rows] == [":invoke", ":fail", ":invoke", ":fail"]
    assert rows[1][":value"] == [[":send", 0, 1], [":send", 0, 2]]
    assert rows[1][":error"] == "MESSAGE_TOO_LARGE"


def test_orders_are_the_nemesis_s() -> None:
    history = _history()
    order = Order("orders", 0, broker=2, log_dir='/a "b"\\c')
    history.begin("mover", Function.MOVE, order).unknown("timed out")

    begun, ended = _rows(history)

    assert begun == {
        ":type": ":info",
        ":f": ":move",
        ":value": {":topic": "orders", ":partition": 0, ":broker": 2, ":log-dir": '/a "b"\\c'},
        ":process": ":nemesis",
        ":time": 1000,
        ":index": 0,
    }
    assert (ended[":type"], ended[":error"]) == (":info", "timed out")


def test_the_whole_text_is_one_map_after_the_other() -> None:
    history = _history()
    history.begin("w", Function.SEND, SEND).ok(SEND)
    history.note("run", "a step")

    assert len(read_edn("[" + "\n".join(edn_lines(history)) + "\n]")) == 4


def test_json_lines_hold_everything() -> None:
    history = _history()
    history.begin("w", Function.SEND, SEND).unknown("timed out")

    begun, ended = (json.loads(line) for line in json_lines(history))

    assert begun["value"] == {
        "tp": {"topic": "orders", "partition": 0},
        "records": [1, 2],
        "acks": -1,
        "producer": {"producer_id": 4, "producer_epoch": 0, "base_sequence": 9},
        "base_offset": -1,
        "broker": -1,
        "leader_epoch": -1,
        "keys": 0,
        "asked_us": -1,
        "has_timestamps": True,
    }
    assert ended["kind"] == "info"
    assert ended["function"] == "send"
    assert ended["error"] == "timed out"
    assert begun["kind"] == "invoke"
    assert (ended["number"], ended["at_us"], ended["process"], ended["client"]) == (1, 2, 0, "w")


def test_json_lines_name_the_parts_of_a_poll() -> None:
    history = _history()
    poll = Poll(1, (Read(PAID, 5, 2, ((5, 11),), 6),))
    history.begin("r", Function.POLL, poll).ok(poll)

    row = json.loads(next(json_lines(history)))

    assert row["value"] == {
        "broker": 1,
        "reads": [
            {
                "tp": {"topic": "paid", "partition": 3},
                "fetch_offset": 5,
                "leader_epoch": 2,
                "records": [[5, 11]],
                "high_watermark": 6,
                "error": "",
            }
        ],
        "is_committed": False,
        "names_epochs": False,
    }


def test_what_a_member_owns_and_commits_is_written_as_the_nemesis_does() -> None:
    history = _history()
    owned, commit = Assignment("g", 3, (ORDERS,)), Commit("g", ((ORDERS, 5), (PAID, 7)))
    history.begin("one", Function.ASSIGN, owned).ok(owned)
    history.begin("one", Function.COMMIT, commit).ok(commit)

    _, assigned, _, committed = _rows(history)

    assert (assigned[":f"], assigned[":process"]) == (":assign", ":nemesis")
    assert assigned[":value"] == {":group": "g", ":generation": 3, ":partitions": ["orders-0"]}
    assert committed[":value"] == {":group": "g", ":offsets": {"orders-0": 5, "paid-3": 7}}


def test_a_transaction_is_written_with_what_it_read_and_sent() -> None:
    history = _history()
    sends = (Send(PAID, (8,), -1), Send(PAID, (9,), -1))
    txn = Txn("teller", sends, (Read(ORDERS, 0, records=((3, 1), (4, 2))),), "tellers")
    told = txn._replace(sends=(sends[0]._replace(base_offset=5), sends[1]._replace(base_offset=6)))
    history.begin("teller", Function.TXN, txn).ok(told)
    history.begin("teller", Function.TXN, txn).fail("aborted")

    lines = list(edn_lines(history))

    poll = "[:poll {0 [[3 1] [4 2]]}]"
    assert lines[:2] == ["; key 0 is orders-0", "; key 1 is paid-3"]
    assert f":f :txn, :value [{poll} [:send 1 8] [:send 1 9]], :process 0" in lines[2]
    assert lines[3].startswith(
        f"{{:type :ok, :f :txn, :value [{poll} [:send 1 [5 8]] [:send 1 [6 9]]]"
    )
    assert lines[5].startswith("{:type :fail, :f :txn")
