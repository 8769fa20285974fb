# kafka-python's fixtures are in its source distribution alone, and have no types.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
"""A plugin of pytest for kafka-python's own tests: brokers of jbodlab where theirs would start.

It runs in a process of its own, in the folder of the source distribution. Their fixture starts an
Apache Kafka by its scripts; ours says that it runs already, and asks for topics with our tool.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

WHERE: Final = "JBODLAB_SECURED_LAB"
"""The environment variable with what ``described`` returns."""
PASSWORD: Final = "alice-secret"
"""What their fixture logs in with, as alice."""


def described(ports: dict[str, int], folder: Path) -> str:
    """Return what the plugin has to know: protocol -> port, and the folder with ``ca-cert``."""
    return json.dumps({"ports": ports, "folder": str(folder)})


def pytest_configure() -> None:
    """Have their fixture be ours before their tests are read."""
    if WHERE not in os.environ:
        return
    from test.integration import fixtures  # noqa: PLC0415 - only there in their folder

    where: dict[str, Any] = json.loads(os.environ[WHERE])
    theirs: Any = fixtures.KafkaFixture

    class Running(theirs):  # type: ignore[misc]
        """A broker of jbodlab, as their tests ask it."""

        def get_topic_names(self) -> list[str]:
            """List topics by the PLAINTEXT listener."""
            server = f"127.0.0.1:{where['ports']['PLAINTEXT']}"
            command = [sys.executable, "-m", "jbodlab", "kafka-topics", "--list"]
            done = subprocess.run(
                [*command, "--bootstrap-server", server], capture_output=True, text=True, check=True
            )
            return done.stdout.splitlines()

    def instance(_class: object, broker_id: int, **asked: Any) -> Any:
        transport = asked.get("transport", "PLAINTEXT")
        running = Running(
            "localhost",
            where["ports"][transport],
            broker_id,
            transport=transport,
            sasl_mechanism=asked.get("sasl_mechanism"),
            partitions=asked.get("partitions", 4),
            external=True,
        )
        running.ssl_dir = where["folder"]
        return running

    theirs.instance = classmethod(instance)
