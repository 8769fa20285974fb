"""What a shell is told when somebody presses Tab: log dirs, topics, brokers.

It is quick and quiet: what cannot be found out is left out, and no mistake is told.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.lab_elsewhere import TOKEN_VARIABLE, LabApi, LabElsewhere
from jbodlab.asking.layout import Layout
from jbodlab.commands.scenario_names import beginning
from jbodlab.errors import LabError
from protocol.cluster_file.spec import SpecError, load_cluster_spec, spec_file
from protocol.errors import KafkaError

TIMEOUT_MS: Final = 1_000
"""How long a cluster may take to name its topics before those of its file have to do."""
Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_log_dirs(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete paths of log dirs as the cluster file names them."""
    layout = _layout(ctx)
    if layout is None:
        return []
    return beginning(
        incomplete,
        (
            (layout.short(log_dir.path), f"broker {b.id}")
            for b in layout.brokers
            for log_dir in b.log_dirs
        ),
    )


def complete_topics(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the topics that there are; of a cluster that does not run, those of its file."""
    layout = _layout(ctx)
    if layout is None:
        return []
    names = set(layout.topics) if isinstance(layout, _Written) else set[str]()
    with suppress(LabError, OSError, KafkaError):
        names |= _topics_there(layout)
    return beginning(incomplete, ((name, "") for name in sorted(names)))


def complete_brokers(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the ids of brokers."""
    layout = _layout(ctx)
    brokers = () if layout is None else layout.brokers
    return beginning(incomplete, ((str(each.id), "") for each in brokers))


class _Written(Layout):
    """The layout of a cluster file, and the topics that it names."""

    def __init__(self, file: Path) -> None:
        spec = load_cluster_spec(file)
        super().__init__(spec.all_brokers, spec_file(file))
        self.topics = [each.name for each in spec.topics]


def _layout(ctx: click.Context) -> Layout | None:
    """Return the layout of the lab behind ``--api``, or else of the cluster file."""
    api_url = ctx.params.get("api_url")
    with suppress(LabError, SpecError, OSError):
        if api_url is not None:
            token = os.environ.get(TOKEN_VARIABLE)
            return LabElsewhere(LabApi(api_url, token, timeout_s=TIMEOUT_MS / 1000))
        return _Written(Path(ctx.params.get("config_path") or "cluster.yaml"))
    return None


def _topics_there(layout: Layout) -> set[str]:
    """Ask the first broker that listens; none is waited for."""
    for broker in layout.brokers:
        with socket.socket() as probe:
            probe.settimeout(TIMEOUT_MS / 1000)
            if probe.connect_ex((broker.advertised_host, broker.advertised_port)) != 0:
                continue
        with ClusterAdmin(layout, timeout_ms=TIMEOUT_MS) as admin:
            return {each.topic for each in admin.view(broker.id).partitions}
    return set()
