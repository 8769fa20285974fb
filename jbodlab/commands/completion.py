"""What a shell is told when somebody presses Tab: log dirs, topics, brokers, scenarios.

It is quick and quiet: what cannot be found out is left out, and no mistake is told.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import LabError
from protocol.cluster_file.spec import ClusterSpec, SpecError, load_cluster_spec, spec_file
from protocol.errors import KafkaError

TIMEOUT_MS: Final = 1_000
"""How long a cluster may take to name its topics before those of its file have to do."""
Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_log_dirs(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete paths of log dirs as the cluster file names them."""
    file, spec = _spec(ctx)
    if spec is None:
        return []
    return _beginning(
        incomplete,
        (
            (_short(log_dir.path, file), f"broker {b.id}")
            for b in spec.brokers
            for log_dir in b.log_dirs
        ),
    )


def complete_topics(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the topics that there are; of a cluster that does not run, those of its file."""
    _, spec = _spec(ctx)
    if spec is None:
        return []
    names = {each.name for each in spec.topics}
    with suppress(LabError, OSError, KafkaError):
        names |= _topics_there(spec)
    return _beginning(incomplete, ((name, "") for name in sorted(names)))


def complete_brokers(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the ids of brokers."""
    _, spec = _spec(ctx)
    brokers = () if spec is None else spec.brokers
    return _beginning(incomplete, ((str(each.id), "") for each in brokers))


def complete_scenarios(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete scenarios that come with jbodlab, and files."""
    from jbodlab.worlds.scenario_files import shipped_files  # noqa: PLC0415 - quick for others

    named = _beginning(incomplete, ((file.stem, "") for file in shipped_files()))
    return named or [CompletionItem(incomplete, type="file")]


def _spec(ctx: click.Context) -> tuple[Path, ClusterSpec | None]:
    file = Path(ctx.params.get("config_path") or "cluster.yaml")
    with suppress(SpecError, OSError):
        return spec_file(file), load_cluster_spec(file)
    return file, None


def _short(path: str, file: Path) -> str:
    return path.removeprefix(f"{file.parent}/")


def _topics_there(spec: ClusterSpec) -> set[str]:
    """Ask the first broker that listens; none is waited for."""
    for broker in spec.brokers:
        with socket.socket() as probe:
            probe.settimeout(TIMEOUT_MS / 1000)
            if probe.connect_ex((broker.advertised_host, broker.advertised_port)) != 0:
                continue
        with ClusterAdmin(spec, timeout_ms=TIMEOUT_MS) as admin:
            return {each.topic for each in admin.view(broker.id).partitions}
    return set()


def _beginning(incomplete: str, words: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    return [
        CompletionItem(word, help=words_of_help or None)
        for word, words_of_help in words
        if word.startswith(incomplete)
    ]
