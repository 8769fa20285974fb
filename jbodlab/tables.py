"""Views of the cluster as tables for the terminal. Asks nobody anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from jbodlab.asking.reassignments import ReassignmentProgress
from protocol.admin.cluster import PartitionView
from protocol.admin.log_dirs import LogDirView
from protocol.cluster_file.spec import MIB
from protocol.errors import ErrorCode


def log_dirs_table(
    views: Sequence[LogDirView],
    path_text: Callable[[str], str] = str,
    signs: Mapping[tuple[int, str], Sequence[str]] | None = None,
) -> Table:
    """Return the table of ``log-dirs describe``.

    Args:
        views: a row each.
        path_text: may shorten paths.
        signs: what is wrong with log dirs, by broker and path; a column when there is anything.
    """
    table = Table("broker", "log dir", "state", "used", "of", "replicas", "moving in")
    shown = {key: words for key, words in (signs or {}).items() if words}
    if shown:
        table.add_column("what is wrong")
    for view in views:
        used_bytes = sum(replica.size_bytes for replica in view.replicas)
        signs_of_row = [path_text(each) for each in shown.get((view.broker, view.path), ())]
        table.add_row(
            str(view.broker),
            path_text(view.path),
            _log_dir_state(view),
            f"{used_bytes / MIB:.1f} MiB" if view.is_online else "",
            f"{view.total_bytes / MIB:.0f} MiB" if view.total_bytes >= 0 else "",
            str(sum(not replica.is_future for replica in view.replicas)),
            str(sum(replica.is_future for replica in view.replicas)),
            *([escape("\n".join(signs_of_row))] if shown else []),
        )
    return table


def partitions_table(views: list[PartitionView]) -> Table:
    """Return the table of ``topics describe``."""
    table = Table("partition", "leader", "leader epoch", "replicas", "isr", "offline", "error")
    for view in views:
        table.add_row(
            f"{view.topic}-{view.partition}",
            str(view.leader) if view.leader >= 0 else "[red]none[/]",
            str(view.leader_epoch),
            _ids(view.replicas),
            _ids(view.isr),
            f"[red]{_ids(view.offline_replicas)}[/]" if view.offline_replicas else "",
            "" if view.error_code == 0 else ErrorCode(view.error_code).name,
        )
    return table


def reassignments_table(progress: list[ReassignmentProgress]) -> Table:
    """Return the table of ``reassignments list``."""
    table = Table("partition", "replicas", "adding", "removing", "copied", "rate", "time left")
    for each in progress:
        rate, left = each.bytes_per_second, each.seconds_left
        table.add_row(
            f"{each.topic}-{each.partition}",
            _ids(each.replicas),
            _ids(each.adding),
            _ids(each.removing),
            f"{each.copied_bytes / MIB:.1f} of {each.total_bytes / MIB:.1f} MiB",
            "" if rate is None else f"{rate / MIB:.1f} MiB/s",
            "" if left is None else f"{left:.0f} s",
        )
    return table


def _log_dir_state(view: LogDirView) -> str:
    if view.is_online:
        return "[green]online[/]"
    if view.error_code == ErrorCode.BROKER_NOT_AVAILABLE:
        return "[red]not known[/]"
    return f"[red]offline[/] {ErrorCode(view.error_code).name}"


def _ids(brokers: tuple[int, ...]) -> str:
    return ", ".join(map(str, brokers))
