"""Free ports are free, and taken ones have a holder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from jbodlab.processes.free_ports import free_port, free_ports, holder_of, is_free


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(5)
    assert len(dict.fromkeys(ports)) == 5
    assert all(is_free("127.0.0.1", port) for port in ports)
    assert all(port < 32_768 for port in ports), "a connection may take it before it is used"


def test_another_process_gets_others_also_while_nobody_listens_on_these() -> None:
    source = "from jbodlab.processes.free_ports import free_ports; print(*free_ports(500))"
    own = free_ports(500)
    other = subprocess.run([sys.executable, "-c", source], capture_output=True, check=True)
    assert set(own).isdisjoint(map(int, other.stdout.split()))


def test_a_taken_port_is_not_free_and_its_holder_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free("127.0.0.1", port)
        assert holder_of(port).endswith(f"(pid {os.getpid()})")


def test_an_unknown_holder_is_another_process() -> None:
    port = free_port()
    assert holder_of(port) == "another process"
