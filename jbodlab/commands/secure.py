"""``up --secure``: the key in the cluster file, and the lines to paste."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.secure_files import CLIENTS_DIR
from protocol.cluster_file.secure import ADMIN_USER, secure_folder
from protocol.cluster_file.spec import ClusterSpec, SpecError, load_cluster_spec, parse_cluster_spec

_KEY: Final = "secure: true\n"
_LINES: Final = (
    ("Java, Kafka's tools", "kafka-topics.sh --list --bootstrap-server {servers} "
     "--command-config {folder}/{user}.properties"),
    ("jbodlab elsewhere", "jbodlab topics list --bootstrap-server {servers} "
     "--command-config {folder}/{user}.properties"),
    ("librdkafka", "kcat -F {folder}/{user}.librdkafka.conf -L"),
    ("kafka-python", "from {user}_kafka_python import SETTINGS"),
    ("aiokafka", "from {user}_aiokafka import SETTINGS"),
    ("kafkajs", 'new Kafka(require("{folder}/{user}.kafkajs.js"))'),
    ("franz-go", "cp {folder}/{user}_franz.go .    # kgo.NewClient(Security()...)"),
    ("sarama", "cp {folder}/{user}_sarama.go .    # sarama.NewClient(Servers, Security())"),
)  # fmt: skip


def secure_cluster_file(path: Path) -> None:
    """Add ``secure: true`` to a cluster file that does not have it.

    Raises:
        LabError: BAD_CONFIG: it holds mistakes, or what does not go with it.
    """
    try:
        spec = load_cluster_spec(path)
        if secure_folder(spec.configs) is not None:
            return
        text = path.read_text(encoding="utf-8")
        text = f"{text}{'' if text.endswith(chr(10)) else chr(10)}{_KEY}"
        parse_cluster_spec(text, base_dir=path.parent, source=str(path))
    except SpecError as error:
        raise LabError(ExitCode.BAD_CONFIG, str(error)) from error
    path.write_text(text, encoding="utf-8")


def client_files_of(spec: ClusterSpec) -> Path | None:
    """Return the folder of client files; None where everybody may come in."""
    folder = secure_folder(spec.configs)
    return None if folder is None else Path(folder) / CLIENTS_DIR


def secured_words(spec: ClusterSpec, clients: Path) -> str:
    """Return what to paste, a line for each kind of client."""
    servers = ",".join(f"{each.advertised_host}:{each.advertised_port}" for each in spec.brokers)
    given = {"servers": servers, "folder": clients, "user": ADMIN_USER}
    lines = [f"  {kind:<20} {line.format_map(given)}" for kind, line in _LINES]
    return "\n".join(
        [
            "secured: SASL_SSL; `admin` may do everything, `alice` what ACLs allow; their files "
            f"are in {clients}",
            *lines,
            "",
        ]
    )
