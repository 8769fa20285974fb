"""What TCP does when bytes do not get through."""

from __future__ import annotations

import asyncio

import pytest

from simulation.world.links import LinkRule
from tests.simulation.world.test_network import client_of, serve
from tests.simulation.world.worlds import sim_loop


async def test_what_a_cut_held_back_arrives_in_order_after_it():
    _, made = await serve()
    _, client = await client_of()
    rule = sim_loop().network.links.add_rule(LinkRule(source="client", is_cut=True))
    for number in range(5):
        client.transport.write(bytes([number]))
        await asyncio.sleep(1)
    assert made[0].data == b""
    made[0].transport.write(b"the other way is open")
    await asyncio.sleep(0.01)
    assert client.data == b"the other way is open"
    sim_loop().network.links.remove_rule(rule)
    await asyncio.sleep(10)
    assert made[0].data == bytes(range(5))
    assert rule.hits == 5


async def test_a_connection_that_is_cut_for_too_long_is_given_up_by_who_writes():
    await serve()
    _, client = await client_of()
    sim_loop().network.links.add_rule(LinkRule(is_cut=True))
    client.transport.write(b"x")
    assert isinstance(await client.lost, TimeoutError)
    assert sim_loop().time() == pytest.approx(924, rel=0.2)


async def test_a_reset_in_place_of_a_segment_ends_both_ends():
    _, made = await serve()
    _, client = await client_of()
    sim_loop().network.links.add_rule(LinkRule(source="client", reset=1.0))
    client.transport.write(b"x")
    assert isinstance(await client.lost, ConnectionResetError)
    assert isinstance(await made[0].lost, ConnectionResetError)
    assert made[0].data == b""


async def test_loss_delays_what_is_behind_but_keeps_the_order():
    _, made = await serve()
    _, client = await client_of()
    sim_loop().network.links.add_rule(LinkRule(source="client", loss=0.3))
    for number in range(50):
        client.transport.write(bytes([number]))
    await asyncio.sleep(0.1)
    assert len(made[0].data) < 50
    await asyncio.sleep(300)
    assert made[0].data == bytes(range(50))


async def test_writing_to_who_has_closed_is_answered_with_a_reset():
    _, made = await serve()
    _, client = await client_of()
    rule = sim_loop().network.links.add_rule(LinkRule(source="server", is_cut=True))
    made[0].transport.close()
    await asyncio.sleep(0.01)
    client.transport.write(b"x")
    sim_loop().network.links.remove_rule(rule)
    assert isinstance(await client.lost, ConnectionResetError | None)


async def test_what_arrives_is_in_the_trace():
    await serve()
    _, client = await client_of()
    before = sim_loop().trace.hexdigest()
    client.transport.write(b"x")
    assert sim_loop().trace.hexdigest() == before
    await asyncio.sleep(0.01)
    assert str(sim_loop().trace.last[-1]).endswith(" server: rx 1 (1 bytes)")
