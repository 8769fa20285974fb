import json

from protocol.metrics.rows import FailoverEventRow, FailoverStep, RowOrigin
from protocol.metrics.topic import record_key, record_value
from protocol.metrics.writer import line_begins


def test_a_record_is_the_line_of_a_dump_under_the_name_of_its_table():
    row = FailoverEventRow(
        at_ms=5,
        node="broker-1",
        failure_id="f",
        step=FailoverStep.HEARTBEAT_SENT,
        topic_count=-1,
        partition_count=-1,
        detail="",
    )
    assert record_key(row) == b"failover_event/v2"
    value = json.loads(record_value(line_begins(RowOrigin(cluster_id="lab", run_id="r")), row))
    assert (value["cluster_id"], value["run_id"], value["seed"]) == ("lab", "r", -1)
    assert (value["at_ms"], value["step"]) == (5, "heartbeat_sent")
