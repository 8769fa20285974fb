"""Properties files and what connections take from them."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.properties import client_settings, parse_properties


def test_a_properties_file_is_read_as_java_does():
    text = "# no\n! no\na=1\n b : 2 \nc 3\nd=x\\\n   y\ne\\=f=a\\tb\n\nempty\na=4\nlist=[1,2]=3\n"
    assert parse_properties(text) == {
        "a": "4",
        "b": "2 ",
        "c": "3",
        "d": "xy",
        "e=f": "a\tb",
        "empty": "",
        "list": "[1,2]=3",
    }


def test_the_command_line_says_where_and_the_file_how():
    properties = {
        "bootstrap.servers": "other:1",
        "client.id": "me",
        "request.timeout.ms": "5",
        "retries": "3",
    }
    settings = client_settings(properties, "here:1", "tool", (30, 60))
    assert (settings.bootstrap, settings.client_id) == ("here:1", "me")
    assert (settings.request_timeout_ms, settings.api_timeout_ms) == (5, 60)
    assert client_settings({}, "here:1", "tool", (30, 60)).client_id == "tool"


def test_only_plaintext_is_spoken():
    with pytest.raises(ToolFailure, match="SASL_SSL: jbodlab"):
        client_settings({"security.protocol": "sasl_ssl"}, "here:1", "tool", (30, 60))
