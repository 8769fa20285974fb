"""The reference pages of the guide, made of the code itself, so that they say what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, IntEnum
from pathlib import Path
from typing import Final

from broker.exit_codes import ExitCode as BrokerExitCode
from broker.metrics import Metrics
from controller.exit_codes import ExitCode as ControllerExitCode
from jbodlab.errors import ExitCode
from protocol.configs.broker import BrokerConfig
from protocol.configs.group import GroupConfig
from protocol.configs.topic import TopicConfig
from protocol.configs.types import INT_MAX, LONG_MAX, ConfigKey, Update, format_value, keys_of
from protocol.faults.document import REQUEST_MATCH_KEYS, WORDS_OF_FIELDS, Mode, keys_of_mode
from protocol.faults.model import (
    DiskFault,
    DiskMode,
    FileClass,
    NetworkFault,
    NetworkMode,
    NodeFault,
    NodeMode,
    Operation,
)
from protocol.faults.requests import RequestFault, RequestMode
from tests.guide.commands import commands_page, escaped
from tests.guide.http_api import http_api_page
from tests.simulation.core.language import field_texts, table

FOLDER: Final = Path(__file__).parents[2] / "docs" / "guide" / "reference"
WRITTEN_BY: Final = "<!-- Written by `python -m tests.guide` from the code. -->"
_LARGEST: Final = {LONG_MAX: "2^63-1", INT_MAX: "2^31-1"}
_CHANGED: Final = {
    Update.READ_ONLY: "at a start",
    Update.PER_BROKER: "any time, for one broker",
    Update.CLUSTER_WIDE: "any time",
}


def faults_page() -> list[str]:
    """Return the parts of the page of faults."""
    kinds = (
        (DiskMode, "disks"),
        (NetworkMode, "networks"),
        (NodeMode, "nodes"),
        (RequestMode, "requests"),
    )
    parts = [
        "# Fault modes and keys",
        "A fault is a mapping of these keys: in `cluster.yaml`, in a scenario file, in "
        "`jbodlab faults add`, over the control endpoint. [Faults](../../faults.md) tells what "
        "Kafka's rules make of each. Beside its own keys every mode of disks takes those that say "
        "what it meets: `node` or `broker`, `log_dir`, `operations`, `files`, `name`, `nth`, "
        "`from_nth`, `times`, `probability`. Every mode of requests takes "
        f"{', '.join(f'`{key}`' for key in REQUEST_MATCH_KEYS)}.",
    ]
    for kind, title in kinds:
        rows = [(f"`{mode.value}`", *_of_mode(mode)) for mode in kind]
        parts += [f"## Modes of {title}", table(("mode", "does", "its keys"), rows)]
    rows = [
        (f"`{WORDS_OF_FIELDS.get(name, name)}`", escaped(text))
        for fault in (DiskFault, NetworkFault, NodeFault, RequestFault)
        for name, text in field_texts(fault).items()
    ]
    parts += ["## What keys mean", table(("key", "meaning"), list(dict.fromkeys(rows)))]
    for words, title in ((Operation, "Operations"), (FileClass, "Files")):
        texts = field_texts(words)
        rows = [(f"`{each.value}`", escaped(texts.get(each.name, ""))) for each in words]
        parts += [f"## {title}", table(("word", "meaning"), rows)]
    return parts


def _of_mode(mode: Mode) -> tuple[str, str]:
    keys = keys_of_mode(mode)
    if isinstance(mode, RequestMode):
        needed = [f"`{key}` (needed)" for key in mode.row.needed]
        others = [f"`{key}`" for key in mode.row.keys if key not in mode.row.needed]
        return escaped(f"{mode.row.told}."), ", ".join([*needed, *others])
    words = [f"`{word}`" + (" (needed)" if word in keys.needed else "") for word in keys.allowed]
    if not isinstance(mode, DiskMode):
        return escaped(field_texts(type(mode))[mode.name]), ", ".join(words)
    own = ", ".join(f"`{word}`" for word in mode.row.keys)
    refusal = f" Real processes refuse it: {mode.row.refusal}." if mode.row.refusal else ""
    return escaped(f"{mode.row.told}.{refusal}"), own


def configs_page() -> list[str]:
    """Return the parts of the page of configurations."""
    return [
        "# Configurations",
        "Keys and defaults are those of Apache Kafka; keys that begin with `jbodlab.` are ours. "
        "`jbodlab kafka-configs` shows and changes them; `configs:` in `cluster.yaml` sets those "
        "of brokers before a start.",
        "## Of a broker",
        table(
            ("key", "type", "default", "can be changed", "meaning"),
            [(*_of_key(each), _CHANGED[each.update], escaped(each.doc)) for each in _broker_keys()],
        ),
        "## Of a topic",
        "What a topic leaves unset its broker's key says.",
        table(
            ("key", "type", "default", "the broker's key", "meaning"),
            [
                (
                    *_of_key(each),
                    ", ".join(f"`{synonym.name}`" for synonym in each.synonyms),
                    escaped(each.doc),
                )
                for each in keys_of(TopicConfig).values()
            ],
        ),
        "## Of a group",
        table(
            ("key", "type", "default", "meaning"),
            [(*_of_key(each), escaped(each.doc)) for each in keys_of(GroupConfig).values()],
        ),
    ]


def _broker_keys() -> Iterator[ConfigKey]:
    """Return them sorted: a table of two hundred is searched by name."""
    yield from sorted(keys_of(BrokerConfig).values(), key=lambda each: each.name)


def _of_key(column: ConfigKey) -> tuple[str, str, str]:
    default = column.default
    text = _LARGEST.get(default) if isinstance(default, int) else None
    shown = text or format_value(default)
    return (
        f"`{column.name}`",
        column.type.name.lower(),
        "none" if shown is None else f"`{shown}`" if shown else "empty",
    )


def metrics_page() -> list[str]:
    """Return the parts of the page of metrics."""
    rows = [
        (
            f"`{family.name}`",
            family.kind,
            ", ".join(f"`{label}`" for label in family.label_names),
            escaped(family.help),
        )
        for family in Metrics(1).families()
    ]
    return [
        "# Metrics",
        "Each broker's control port answers `GET /metrics` in Prometheus' text format. Names that "
        "begin with `kafka_` are those that the usual JMX exporters give Kafka's MBeans; "
        "`jbodlab_` marks ours.",
        table(("name", "kind", "labels", "meaning"), rows),
        "While a broker loads the logs of a log dir, it also shows what remains, by `dir`: "
        "`kafka_log_logmanager_remaininglogstorecover` and "
        "`kafka_log_logmanager_remainingsegmentstorecover`.",
    ]


def exit_codes_page() -> list[str]:
    """Return the parts of the page of exit codes."""
    parts = [
        "# Exit codes",
        "Scripts may rely on these numbers. A process of a cluster that ends is told by "
        "`jbodlab up` and `jbodlab status` with its number.",
    ]
    of_whom: list[tuple[str, type[IntEnum]]] = [
        ("`jbodlab`", ExitCode),
        ("a broker's process", BrokerExitCode),
        ("the controller's process", ControllerExitCode),
    ]
    for title, codes in of_whom:
        parts += [f"## Of {title}", table(("code", "name", "meaning"), list(_of_codes(codes)))]
    return parts


def _of_codes(codes: type[IntEnum]) -> Iterator[tuple[str, str, str]]:
    texts = field_texts(codes)
    for code in codes:
        yield str(code.value), code.name, escaped(texts.get(code.name, _unsaid(code)))


def _unsaid(code: Enum) -> str:
    """Return what the one code without words means."""
    return "All went well." if code.value == 0 else ""


PAGES: Final[dict[str, Callable[[], list[str]]]] = {
    "commands.md": commands_page,
    "http-api.md": http_api_page,
    "faults.md": faults_page,
    "configs.md": configs_page,
    "metrics.md": metrics_page,
    "exit-codes.md": exit_codes_page,
}


def page(name: str) -> str:
    """Return the text of a page."""
    title, *rest = PAGES[name]()
    return "\n\n".join([title, WRITTEN_BY, *rest]) + "\n"
