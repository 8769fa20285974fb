"""What is read of a cluster of processes that does not run; of one that does: tests/integration."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controller.core.records import Record, TopicCreated
from controller.journal import Entry, encode_entry
from jbodlab.worlds.real_sampler import RealSampler
from protocol.cluster_file.spec import ClusterSpec, parse_cluster_spec
from protocol.faults.model import DiskFault, DiskMode
from simulation.core.observation import ObservedNode
from simulation.core.samples import Damage, SampleSource

CLUSTER = """
cluster_id: looked-at
controller: {port: 9000, data_dir: controller}
brokers:
  - {id: 1, port: 9001, log_dirs: [{path: b1/d1}, {path: b1/d2}]}
"""


class Looked:
    """A cluster whose processes are all in the same state."""

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        self.counted = 0
        self.state = ObservedNode(state="stopped")
        self.look = RealSampler(spec, lambda _: self.state, self._count, settled_within_ms=0)
        self.journal = Path(spec.controller.data_dir) / "journal.jsonl"
        self.d1, self.d2 = (each.path for each in spec.brokers[0].log_dirs)

    def write(self, *decisions: Record) -> None:
        """Put these decisions, and no others, into a new journal."""
        self.journal.parent.mkdir(exist_ok=True)
        new = self.journal.with_suffix(".tmp")
        lines = [encode_entry(Entry(i, i, [record])) for i, record in enumerate(decisions)]
        new.write_bytes(b"".join(lines))
        new.rename(self.journal)

    async def _count(self) -> None:
        self.counted += 1
        self.look.faults_hit({"fault": self.counted})


@pytest.fixture
async def looked(tmp_path: Path) -> AsyncIterator[Looked]:
    made = Looked(parse_cluster_spec(CLUSTER, base_dir=tmp_path, source="test"))
    yield made
    made.look.close()


def created(name: str) -> TopicCreated:
    return TopicCreated(name, name.encode().ljust(16), {}, ((1,),))


async def test_decisions_come_from_the_journal_also_when_it_is_replaced(looked: Looked) -> None:
    await looked.look.look()
    looked.write(created("a"))
    await looked.look.look()
    looked.write(created("a"), created("b"))
    await looked.look.look()

    assert [each.tp.topic for each in looked.look.samples.partitions] == ["a", "b"]


async def test_a_journal_that_cannot_be_replayed_is_a_difference(looked: Looked) -> None:
    looked.write(created("a"), created("b"))
    data = bytearray(looked.journal.read_bytes())
    data[20] ^= 1
    looked.journal.write_bytes(data)
    looked.state = ObservedNode(state="running")

    (sample,) = (await looked.look.finish()).journals

    assert sample.decided == ("a journal that can be replayed",)
    assert "line 1: the checksum does not match" in sample.replayed[0]


async def test_logs_of_brokers_that_are_down_are_told_by_name(looked: Looked) -> None:
    (Path(looked.d1) / "orders-0").mkdir(parents=True)

    samples = await looked.look.finish()

    assert [(each.log_dir, each.is_readable) for each in samples.logs] == [(looked.d1, False)]
    assert [each.node for each in samples.nodes] == ["controller", "broker-1"]
    assert SampleSource.LOGS in samples.sources
    assert SampleSource.CONNECTIONS not in samples.sources


async def test_a_fault_that_damages_what_it_meets_is_followed(looked: Looked) -> None:
    fault = DiskFault(mode=DiskMode.MISDIRECTED_WRITE, node="broker-1", log_dir=looked.d2)
    looked.look.fault_began("fault", fault)
    await looked.look.look()
    looked.look.fault_ended("fault")
    await looked.look.look()

    (damage,) = looked.look.samples.damages
    assert damage == Damage(damage.at_us, 1, looked.d2, "misdirected_write", is_lasting=True)
    (noted,) = looked.look.samples.faults
    assert (noted.node, noted.log_dir, noted.what) == ("broker-1", looked.d2, "misdirected_write")
    assert noted.end_us is not None


async def test_a_replaced_disk_is_a_fault_and_a_damage(looked: Looked) -> None:
    looked.look.replaced(1, looked.d2)

    (damage,) = looked.look.samples.damages
    (noted,) = looked.look.samples.faults
    assert (damage.broker, damage.log_dir, damage.is_lasting) == (1, looked.d2, False)
    assert (noted.node, noted.log_dir, noted.begin_us) == ("broker-1", looked.d2, noted.end_us)


async def test_a_fault_that_is_told_to_the_broker_damages_nothing(looked: Looked) -> None:
    looked.look.fault_began("fault", DiskFault(mode=DiskMode.EIO, node="broker-1"))
    await looked.look.look()

    assert (looked.counted, looked.look.samples.damages) == (0, [])


async def test_a_process_that_is_up_again_before_the_next_look_is_another_one(
    looked: Looked,
) -> None:
    looked.state = ObservedNode(state="running")
    looked.look.look_at_nodes()
    looked.state = ObservedNode(state="stopped")
    looked.look.look_at_nodes()
    looked.state = ObservedNode(state="running")
    await looked.look.look()

    nodes = looked.look.samples.nodes
    assert [(each.is_up, each.boot) for each in nodes if each.node == "broker-1"] == [
        (True, 0),
        (False, 1),
        (True, 1),
    ]
