"""Security in kafka-python's words, and files of ``--command-config``."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.asking.client_settings import kafka_python_settings, read_command_config
from jbodlab.errors import LabError
from protocol.security.client import OPEN


def test_a_login_is_put_in_kafka_pythons_words(tmp_path: Path) -> None:
    file = tmp_path / "alice.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        'sasl.jaas.config=x.PlainLoginModule required username="alice" password="sesame";\n'
    )
    assert kafka_python_settings(read_command_config(file)) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "sesame",
    }
    assert kafka_python_settings(OPEN) == {"security_protocol": "PLAINTEXT"}


def test_kafka_python_is_handed_a_token(tmp_path: Path) -> None:
    file = tmp_path / "alice.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.oauthbearer.token.endpoint.url={(tmp_path / 'token').as_uri()}\n"
    )
    (tmp_path / "token").write_text("a.b.c\n")
    settings = kafka_python_settings(read_command_config(file))
    assert settings["sasl_mechanism"] == "OAUTHBEARER"
    assert settings["sasl_oauth_token_provider"].token() == "a.b.c"


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "No such file"), ("security.protocol=SASL_SSL", "sasl.mechanism: must be one of")],
)
def test_a_file_that_makes_no_sense_is_named(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "bad.properties"
    if text is not None:
        file.write_text(text)
    with pytest.raises(LabError, match=f"--command-config .*bad.properties: {says}"):
        read_command_config(file)
