"""What a broker tells of its replicas to a controller that is behind."""

from __future__ import annotations

from pathlib import Path

from broker.reported_replicas import reported_topics
from tests.broker.fake_controller import FakeController
from tests.broker.one_broker import TOPIC_ID, cluster_spec, running


async def test_a_replica_is_told_with_its_leadership_and_the_end_of_its_log(
    tmp_path: Path, controller: FakeController
):
    async with running(cluster_spec(tmp_path, controller.port)) as started:
        await controller.until_heartbeats(1)
        await started.lead(0)
        engine = started.broker.broker_control.engine
        assert engine is not None

        (topic,) = reported_topics(engine.state)

        assert (topic.name, topic.topic_id) == ("orders", TOPIC_ID)
        (replica,) = topic.replicas
        assert (replica.leader, replica.leader_epoch, list(replica.isr)) == (1, 0, [1])
        assert replica.log_end_offset == 0
