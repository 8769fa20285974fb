"""The tap on the network."""

from __future__ import annotations

import asyncio

from protocol.messages.api_versions import ApiVersionsRequest
from simulation.core.samples import Misanswer, Samples
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.exchange_sampler import PATIENCE_US, ExchangeSampler
from simulation.world.transport import SimTransport
from tests.simulation.workload.lab import Lab
from tests.simulation.world.worlds import sim_loop

_ASK = ApiVersionsRequest(client_software_name="t", client_software_version="1")


async def _watched() -> tuple[Lab, ExchangeSampler, Samples]:
    lab = await Lab.running()
    samples = Samples()
    watch = ExchangeSampler(lab.cluster, samples)
    watch.start()
    return lab, watch, samples


async def test_a_cluster_at_work_answers_everything_once() -> None:
    lab, watch, samples = await _watched()
    await lab.create(replication_factor=3)
    for acks in (0, 1, -1):
        settings = ProducerSettings(topic="orders", records_max=5, acks=acks)
        await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()
    lab.cluster.brokers[2].kill()
    await asyncio.sleep(10)
    lab.cluster.brokers[2].start()
    await lab.cluster.until(lab.cluster.is_up, 60_000)

    watch.finish()

    assert samples.misanswers == []
    assert watch.requests_count > 100


async def test_an_answer_nobody_asked_for_is_written_down() -> None:
    lab, watch, samples = await _watched()
    await lab.client.ask(1, _ASK, 3)
    (server,) = _server_ends(lab)

    server.write((8).to_bytes(4, "big") + (77).to_bytes(8, "big"))

    (found,) = samples.misanswers
    assert found.connection.startswith("world to broker-1 (")
    assert found.what == "was answered twice, or never asked"
    watch.finish()


async def test_what_a_live_connection_never_answers_is_written_down() -> None:
    lab, watch, samples = await _watched()
    patient = ClusterClient(addresses_of(lab.cluster.spec), "patient", request_timeout_ms=60_000)
    begun = await patient.begin(1, _ASK, 3)
    lab.cluster.brokers[1].pause()
    await asyncio.sleep(PATIENCE_US / 1_000_000 + 1)

    watch.finish()

    assert [
        (type(each), each.api_key) for each in samples.misanswers if "world" in each.connection
    ] == [(Misanswer, 18)]
    lab.cluster.brokers[1].resume()
    assert (await begun.answer()).error_code == 0


async def test_what_is_open_on_a_lost_connection_is_nobodys_fault() -> None:
    lab, watch, samples = await _watched()
    await lab.client.begin(1, _ASK, 3)
    lab.cluster.brokers[1].power_cut()
    await asyncio.sleep(PATIENCE_US / 1_000_000 + 1)

    watch.finish()

    assert samples.misanswers == []


def _server_ends(lab: Lab) -> list[SimTransport]:
    port = lab.cluster.spec.broker(1).port
    return [
        end
        for end in sim_loop().network.ends
        if end.addresses["sockname"][1] == port and end.peer.process.name == "world"
    ][-1:]
