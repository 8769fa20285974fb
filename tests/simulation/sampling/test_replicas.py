"""What brokers say they hold, written down so that it can be compared."""

from __future__ import annotations

from typing import Any

from protocol.ids import TopicPartition, uuid_text
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.high_watermark import check_high_watermark
from simulation.core.checkers.leadership import check_leadership
from simulation.core.samples import ReplicaSample, Role, Samples
from simulation.sampling.logs import Holding
from simulation.sampling.replicas import ReplicaSampler

TP = TopicPartition("orders", 0)
BOTH = (1, 2)


def replica(role: str = "follower", **changed: Any) -> dict[str, Any]:
    row = {
        "topic": TP.topic,
        "partition": TP.partition,
        "topic_id": uuid_text(bytes(16)),
        "log_dir": "/d1",
        "future_log_dir": None,
        "role": role,
        "leader_epoch": 3,
        "isr": [1, 2] if role == "leader" else [],
        "log_start_offset": 0,
        "log_end_offset": 10,
        "high_watermark": 10,
    }
    return {**row, **changed}


def answer(
    *replicas: dict[str, Any], is_online: bool = True, depth: int = 0, pid: int = 7
) -> dict[str, Any]:
    is_gone = {"topic": TP.topic, "partition": TP.partition, "topic_id": uuid_text(bytes(16))}
    return {
        "pid": pid,
        "log_dirs": [
            {
                "path": "/d1",
                "is_online": is_online,
                "queue_depth": depth,
                "queue_depth_max": 4,
                "queued_bytes": 0,
                "is_cordoned": False,
            }
        ],
        "tail_bytes": 0,
        "tail_bytes_max": 100,
        "replicas": list(replicas),
        "offline_replicas": [] if is_online else [{**is_gone, "log_dir": "/d1"}],
    }


class Watched:
    """Two brokers, asked one after the other, look by look."""

    def __init__(self) -> None:
        self.samples = Samples()
        self.watches = {broker: ReplicaSampler(broker, self.samples) for broker in BOTH}
        self.now_us = 0

    def look(self, **answers: dict[str, Any]) -> list[ReplicaSample]:
        """Take in answers of ``b1`` and ``b2``, and return what was written of replicas."""
        before = len(self.samples.replicas)
        self.now_us += 100
        answered = [broker for broker in BOTH if f"b{broker}" in answers]
        for broker in answered:
            self.watches[broker].look(answers[f"b{broker}"], self.now_us, answered)
        return self.samples.replicas[before:]

    def complaints(self) -> list[str]:
        evidence = Evidence(history=[], samples=self.samples)
        found = [*check_high_watermark(evidence), *check_leadership(evidence)]
        return [violation.text for violation in found]


def test_a_replica_is_written_down_when_something_changed() -> None:
    watched = Watched()

    (made,) = watched.look(b2=answer(replica()))

    assert (made.tp, made.broker, made.role, made.log_dir) == (TP, 2, Role.FOLLOWER, "/d1")
    assert (made.boot, made.leader_epoch, made.log_end_offset) == (7, 3, 10)
    assert watched.look(b2=answer(replica())) == []
    assert [each.role for each in watched.look(b2=answer())] == [Role.GONE]
    assert watched.watches[2].holdings == {}


def test_what_a_broker_holds_is_as_it_said_last() -> None:
    watched = Watched()
    watched.look(b1=answer(replica("leader")), b2=answer(replica()))

    assert watched.watches[1].holdings == {TP: Holding("/d1", True, 10, 0)}
    assert watched.watches[1].led == {TP: (3, (1, 2))}
    assert watched.watches[1].online_log_dirs == {"/d1": None}
    watched.watches[1].gone(900)
    assert watched.watches[1].led == {}
    assert watched.samples.replicas[-1].role is Role.GONE


def test_a_high_watermark_is_held_against_log_ends_that_were_asked_for_later() -> None:
    watched = Watched()
    follower = answer(replica(log_end_offset=5, high_watermark=5))
    watched.look(b1=answer(replica("leader")), b2=follower)
    assert watched.complaints() == []  # The follower may have been asked before it had them.

    watched.look(b1=answer(replica("leader")), b2=follower)

    (told,) = watched.complaints()
    assert "is 10 on its leader 1" in told
    assert "broker 2 of its Isr has a log that ends at 5" in told


def test_a_broker_that_does_not_answer_is_not_blamed_for_what_it_said_before() -> None:
    watched = Watched()
    watched.look(b1=answer(replica("leader")), b2=answer(replica()))
    watched.look(b1=answer(replica("leader")), b2=answer(replica()))
    for end in (20, 30):
        leader = replica("leader", log_end_offset=end, high_watermark=end)
        watched.look(b1=answer(leader))

    assert watched.complaints() == []


def test_a_high_watermark_that_falls_is_seen() -> None:
    watched = Watched()
    for high_watermark in (10, 10, 4, 4):
        leader = replica("leader", high_watermark=high_watermark)
        watched.look(b1=answer(leader), b2=answer(replica()))

    (told,) = watched.complaints()
    assert "fell from 10 to 4 on broker 1" in told


def test_two_leaders_of_one_epoch_are_seen() -> None:
    watched = Watched()
    watched.look(b1=answer(replica("leader")), b2=answer(replica("leader")))

    (told,) = watched.complaints()
    assert "is led by broker 2" in told


def test_an_outage_lasts_from_the_first_to_the_last_look_that_saw_it() -> None:
    watched = Watched()
    watched.look(b1=answer(replica()))
    (offline,) = watched.look(b1=answer(is_online=False))
    watched.look(b1=answer(is_online=False))
    watched.look(b1=answer(replica()))

    assert (offline.role, offline.log_dir) == (Role.OFFLINE, "/d1")
    assert [(each.at_us, each.is_online) for each in watched.samples.log_dirs] == [
        (100, True),
        (200, False),
        (300, True),
    ]


def test_of_every_queue_the_most_is_kept() -> None:
    watched = Watched()
    for depth in (1, 9, 3):
        watched.look(b1=answer(depth=depth))

    jobs = [each for each in watched.samples.gauges if each.name == "jobs queued for /d1"]
    assert [(each.node, each.value, each.bound, each.at_us) for each in jobs] == [
        ("broker-1", 9, 8, 200)
    ]
    tails = [each for each in watched.samples.gauges if each.name == "bytes of tails"]
    assert [each.bound for each in tails] == [100]
