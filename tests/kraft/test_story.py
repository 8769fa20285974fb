"""A broker of a KRaft quorum, as far as docs/kraft.md says it was tried out."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peer.kafka import PeerMissingError
from protocol.errors import ErrorCode
from tests.kraft.quorum import kraft_controller
from tests.kraft.story import BROKER, LOG_DIRS, TOPIC, story

NOT_ASSIGNED = (1).to_bytes(16)


@pytest.mark.integration
@pytest.mark.sampled_among("a quorum of Apache Kafka 4.3", kept=0)
def test_a_broker_registers_lives_takes_a_replica_and_loses_its_log_dir(tmp_path: Path) -> None:
    try:
        with kraft_controller(tmp_path) as client:
            steps = dict(story(client))
    except PeerMissingError as error:
        pytest.skip(str(error))

    code, epoch = steps["registration"]
    assert code == ErrorCode.NONE
    assert steps["first heartbeat, nothing read"].is_caught_up is False
    assert "metadata.version" in {level.name for level in steps["features"]}
    assert (steps["registered"].broker_id, steps["registered"].broker_epoch) == (BROKER, epoch)
    assert sorted(steps["registered"].log_dirs) == LOG_DIRS
    assert (steps["heartbeat, all read"].is_fenced, steps["unfenced"].fenced) == (False, -1)

    assert steps["topic created"] == ErrorCode.NONE
    assert steps["topic"].name == TOPIC
    assigned = steps["replica assigned"]
    assert (assigned.leader, assigned.directories) == (BROKER, [NOT_ASSIGNED])
    assert steps["log dir told"] == ErrorCode.NONE
    assert steps["log dir written"].directories == LOG_DIRS[:1]

    assert steps["log dirs left"].log_dirs == LOG_DIRS[1:]
    gone = steps["without a leader"]
    assert (gone.leader, list(gone.isr), gone.eligible_leader_replicas) == (-1, [], [BROKER])
