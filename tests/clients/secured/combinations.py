"""Each client by each protocol and mechanism: what is asked of it, and what the card says.

Files with passwords are the run's own and readable by nobody else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.secured_lab import (
    CA_FILE,
    MECHANISMS,
    OWN,
    PASSWORD,
    USER,
    SecuredLab,
    write_secured_lab,
)
from jbodlab.processes.cluster import Cluster, running
from protocol.security.oauth import OAUTHBEARER, unsecured_token
from tests.clients.builds import JVM_FLAGS, NotRunError, build, java_program, node_program, tool

FOLDER: Final = Path(__file__).parent
TOPIC: Final = "orders"
WRITTEN: Final = f"{TOPIC}-0"
"""What each program prints last."""
PASSED: Final = "passed"
_DEADLINE_S: Final = 120
_TOKEN_S: Final = 3_600
_MODULES: Final = "org.apache.kafka.common.security"
_JAAS: Final = {
    "PLAIN": f"{_MODULES}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule",
    OAUTHBEARER: f"{_MODULES}.oauthbearer.OAuthBearerLoginModule",
}


class Way(NamedTuple):
    """How a client comes in."""

    protocol: str
    mechanism: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


WAYS: Final = (
    Way("PLAINTEXT"),
    Way("SSL"),
    *(Way(each, mechanism) for each in ("SASL_PLAINTEXT", "SASL_SSL") for mechanism in MECHANISMS),
)
QUICK: Final = (Way("SASL_SSL", "SCRAM-SHA-512"),)


class Told(NamedTuple):
    """How one client did by one way."""

    client: str
    way: Way
    text: str
    """``PASSED``, or why not."""
    is_run: bool = True


def outcomes(clients: Sequence[str], ways: Sequence[Way], build_dir: Path) -> Iterator[Told]:
    """Have each client write by each way, at a cluster of one broker with a listener for each."""
    with tempfile.TemporaryDirectory(prefix="jbodlab-secured-") as name:
        lab = write_secured_lab(Path(name), topics=[TOPIC])
        with running(Cluster(lab.file)):
            for client in clients:
                try:
                    command = CLIENTS[client](build_dir)
                except NotRunError as error:
                    yield from (
                        Told(client, way, f"not run: {error}", is_run=False) for way in ways
                    )
                    continue
                for way in ways:
                    file = _properties(lab, way) if client.startswith("Java") else _file(lab, way)
                    yield Told(client, way, _run([*command, str(file)]))


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_DEADLINE_S} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    said = lines[-1] if lines else f"nothing, and exit code {done.returncode}"
    return PASSED if (done.returncode, said) == (0, WRITTEN) else said


def asked_of(lab: SecuredLab, way: Way) -> dict[str, str]:
    """Return what a program is told; "" is what the way does not need."""
    is_tls, is_certified = way.protocol.endswith("SSL"), way.protocol == "SSL"
    is_token, now_s = way.mechanism == OAUTHBEARER, time.time_ns() // 1_000_000_000
    has_password = way.mechanism and not is_token
    ends_s = now_s + _TOKEN_S
    token = unsecured_token({"sub": USER, "iat": now_s, "exp": ends_s}) if is_token else ""
    return {
        "servers": lab.address(OWN if way.protocol == "PLAINTEXT" else way.protocol),
        "protocol": way.protocol,
        "mechanism": way.mechanism,
        "user": USER if has_password else "",
        "password": PASSWORD if has_password else "",
        "token": token,
        "token_ends_s": str(ends_s),
        "ca": str(lab.folder / CA_FILE) if is_tls else "",
        "certificate": str(lab.folder / f"{USER}.crt") if is_certified else "",
        "key": str(lab.folder / f"{USER}.key") if is_certified else "",
    }


def java_properties(lab: SecuredLab, way: Way) -> str:
    """Return what a Java client is told, as the text of its file."""
    asked = asked_of(lab, way)
    lines = [f"bootstrap.servers={asked['servers']}", f"security.protocol={way.protocol}"]
    if asked["ca"]:
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={asked['ca']}"]
    if asked["certificate"]:
        both = lab.folder / f"{USER}.pem"
        parts = [Path(asked[name]).read_text(encoding="utf-8") for name in ("key", "certificate")]
        _write_private(both, "".join(parts))
        lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={both}"]
    if way.mechanism:
        login = f'username="{asked["user"]}" password="{asked["password"]}"'
        if asked["token"]:
            login = f'unsecuredLoginStringClaim_sub="{USER}"'
        lines.append(f"sasl.mechanism={way.mechanism}")
        lines.append(f"sasl.jaas.config={_JAAS[way.mechanism]} required {login};")
    return "\n".join(lines) + "\n"


def _properties(lab: SecuredLab, way: Way) -> Path:
    return _write_private(lab.folder / "client.properties", java_properties(lab, way))


def _file(lab: SecuredLab, way: Way) -> Path:
    return _write_private(lab.folder / "client.json", json.dumps(asked_of(lab, way)))


def _write_private(file: Path, text: str) -> Path:
    """Write a file that nobody else may read, from its first byte on."""
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    return file


def _go(name: str, build_dir: Path) -> list[str]:
    folder = build_dir / f"ways-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("go.mod", "go.sum"):
        shutil.copy(FOLDER.parent / "go" / file, folder)
    shutil.copy(FOLDER / "ways" / name / "main.go", folder)
    build(tool("go"), "build", "-mod=mod", "-o", "program", ".", folder=folder)
    return [str(folder / "program")]


def _kafkajs(build_dir: Path) -> list[str]:
    node, main = node_program("kafkajs", build_dir)
    program = shutil.copy(FOLDER / "ways" / "kafkajs.js", Path(main).parent / "ways.js")
    return [node, str(program)]


def _java(release: str, build_dir: Path) -> list[str]:
    java_program(release, build_dir)
    libs = build_dir / f"java-{release}" / "libs" / "*"
    return [tool("java"), *JVM_FLAGS, "-cp", str(libs), str(FOLDER / "Secured.java")]


def _python(client: str, _build_dir: Path) -> list[str]:
    return [sys.executable, "-m", "tests.clients.secured.ways.python_clients", client]


CLIENTS: Final[dict[str, Callable[[Path], list[str]]]] = {
    "franz-go": partial(_go, "franz"),
    "sarama": partial(_go, "sarama"),
    "kafkajs": _kafkajs,
    "Java": partial(_java, "4.3.1"),
    "Java before 4": partial(_java, "3.9.2"),
    "confluent-kafka": partial(_python, "confluent-kafka"),
    "kafka-python": partial(_python, "kafka-python"),
    "aiokafka": partial(_python, "aiokafka"),
}
"""By the names of the report card: what takes the folder of what is fetched, returns a command."""
