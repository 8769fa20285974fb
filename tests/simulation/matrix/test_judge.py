"""The judge sees what is wrong: nothing that was broken by hand passes."""

from __future__ import annotations

from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.configs.types import ResourceType
from simulation.core.history import History
from simulation.matrix.judge import judge
from simulation.matrix.matrix_cluster import ORDERS, PATHS, MatrixCluster
from simulation.matrix.outcome import Outcome
from simulation.workload.admin import Admin
from simulation.world.journal_disk import JOURNAL_FILE


async def filled(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.produce(3)


async def test_a_record_that_is_nowhere_is_lost(cluster: MatrixCluster) -> None:
    await filled(cluster)
    cluster.models[ORDERS].acknowledged[7] = b"never written"
    verdict = await judge(cluster)
    assert verdict.outcome is Outcome.LOST
    assert "7 is missing" in verdict.reason


async def test_a_record_that_nobody_wrote_is_noticed(cluster: MatrixCluster) -> None:
    await filled(cluster)
    cluster.models[ORDERS].sent.pop(cluster.models[ORDERS].acknowledged[1])
    assert "1: nobody wrote" in (await judge(cluster)).reason


async def test_a_topic_that_is_gone_is_lost(cluster: MatrixCluster) -> None:
    await filled(cluster)
    await cluster.admin.delete_topic(ORDERS.topic)
    await cluster.rest(1000)
    cluster.models[ORDERS].is_created = False
    assert (await judge(cluster)).outcome is Outcome.RECOVERED
    cluster.models[ORDERS].is_created = True
    assert (await judge(cluster)).reason == "orders-0 is gone"


async def test_a_deleted_topic_that_is_there_is_noticed(cluster: MatrixCluster) -> None:
    await filled(cluster)
    view = await cluster.client.view()
    cluster.deleted[view.topic_ids[ORDERS.topic]] = ORDERS.topic
    verdict = await judge(cluster)
    assert verdict == (Outcome.OFFLINE, "broker 1: orders is not deleted")


async def test_other_replicas_than_were_ordered_are_noticed(cluster: MatrixCluster) -> None:
    await filled(cluster)
    cluster.models[ORDERS].replicas = ((2, 3), (3, 2))
    verdict = await judge(cluster)
    assert verdict.outcome is Outcome.OFFLINE
    assert "replicas (1, 2, 3), not ((2, 3), (3, 2))" in verdict.reason


async def test_a_config_that_is_not_as_it_was_set_is_lost(cluster: MatrixCluster) -> None:
    await filled(cluster)
    await cluster.cordon(PATHS[1])
    assert (await judge(cluster)).outcome is Outcome.RECOVERED
    cluster.settings[CORDONED_LOG_DIRS] = PATHS[2]
    assert (await judge(cluster)).reason == f"{CORDONED_LOG_DIRS} is {PATHS[1]}, not {PATHS[2]}"


async def test_a_topic_with_other_configs_is_lost(cluster: MatrixCluster) -> None:
    await filled(cluster)
    cluster.models[ORDERS].configs["retention.bytes"] = "5"
    assert (await judge(cluster)).reason == "orders has configs {}"


async def test_a_replica_in_a_cordoned_log_dir_is_noticed(cluster: MatrixCluster) -> None:
    await filled(cluster)
    path = cluster.models[ORDERS].shuns = cluster.path_of()
    assert (await judge(cluster)).outcome is Outcome.RECOVERED, "no cordon holds"
    await cluster.cordon(path)
    assert (await judge(cluster)).reason == f"orders-0 is in {path}, which is cordoned"


async def test_a_journal_that_gives_another_state_is_noticed(cluster: MatrixCluster) -> None:
    await filled(cluster)
    (drive,) = cluster.sim.controller.drives.values()
    lines = drive.disk.memory.read_file(JOURNAL_FILE).splitlines(keepends=True)
    drive.disk.memory.write_file(JOURNAL_FILE, b"".join(lines[:-1]))
    verdict = await judge(cluster)
    assert verdict.outcome is Outcome.LOST
    assert verdict.reason.startswith("journal: the journal replays to another state: only decided")


async def test_what_a_checker_finds_is_lost(cluster: MatrixCluster) -> None:
    """An order is not as it was answered; here somebody of whom nobody knows gave another one."""
    await filled(cluster)
    wishes = ({"retention.bytes": "5"}, {"retention.bytes": "6"})
    stranger = Admin(cluster.client, History(lambda: cluster.loop.now_us))
    for admin, wish in zip((cluster.admin, stranger), wishes, strict=True):
        await admin.alter_configs(ResourceType.TOPIC, ORDERS.topic, wish)
    cluster.models[ORDERS].configs = wishes[1]
    verdict = await judge(cluster)
    assert verdict.outcome is Outcome.LOST
    assert verdict.reason == "orders: topic orders has retention.bytes 6, and 5 was ordered"


async def test_a_node_that_was_asked_to_end_is_started(cluster: MatrixCluster) -> None:
    await filled(cluster)
    cluster.victim = cluster.sim.brokers[2]
    cluster.subject.ask_to_end()
    assert (await judge(cluster)).outcome is Outcome.RECOVERED
    assert cluster.subject.starts_count == 2


async def test_a_second_current_log_is_noticed(cluster: MatrixCluster) -> None:
    await filled(cluster)
    cluster.victim.drives[cluster.other_path()].disk.memory.make_dir(str(ORDERS))
    verdict = await judge(cluster)
    assert verdict.outcome is Outcome.OFFLINE
    assert "orders-0 is in" in verdict.reason


async def test_a_replica_that_differs_is_noticed(cluster: MatrixCluster) -> None:
    await filled(cluster)
    memory = cluster.victim.drives[cluster.path_of()].disk.memory
    name = f"{ORDERS}/{0:020}.log"
    memory.write_file(name, memory.read_file(name)[:-1])
    verdict = await judge(cluster)
    assert verdict.outcome is Outcome.OFFLINE
    assert "logs end at" in verdict.reason


async def test_a_broker_that_does_not_start_is_refused(cluster: MatrixCluster) -> None:
    await filled(cluster)
    cluster.victim.kill()
    for drive in cluster.victim.drives.values():
        drive.disk.memory.make_dir("nobody's directory")
    cluster.victim.start()
    verdict = await judge(cluster)
    assert verdict.outcome is Outcome.REFUSED
    assert "nobody's directory" in verdict.reason
