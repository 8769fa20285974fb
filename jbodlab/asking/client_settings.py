"""Security as kafka-python takes it, and the file of ``--command-config``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from jbodlab.asking.java_properties import parse_properties
from jbodlab.errors import ExitCode, LabError
from protocol.security.client import ClientSecurity, security_by
from protocol.security.oauth import OAUTHBEARER
from protocol.security.tls import SecurityConfigError


def read_command_config(path: Path) -> ClientSecurity:
    """Return what a properties file of Kafka's clients says of security.

    Raises:
        LabError: USAGE: it cannot be read, or makes no sense.
    """
    try:
        properties = parse_properties(path.read_text(encoding="utf-8"))
        return security_by(properties, time.time_ns() // 1_000_000)
    except (OSError, UnicodeDecodeError, SecurityConfigError) as error:
        words = getattr(error, "strerror", None) or error
        raise LabError(ExitCode.USAGE, f"--command-config {path}: {words}") from error


# Any: kafka-python has no types.
def kafka_python_settings(security: ClientSecurity) -> dict[str, Any]:
    """Return keyword arguments for kafka-python's clients.

    Raises:
        LabError: USAGE for delegation tokens.
    """
    tls, login = security
    protocol = "PLAINTEXT" if tls is None else "SSL"
    settings: dict[str, Any] = {} if tls is None else {"ssl_context": tls}
    if login is not None and login.is_token:
        words = "a delegation token: this command's client, kafka-python, cannot log in by one"
        raise LabError(ExitCode.USAGE, f"{words}; use a password")
    if login is None:
        return {"security_protocol": protocol, **settings}
    protocol = f"SASL_{protocol}"
    if login.mechanism == OAUTHBEARER:
        # Loaded here: most commands need no kafka-python.
        from jbodlab.asking.bearer_token import BearerToken  # noqa: PLC0415

        provider = BearerToken(login.password)
        settings |= {"sasl_mechanism": OAUTHBEARER, "sasl_oauth_token_provider": provider}
    else:
        settings |= {
            "sasl_mechanism": login.mechanism,
            "sasl_plain_username": login.user,
            "sasl_plain_password": login.password,
        }
    return {"security_protocol": protocol, **settings}
