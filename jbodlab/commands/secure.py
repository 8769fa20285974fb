"""``up --secure``: the key in the cluster file, and the lines to paste."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.secure_files import CLIENTS_DIR
from protocol.cluster_file.secure import ADMIN_USER, secure_folder
from protocol.cluster_file.spec import ClusterSpec, SpecError, parse_cluster_spec

_KEY: Final = "secure: true\n"
_OFF: Final = re.compile(r"^secure:\s*false[ \t]*(?:#.*)?(?:\n|\Z)", re.MULTILINE)
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


def secure_cluster_file(cluster: Cluster) -> None:
    """Say ``secure: true`` in the file of a cluster that does not; nothing of it may run.

    Raises:
        LabError: BAD_CONFIG: the file holds what does not go with it. FAILED: something runs, whose
            listeners stay as they are.
    """
    if secure_folder(cluster.spec.configs) is not None:
        return
    running = [name for name in cluster.names if cluster.is_running(name)]
    if running:
        words = f"{', '.join(running)} run, and nothing is secured while it runs"
        raise LabError(ExitCode.FAILED, f"{words}: `jbodlab down`, then `jbodlab up --secure`")
    path = cluster.config_path
    text, is_replaced = _OFF.subn(_KEY, path.read_text(encoding="utf-8"))
    if not is_replaced:
        text = f"{text}{'' if text.endswith(chr(10)) else chr(10)}{_KEY}"
    try:
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
