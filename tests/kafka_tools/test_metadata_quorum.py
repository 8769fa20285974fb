"""kafka-metadata-quorum: the controller leads a quorum of its own, and brokers observe it."""

from __future__ import annotations

from tests.integration.labs import Lab
from tests.kafka_tools.tools import KafkaTools


def test_the_controller_is_the_only_voter(tools: KafkaTools, lab: Lab):
    printed = tools.run("kafka-metadata-quorum describe --status")
    assert (printed.code, printed.err) == (0, "")
    told = dict(line.split(":", maxsplit=1) for line in printed.lines)
    spec = lab.cluster.spec
    assert told["ClusterId"].strip() == spec.cluster_id
    assert told["LeaderId"].strip() == str(spec.controller.id)
    assert int(told["HighWatermark"]) > 0
    assert told["CurrentVoters"].strip().startswith(f'[{{"id": {spec.controller.id}')


def test_brokers_observe_and_are_as_far_as_they_have_heard(tools: KafkaTools, lab: Lab):
    printed = tools.run("kafka-metadata-quorum describe --replication")
    assert (printed.code, printed.err) == (0, "")
    leader, *observers = [line.split() for line in printed.lines[1:]]
    assert (leader[0], leader[-1]) == (str(lab.cluster.spec.controller.id), "Leader")
    assert {(row[0], row[-1]) for row in observers} == {
        (str(broker.id), "Observer") for broker in lab.cluster.spec.brokers
    }
    assert all(0 <= int(row[2]) <= int(leader[2]) for row in observers)
