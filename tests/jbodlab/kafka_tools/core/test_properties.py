"""What connections take from properties files."""

from __future__ import annotations

from jbodlab.kafka_tools.core.properties import client_settings


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
