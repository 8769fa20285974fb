"""Servers, connections, and what becomes of them when a node goes."""

from __future__ import annotations

import asyncio
import errno

import pytest

from simulation.world.links import LinkRule
from simulation.world.process import Process
from tests.simulation.world.protocols import Kept
from tests.simulation.world.worlds import sim_loop, spawn

PORT = 5000


async def serve(name: str = "server") -> tuple[Process, list[Kept]]:
    """Listen in a process of its own."""
    process, made = Process(name), list[Kept]()

    def accept() -> Kept:
        made.append(Kept())
        return made[-1]

    await spawn(process, sim_loop().create_server(accept, "127.0.0.1", PORT))
    return process, made


async def client_of(name: str = "client") -> tuple[Process, Kept]:
    """Connect in a process of its own."""
    process = Process(name)
    _, protocol = await spawn(process, sim_loop().create_connection(Kept, "127.0.0.1", PORT))
    return process, protocol


async def test_a_port_nobody_listens_on_refuses():
    with pytest.raises(ConnectionRefusedError) as caught:
        await client_of()
    assert caught.value.errno == errno.ECONNREFUSED


async def test_a_port_is_taken_once_and_free_again_after_the_close():
    server = await sim_loop().create_server(Kept, "127.0.0.1", PORT)
    with pytest.raises(OSError, match="in use") as caught:
        await sim_loop().create_server(Kept, "127.0.0.1", PORT)
    assert caught.value.errno == errno.EADDRINUSE
    server.close()
    await server.wait_closed()
    assert not server.is_serving()
    assert server.sockets == ()
    await sim_loop().create_server(Kept, "127.0.0.1", PORT)


async def test_port_0_takes_a_free_one():
    servers = [await sim_loop().create_server(Kept, "127.0.0.1", 0) for _ in range(3)]
    ports = {server.sockets[0].getsockname()[1] for server in servers}
    assert len(ports) == 3
    assert 0 not in ports


async def test_each_end_runs_in_the_process_it_belongs_to():
    server, made = await serve()
    client, protocol = await client_of()
    assert protocol.transport.process is client
    assert made[0].transport.process is server


async def test_a_killed_process_has_its_connections_closed_by_the_system():
    server, _ = await serve()
    _, protocol = await client_of()
    sim_loop().kill(server)
    sim_loop().network.end_process(server)
    assert await protocol.lost is None
    with pytest.raises(ConnectionRefusedError):
        await client_of()


async def test_a_machine_without_power_tells_nobody_until_it_is_back_and_knows_nothing():
    server, _ = await serve()
    _, protocol = await client_of()
    sim_loop().kill(server)
    sim_loop().network.lose_process(server)
    protocol.transport.write(b"anybody there?")
    await asyncio.sleep(60)
    assert not protocol.lost.done()
    sim_loop().network.power_on("server")
    async with asyncio.timeout(120):
        assert isinstance(await protocol.lost, ConnectionResetError)


async def test_connecting_to_a_dark_machine_takes_long_and_works_when_it_is_back():
    server, _ = await serve()
    sim_loop().kill(server)
    sim_loop().network.lose_process(server)
    connecting = asyncio.get_running_loop().create_task(client_of())
    await asyncio.sleep(5)
    assert not connecting.done()
    sim_loop().network.power_on("server")
    await serve()
    async with asyncio.timeout(10):
        await connecting


async def test_connecting_to_a_dark_machine_fails_in_the_end():
    sim_loop().network.own(PORT, "server")
    sim_loop().network.links.power_off("server")
    with pytest.raises(TimeoutError):
        await client_of()
    assert 60 < sim_loop().time() < 130


async def test_a_connection_is_made_only_when_both_ways_are_open():
    await serve()
    rule = sim_loop().network.links.add_rule(LinkRule(source="server", is_cut=True))
    connecting = asyncio.get_running_loop().create_task(client_of())
    await asyncio.sleep(10)
    assert not connecting.done()
    sim_loop().network.links.remove_rule(rule)
    async with asyncio.timeout(20):
        await connecting


async def test_a_paused_process_is_connected_to_and_answers_later():
    server, made = await serve()
    sim_loop().pause(server)
    _, protocol = await client_of()
    protocol.transport.write(b"hello")
    await asyncio.sleep(1)
    assert made == []
    sim_loop().resume(server)
    await asyncio.sleep(0.1)
    assert made[0].data == b"hello"


async def test_half_open_connections_carry_nothing_and_new_ones_do():
    _, made = await serve()
    _, old = await client_of()
    assert sim_loop().network.half_open("client", "*") == 1
    _, new = await client_of()
    for protocol in (old, new):
        protocol.transport.write(b"x")
    made[0].transport.write(b"y")
    await asyncio.sleep(60)
    assert [one.data for one in made] == [b"", b"x"]
    assert old.data == b""
    assert not old.lost.done()
    assert isinstance(await old.lost, TimeoutError)


async def test_who_gives_up_connecting_leaves_no_connection_behind():
    _, made = await serve()
    sim_loop().network.links.add_rule(LinkRule(source="server", latency_us=1_000_000))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await client_of()
    await asyncio.sleep(5)
    assert made[0].lost.done()
