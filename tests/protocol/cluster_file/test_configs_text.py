"""Configurations are text for Kafka, whatever YAML makes of them."""

from protocol.cluster_file.configs_text import config_text


def test_values_are_as_kafka_writes_them_and_nothing_is_left_out_but_null() -> None:
    found = config_text({"a": True, "b": False, "c": 2, "d": 0.5, "e": "x", "f": None})
    assert found == {"a": "true", "b": "false", "c": "2", "d": "0.5", "e": "x"}
