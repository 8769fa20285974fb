"""The control endpoint: every mistake gets a sentence, and it only listens on loopback."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from broker.control import (
    BODY_BYTES_MAX,
    ControlError,
    ControlPorts,
    ControlServer,
    FailRequest,
    ReplaceRequest,
    RestartPartitionRequest,
    RestartRequest,
    answer,
)
from broker.metrics import Metrics
from tests.deadlines import DEADLINE_S


class FakeBroker:
    """Remembers what it was asked to do."""

    def __init__(self) -> None:
        self.failed: list[FailRequest] = []
        self.healed: list[str] = []
        self.faults_added: list[Any] = []
        self.faults_cleared: list[Sequence[str] | None] = []
        self.restarted: list[RestartRequest] = []
        self.partitions_restarted: list[RestartPartitionRequest] = []
        self.replaced: list[ReplaceRequest] = []
        self.is_shut_down = False
        self.metrics = Metrics(1)

    def ports(self) -> ControlPorts:
        return ControlPorts(
            status=lambda: {"broker_id": 1},
            log_dirs=self.log_dirs,
            fail_log_dir=self.fail,
            heal_log_dir=self.heal,
            faults=lambda: [{"id": "fault-1", "hits": 3}],
            add_faults=self.add_faults,
            clear_faults=self.clear_faults,
            release_held=self.release_held,
            passed_requests=lambda: {"fault-2": [{"api": "Produce"}]},
            restart_log_dir=self.restarted.append,
            replace_log_dir=self.replaced.append,
            restart_partition=self.restart_partition,
            shut_down=self.shut_down,
            metric_families=self.metrics.families,
            replicas=lambda: {"pid": 7, "replicas": []},
        )

    async def log_dirs(self) -> list[Mapping[str, Any]]:
        return [{"path": "/d1", "online": True}]

    def fail(self, wish: FailRequest) -> None:
        if wish.path != "/d1":
            raise ControlError(400, f"path: {wish.path!r} is none of /d1")
        self.failed.append(wish)

    def heal(self, path: str) -> Mapping[str, Any]:
        self.healed.append(path)
        return {"path": path, "online": False}

    def add_faults(self, contents: Sequence[Any]) -> list[str]:
        self.faults_added.extend(contents)
        return [f"fault-{number}" for number in range(1, len(contents) + 1)]

    def clear_faults(self, ids: Sequence[str] | None) -> list[Mapping[str, Any]]:
        self.faults_cleared.append(ids)
        return [{"id": "fault-1", "hits": 3}]

    def release_held(self, fault_id: str, count: int | None) -> int:
        if fault_id != "barrier":
            raise ControlError(400, f"id: {fault_id} is no fault of mode hold; there are: barrier")
        return count or 3

    def restart_partition(self, asked: RestartPartitionRequest) -> str:
        self.partitions_restarted.append(asked)
        if asked.topic != "t":
            raise ControlError(409, f"{asked.topic}-0 is not offline on broker 1")
        return "/d1"

    def shut_down(self) -> None:
        self.is_shut_down = True


POSTS = b"Host: 127.0.0.1:19093\r\nContent-Type: application/json; charset=utf-8\r\n"


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


async def ask(
    broker: FakeBroker, method: str, path: str, body: object = None
) -> tuple[int, dict[str, Any]]:
    reply = await answer(broker.ports(), method, path, msgspec.json.encode(body))
    return reply.status, msgspec.json.decode(reply.body)


async def test_a_log_dir_is_asked_to_come_back_with_its_data_or_empty(broker: FakeBroker):
    assert (await ask(broker, "POST", "/log-dirs/restart", {"path": "/d1"}))[0] == 202
    assert broker.restarted == [RestartRequest("/d1")]
    wish = {"path": "/d1", "accept_loss": True, "force": True}
    assert await ask(broker, "POST", "/log-dirs/replace", wish) == (202, {"path": "/d1"})
    assert broker.replaced == [ReplaceRequest("/d1", accept_loss=True, force=True)]
    wish = {"path": "/d1", "throttle_bytes_per_second": 1000}
    assert (await ask(broker, "POST", "/log-dirs/replace", wish))[0] == 202
    assert broker.replaced[1:] == [ReplaceRequest("/d1", throttle_bytes_per_second=1000)]
    wish = {"path": "/d1", "throttle_bytes_per_second": 0}
    assert (await ask(broker, "POST", "/log-dirs/replace", wish))[0] == 400


async def test_replicas_are_told_as_they_are_held(broker: FakeBroker):
    assert await ask(broker, "GET", "/replicas") == (200, {"pid": 7, "replicas": []})


async def test_one_partition_is_asked_to_come_back(broker: FakeBroker):
    wish = {"topic": "t", "partition": 0}
    assert await ask(broker, "POST", "/partitions/restart", wish) == (202, {"path": "/d1"})
    wish = {"topic": "u", "partition": 0}
    status, said = await ask(broker, "POST", "/partitions/restart", wish)
    assert (status, said["error"]) == (409, "u-0 is not offline on broker 1")
    wish = {"topic": "t", "partition": 1, "accept_loss": True}
    assert (await ask(broker, "POST", "/partitions/restart", wish))[0] == 202
    assert broker.partitions_restarted[::2] == [
        RestartPartitionRequest("t", 0),
        RestartPartitionRequest("t", 1, accept_loss=True),
    ]


async def test_faults_are_added_listed_and_cleared_by_id_or_all(broker: FakeBroker):
    rules = [{"mode": "eio", "broker": 1}, {"mode": "cut", "from": "broker-1", "to": "*"}]
    added = await ask(broker, "POST", "/faults", {"faults": rules})
    assert added == (200, {"ids": ["fault-1", "fault-2"]})
    assert broker.faults_added == rules
    listed = await ask(broker, "GET", "/faults")
    assert listed == (200, {"faults": [{"id": "fault-1", "hits": 3}]})
    cleared = await ask(broker, "POST", "/faults/clear", {"ids": ["fault-1"]})
    assert cleared == (200, {"cleared": [{"id": "fault-1", "hits": 3}]})
    await ask(broker, "POST", "/faults/clear", {})
    assert (await answer(broker.ports(), "POST", "/faults/clear", b"")).status == 200
    assert broker.faults_cleared == [["fault-1"], None, None]
    assert (await ask(broker, "POST", "/faults", {"rules": rules}))[0] == 400


async def test_what_a_fault_holds_is_released_and_what_an_observer_saw_is_shown(
    broker: FakeBroker,
):
    path = "/faults/release"
    asked = await ask(broker, "POST", path, {"id": "barrier", "count": 1})
    assert asked == (200, {"id": "barrier", "released": 1})
    assert (await ask(broker, "POST", path, {"id": "barrier"}))[1]["released"] == 3
    assert (await ask(broker, "POST", path, {"id": "none"}))[0] == 400
    assert (await ask(broker, "POST", path, {"id": "barrier", "count": 0}))[0] == 400
    passed = await ask(broker, "GET", "/faults/passed")
    assert passed == (200, {"passed": {"fault-2": [{"api": "Produce"}]}})


async def test_status_and_log_dirs_are_json(broker: FakeBroker):
    assert await ask(broker, "GET", "/status") == (200, {"broker_id": 1})
    assert await ask(broker, "GET", "/log-dirs") == (
        200,
        {"log_dirs": [{"path": "/d1", "online": True}]},
    )


async def test_a_log_dir_is_failed_with_the_mode_asked_for(broker: FakeBroker):
    status, reply = await ask(
        broker, "POST", "/log-dirs/fail", {"path": "/d1", "mode": "slow", "delay_ms": 20}
    )
    assert (status, reply) == (200, {"path": "/d1", "mode": "slow"})
    assert broker.failed == [FailRequest(path="/d1", mode="slow", delay_ms=20)]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"path": "/d1", "mode": "melt"}, "'melt' is none of eio, enospc"),
        ({"path": "/d9", "mode": "eio"}, "'/d9' is none of /d1"),
        ({"mode": "eio"}, "path"),
        ({"path": "/d1", "mode": "slow"}, "delay_ms: None"),
        (
            {"path": "/d1", "mode": "slow", "delay_ms": 10**12},
            "000, mode slow needs 1 to 86400000",
        ),
        ({"path": "/d1", "mode": "eio", "delay_ms": 3}, "only mode slow"),
        ({"path": "/d1", "modus": "eio"}, "modus"),
        ([], "a JSON object of path, mode, delay_ms"),
    ],
)
async def test_a_bad_wish_names_the_value_and_what_is_allowed(
    broker: FakeBroker, body: object, word: str
):
    status, reply = await ask(broker, "POST", "/log-dirs/fail", body)
    assert status == 400
    assert word in reply["error"]
    assert broker.failed == []


async def test_heal_and_shutdown_reach_the_broker(broker: FakeBroker):
    assert (await ask(broker, "POST", "/log-dirs/heal", {"path": "/d1"}))[0] == 200
    assert (await ask(broker, "POST", "/shutdown"))[0] == 202
    assert broker.healed == ["/d1"]
    assert broker.is_shut_down


async def test_unknown_paths_and_methods_name_the_known_ones(broker: FakeBroker):
    status, reply = await ask(broker, "GET", "/nothing")
    assert status == 404
    assert "/log-dirs/fail" in reply["error"]
    status, reply = await ask(broker, "POST", "/status")
    assert status == 405
    assert "GET" in reply["error"]


async def test_metrics_are_in_the_text_format(broker: FakeBroker):
    broker.metrics.log_dir("/d1").offline.set(1)
    broker.metrics.request("Fetch").record(9, received_bytes=1, sent_bytes=2, failed=False)
    reply = await answer(broker.ports(), "GET", "/metrics", b"")
    assert reply.content_type.startswith(b"text/plain")
    assert b'kafka_log_logmanager_logdirectoryoffline{logdirectory="/d1"} 1.0' in reply.body
    assert b'kafka_network_requestmetrics_requests_total{request="Fetch"} 1.0' in reply.body


@pytest.fixture
async def port(broker: FakeBroker) -> AsyncIterator[int]:
    server = ControlServer(broker.ports())
    yield await server.start(0)
    await server.stop()


async def exchange(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    async with asyncio.timeout(DEADLINE_S):
        reply = await reader.read()
    writer.close()
    return reply


async def test_over_a_socket_the_connection_is_closed_after_the_answer(port: int):
    reply = await exchange(port, b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert reply.endswith(b'{"broker_id":1}\n')


async def test_a_body_in_pieces_is_read_whole(port: int, broker: FakeBroker):
    body = b'{"path":"/d1","mode":"eio"}'
    head = b"POST /log-dirs/fail HTTP/1.1\r\n" + POSTS + b"Transfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body) + b"0\r\n\r\n"
    assert (await exchange(port, head + chunks)).startswith(b"HTTP/1.1 200 ")
    assert broker.failed == [FailRequest(path="/d1", mode="eio")]


async def test_a_huge_body_is_refused(port: int):
    body = b"x" * (BODY_BYTES_MAX + 100)
    head = b"POST /shutdown HTTP/1.1\r\n" + POSTS + b"Content-Length: %d\r\n\r\n" % len(body)
    assert (await exchange(port, head + body)).startswith(b"HTTP/1.1 413 ")


async def test_what_is_no_http_ends_without_an_answer(port: int):
    assert await exchange(port, b"\x00\x01\x02\r\n\r\n") == b""


async def test_a_defect_behind_the_endpoint_is_answered_500(broker: FakeBroker):
    def broken() -> Mapping[str, Any]:
        raise RuntimeError("defect")

    server = ControlServer(dataclasses.replace(broker.ports(), status=broken))
    port = await server.start(0)
    reply = await exchange(port, b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await server.stop()
    assert reply.startswith(b"HTTP/1.1 500 ")


async def test_what_a_page_of_a_browser_asks_is_refused_and_does_nothing(
    port: int, broker: FakeBroker
):
    """A simple POST as Chromium sends it for fetch(url, {method: "POST", mode: "no-cors"})."""
    reply = await exchange(
        port,
        f"POST /shutdown HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: keep-alive\r\n"
        "Content-Length: 0\r\nUser-Agent: Mozilla/5.0 Chrome/140.0.0.0\r\nAccept: */*\r\n"
        "Content-Type: text/plain;charset=UTF-8\r\nOrigin: https://evil.example\r\n"
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\n"
        "Referer: https://evil.example/\r\n\r\n".encode(),
    )
    assert reply.startswith(b"HTTP/1.1 403 ")
    assert b"Origin is 'https://evil.example'" in reply
    assert not broker.is_shut_down


async def test_a_person_may_type_the_address_into_a_browser(port: int):
    head = f"GET /status HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: none\r\n\r\n"
    assert (await exchange(port, head.encode())).startswith(b"HTTP/1.1 200 ")


async def test_a_header_that_is_sent_twice_is_refused(port: int):
    twice = b"POST /shutdown HTTP/1.1\r\n" + POSTS + b"Content-Type: text/plain\r\n\r\n"
    assert (await exchange(port, twice)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("path", ["/faults", "/log-dirs/fail", "/faults/clear"])
async def test_brackets_inside_brackets_are_one_clear_error(broker: FakeBroker, path: str):
    deep = b'{"faults":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    reply = await answer(broker.ports(), "POST", path, deep)
    assert reply.status == 400
    assert len(msgspec.json.decode(reply.body)["error"]) < 200


@pytest.mark.parametrize("partition", [-1, 2**31])
async def test_a_partition_that_none_can_have_is_refused(broker: FakeBroker, partition: int):
    wish = {"topic": "orders", "partition": partition}
    status, reply = await ask(broker, "POST", "/partitions/restart", wish)
    assert status == 400
    assert f"partition: {partition}, must be 0 to 2147483647" in reply["error"]


async def test_a_body_that_is_not_utf_8_is_refused_and_leaves_no_traceback(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
):
    reply = await answer(broker.ports(), "POST", "/log-dirs/fail", b'{"path": "\xe8("}')
    assert reply.status == 400
    assert b"utf-8" in reply.body
    assert not caplog.records
