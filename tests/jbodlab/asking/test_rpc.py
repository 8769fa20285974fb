"""The blocking client asks, waits and connects anew after an error."""

from __future__ import annotations

from typing import Any

import pytest

from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.free_ports import free_port
from protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from tests.jbodlab.fake_node import fake_node


def ask(client: BlockingClient) -> Any:
    return client.request(DescribeLogDirsRequest(topics=None), 4)


def empty(_request: Any) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(throttle_time_ms=7, results=[])


def test_a_request_gets_its_decoded_answer() -> None:
    with fake_node({DescribeLogDirsRequest: empty}) as port:
        client = BlockingClient("127.0.0.1", port)
        assert [ask(client).throttle_time_ms for _ in range(2)] == [7, 7]
        client.close()


def test_a_closed_connection_is_a_connection_error_and_the_next_request_connects_anew() -> None:
    answers: dict[type, Any] = {}
    with fake_node(answers) as port:
        client = BlockingClient("127.0.0.1", port)
        with pytest.raises(ConnectionError, match="closed the connection"):
            ask(client)
        answers[DescribeLogDirsRequest] = empty
        assert ask(client).throttle_time_ms == 7
        client.close()


def test_a_connection_that_the_node_closed_meanwhile_is_made_again() -> None:
    port = free_port()
    client = BlockingClient("127.0.0.1", port)
    for _ in range(2):
        with fake_node({DescribeLogDirsRequest: empty}, port):
            assert ask(client).throttle_time_ms == 7
    client.close()


def test_nobody_there_is_an_os_error() -> None:
    port = free_port()
    with pytest.raises(OSError, match="refused"):
        ask(BlockingClient("127.0.0.1", port))
