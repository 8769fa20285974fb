# kafka-python has types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
"""The token as kafka-python sends it; that it lets in is in tests/integration."""

from __future__ import annotations

from kafka.net.sasl.oauth import SaslMechanismOAuth

from jbodlab.asking.bearer_token import BearerToken


def test_kafka_python_sends_the_token_without_extensions() -> None:
    mechanism = SaslMechanismOAuth(sasl_oauth_token_provider=BearerToken("a.b.c"))
    assert mechanism.auth_bytes() == b"n,,\x01auth=Bearer a.b.c\x01\x01"
