"""What a run of a case writes down, by a broker whose answers are made up."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from struct import pack, unpack
from typing import Any

import pytest

from conformance.case_run import QUIET_S, CaseRun
from conformance.cluster_access import Access, Broker
from conformance.core.script import (
    Case,
    Form,
    Given,
    Late,
    Raw,
    Repeated,
    Request,
    Script,
    Talk,
    Until,
)
from protocol.json_form import encode_body

Reply = Callable[[int], Sequence[bytes | None]]
"""From a correlation id to the frames that answer it; None closes the connection."""
_BODY = encode_body("Heartbeat", "response", 0, {"errorCode": 25})
LOADING = encode_body("Heartbeat", "response", 0, {"errorCode": 14})
OTHER = encode_body("Heartbeat", "response", 0, {"errorCode": 27})
FINE = encode_body("Heartbeat", "response", 0, {"errorCode": 0})
ANSWER = {"of": 0, "body": {"errorCode": 25}}


def framed(correlation_id: int, body: bytes = _BODY) -> bytes:
    return pack(">ii", len(body) + 4, correlation_id) + body


@asynccontextmanager
async def broker(reply: Reply) -> AsyncGenerator[Access]:
    """Answer Heartbeats as ``reply`` says, and everything else rightly."""

    def serve(server: socket.socket) -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with line, line.makefile("rb") as incoming, suppress(OSError):
                _answer(line, incoming, reply)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        port = server.getsockname()[1]
        access = Access({1: Broker(1, "127.0.0.1", port)}, {}, 3000)
        yield access
        access.close()
        server.shutdown(socket.SHUT_RDWR)
    await asyncio.to_thread(thread.join)


def _answer(line: socket.socket, incoming: Any, reply: Reply) -> None:
    while len(head := incoming.read(4)) == 4:
        frame = incoming.read(unpack(">i", head)[0])
        key, _, id_ = unpack(">hhi", frame[:8])
        body = encode_body("ApiVersions", "response", 0, {"errorCode": 0})
        for answer in reply(id_) if key == 12 else [framed(id_, body)]:
            if answer is None:
                return
            line.sendall(answer)


async def seen(
    reply: Reply, script: Callable[[Given], Script] | None = None, *, quiet_s: float = QUIET_S
) -> list[dict[str, Any]]:
    async with broker(reply) as access:
        case = Case("a/b", "", script or one_heartbeat, "Heartbeat", "all")
        return await CaseRun(case, 0, access, "s", quiet_s=quiet_s).run()


def one_heartbeat(given: Given) -> Script:
    yield Talk([Request("Heartbeat", given.version)])


def three_heartbeats(given: Given) -> Script:
    for _ in range(3):
        yield Talk([Request("Heartbeat", given.version)])


def told(*came: dict[str, Any]) -> dict[str, Any]:
    return {"sent": ["Heartbeat v0"], "came": list(came)}


async def test_an_answer_is_written_down_with_the_request_that_it_is_for() -> None:
    assert await seen(lambda id_: [framed(id_)]) == [told(ANSWER)]


async def test_an_answer_that_comes_twice_is_seen_at_the_end() -> None:
    extra = {"connection": "", "at the end": ["an answer to nothing that was asked"]}
    assert await seen(lambda id_: [framed(id_), framed(id_)]) == [told(ANSWER), extra]


async def test_a_missing_answer_is_known_when_the_next_request_is_answered() -> None:
    assert await seen(lambda _: []) == [told({"end": "silence"})]


async def test_late_answers_are_answers() -> None:
    """Each is behind the request that asks whether it is missing, whose own answer comes later."""
    assert await seen(lambda id_: [framed(id_)], three_heartbeats, quiet_s=0) == [told(ANSWER)] * 3


async def test_an_answer_that_is_missing_behind_late_ones_is_known() -> None:
    left = [[0], [1], []]
    came = await seen(lambda id_: [framed(id_) for _ in left.pop(0)], three_heartbeats, quiet_s=0)
    assert came == [told(ANSWER), told(ANSWER), told({"end": "silence"})]


async def test_an_answer_with_another_id_is_no_answer() -> None:
    came = told({"of": "nothing that was asked"})
    assert await seen(lambda id_: [framed(id_ + 1)]) == [came]


async def test_bytes_that_are_no_answer_are_malformed() -> None:
    assert await seen(lambda id_: [framed(id_, _BODY + b"\0")]) == [
        told({"of": 0, "kind": "malformed"})
    ]


async def test_a_closed_connection_is_written_down_and_at_the_end_again() -> None:
    assert await seen(lambda _: [None]) == [
        told({"end": "closed"}),
        {"connection": "", "at the end": ["closed"]},
    ]


async def test_answers_out_of_order_show() -> None:
    kept: list[int] = []

    def reply(id_: int) -> list[bytes]:
        kept.append(id_)
        return [framed(each) for each in reversed(kept)] if len(kept) == 2 else []

    def two(given: Given) -> Script:
        yield Talk([Request("Heartbeat", given.version)] * 2)

    (step,) = await seen(reply, two)
    assert [each["of"] for each in step["came"]] == [1, 0]


async def test_what_is_not_looked_at_is_not_written_down_but_told_to_the_case() -> None:
    answers: list[Any] = []

    def unseen(given: Given) -> Script:
        answers.extend((yield Talk([Request("Heartbeat", given.version)], is_seen=False)))

    assert await seen(lambda id_: [framed(id_, FINE)], unseen) == []
    assert [each.body for each in answers] == [{"errorCode": 0}]


GONE_WRONG: list[tuple[Reply, list[Any]]] = [
    (lambda id_: [framed(id_)], [ANSWER]),
    (lambda id_: [framed(id_ + 1, FINE)], [{"of": "nothing that was asked"}]),
    (lambda _: [None], [{"end": "closed"}]),
]


@pytest.mark.parametrize(("reply", "came"), GONE_WRONG)
async def test_a_preparation_that_goes_wrong_is_written_down_unless_it_may(
    reply: Reply, came: list[Any]
) -> None:
    def prepare(given: Given, *, may_go_wrong: bool = False) -> Script:
        beat = Request("Heartbeat", given.version)
        yield Talk([beat], is_seen=False, may_go_wrong=may_go_wrong)

    written = await seen(reply, prepare)
    assert written[:1] == [{"sent": ["Heartbeat v0"], "came": came}]
    assert await seen(reply, partial(prepare, may_go_wrong=True)) == written[1:]


async def test_a_case_that_cannot_go_on_with_an_answer_stops_there() -> None:
    def curious(given: Given) -> Script:
        answers = yield Talk([Request("Heartbeat", given.version)])
        assert answers[0].body["not there"]

    came = await seen(lambda id_: [framed(id_)], curious)
    assert came[1:] == [{"stopped": "KeyError: 'not there'"}]


async def test_an_answer_without_what_a_condition_looks_at_is_waited_out() -> None:
    """As one that has null for its rows beside an error (seed 920022)."""
    codes = [25, 27, 0]

    def reply(id_: int) -> list[bytes]:
        return [framed(id_, encode_body("Heartbeat", "response", 0, {"errorCode": codes.pop(0)}))]

    def looks(answer: Form) -> bool:
        rows: dict[int, Any] = {25: None, 27: [], 0: [True]}
        return bool(rows[answer["errorCode"]][0])

    def script(given: Given) -> Script:
        came = yield Until(Request("Heartbeat", given.version), looks)
        assert came["errorCode"] == 0

    assert await seen(reply, script) == []
    assert codes == []


async def test_half_a_frame_is_followed_by_nothing() -> None:
    def half(_: Given) -> Script:
        yield Talk([Raw(b"\0\0")], is_mid_frame=True)

    assert await seen(lambda _: [], half) == [
        {"sent": ["2 bytes"], "came": []},
        {"connection": "", "at the end": ["within a frame"]},
    ]


async def test_a_coordinator_that_loads_is_asked_again_as_clients_do() -> None:
    asked: list[int] = []

    def loads_at_first(id_: int) -> list[bytes]:
        asked.append(id_)
        return [framed(id_, LOADING if len(asked) < 3 else _BODY)]

    assert await seen(loads_at_first) == [told(ANSWER)]
    assert len(asked) == 3


async def test_an_answer_that_is_not_awaited_is_written_down_when_it_is_taken() -> None:
    asked: list[int] = []

    def the_first_behind_the_second(id_: int) -> list[bytes]:
        asked.append(id_)
        return [framed(each) for each in asked] if len(asked) == 2 else []

    def late(given: Given) -> Script:
        beat = Request("Heartbeat", given.version)
        yield Talk([beat], is_awaited=False)
        yield Talk([replace(beat, is_answered=False)])
        answers = yield Late()
        assert [each.body for each in answers] == [{"errorCode": 25}]

    assert await seen(the_first_behind_the_second, late) == [
        told(),
        told(ANSWER),
        {"connection": "", "at the end": ["an answer to nothing that was asked"]},
    ]


async def test_only_the_answer_that_is_waited_for_is_written_down_of_a_repeated_talk() -> None:
    asked: list[int] = []

    def third_time(id_: int) -> list[bytes]:
        asked.append(id_)
        return [framed(id_, _BODY if len(asked) == 3 else OTHER)]

    def until_unknown(given: Given) -> Script:
        talk = Talk([Request("Heartbeat", given.version)])
        yield Repeated(talk, lambda answers: answers[0].body["errorCode"] == 25)

    assert await seen(third_time, until_unknown) == [told(ANSWER)]
    assert len(asked) == 3


async def test_a_case_is_told_how_long_an_answer_took() -> None:
    took: list[float] = []

    def timed(given: Given) -> Script:
        (answer,) = yield Talk([Request("Heartbeat", given.version)])
        took.append(answer.after_ms)

    began = asyncio.get_running_loop().time()
    await seen(lambda id_: [framed(id_)], timed)
    whole_ms = (asyncio.get_running_loop().time() - began) * 1000
    assert 0 < took[0] < whole_ms
