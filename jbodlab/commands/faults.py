"""``faults``: break disks, networks and requests by rules, see what the rules met, take them off.

The words are those of ``faults:`` in the cluster file; brokers carry them out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import click
import yaml
from rich.table import Table

from jbodlab.asking.fault_orders import fault_order
from jbodlab.commands.completion import complete_brokers
from jbodlab.commands.output import Lab, lab_command
from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.spec import BrokerSpec

_LISTS: Final = ("operations", "files", "apis")


@click.group(short_help="Break disks, networks and requests by rules.")
def faults() -> None:
    """Break disks, networks and requests of clients by rules: by what they meet, count, chance."""


@faults.command(
    short_help="Put a fault in force.", epilog="The modes and what each does: docs/faults.md."
)
@click.argument("words", nargs=-1, required=True, metavar="KEY=VALUE...")
@click.option("--id", "fault_id", help="Its name in `list` and `clear`; fault-1 and so on else.")
@lab_command
def add(lab: Lab, words: tuple[str, ...], fault_id: str | None) -> None:
    """Put a fault in force, with the keys that `faults:` has in the cluster file.

    \b
    The third and all later appends to logs of `orders` fail:
      jbodlab faults add mode=eio log_dir=data/b1/d1 operations=append files=log \\
          'name=orders-*' from_nth=3
    One fsync fails, and what was not durable is gone:
      jbodlab faults add mode=sync_failure log_dir=data/b1/d1 times=1
    A disk of 50 operations and a megabyte per second:
      jbodlab faults add mode=slow log_dir=data/b1/d1 operations_per_second=50 \\
          bytes_per_second=1000000
    Broker 2 hears nothing of broker 1, which still hears broker 2:
      jbodlab faults add mode=cut from=broker-1 to=broker-2 both_ways=false
    Broker 1 and the controller are 200 to 250 ms apart:
      jbodlab faults add mode=latency from=broker-1 to=controller latency_ms=200 jitter_ms=50
    Two produces to partition 0 of `orders` are answered with an error:
      jbodlab faults add mode=error broker=1 apis=Produce topic=orders partition=0 \\
          error_code=NOT_LEADER_OR_FOLLOWER times=2
    The same in Toxiproxy's words, for what it has:
      jbodlab faults add type=bandwidth broker=1 rate=100
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    broker, content = fault_order(lab.disks(), _content(words))
    named = {} if fault_id is None else {"id": fault_id}
    (added,) = lab.control(broker).add_faults([{**content, **named}])
    lab.emit(
        {"broker": broker.id, "id": added, "fault": content},
        f"broker {broker.id}: {added} is in force\n"
        f"next: `jbodlab faults list`, `jbodlab faults clear {added} --broker {broker.id}`",
    )


@faults.command("list", short_help="Show every fault and what it met.")
@click.option(
    "--broker", "broker_id", type=int, shell_complete=complete_brokers, help="Only this broker."
)
@lab_command
def list_faults(lab: Lab, broker_id: int | None) -> None:
    """Show every fault, how many operations it could have met, and how many it changed.

    One that never hit anything tested nothing.
    """
    rows = [
        {"broker": broker.id, **fault}
        for broker in _running(lab, broker_id)
        for fault in lab.control(broker).faults()
    ]
    lab.emit(rows, _table(rows, lab.short) if rows else "no broker has a fault")


@faults.command(short_help="Take faults off, some or all of them.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--broker", "broker_id", type=int, shell_complete=complete_brokers, help="Only this broker."
)
@lab_command
def clear(lab: Lab, ids: tuple[str, ...], broker_id: int | None) -> None:
    """Take faults off by their ids, or all of them; what hangs in one goes on.

    \b
    Everything is whole again:
      jbodlab faults clear
    One fault of one broker:
      jbodlab faults clear fault-1 --broker 1
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    brokers = _running(lab, broker_id)
    cleared: list[dict[str, Any]] = []
    for broker, chosen in _chosen(lab, brokers, ids):
        rows = lab.control(broker).clear_faults(chosen)
        cleared += [{"broker": broker.id, **row} for row in rows]
    lab.emit(cleared, _table(cleared, lab.short) if cleared else "no fault was in force")


@faults.command(short_help="Let requests go on that a fault holds.")
@click.argument("fault_id", metavar="ID")
@click.option(
    "--broker",
    "broker_id",
    type=int,
    shell_complete=complete_brokers,
    help="Whose fault it is, if several have it.",
)
@click.option("--count", type=click.IntRange(min=1), help="Only the first that wait.")
@lab_command
def release(lab: Lab, fault_id: str, broker_id: int | None, count: int | None) -> None:
    """Let requests go on that a fault of mode hold holds; later ones are held again.

    \b
    Produces wait at broker 1, and go on one by one:
      jbodlab faults add mode=hold broker=1 apis=Produce --id barrier
      jbodlab faults release barrier --count 1
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    ((broker, _),) = _chosen(lab, _running(lab, broker_id), (fault_id,))
    released = lab.control(broker).release(fault_id, count)
    told = {"broker": broker.id, "id": fault_id, "released": released}
    lab.emit(told, f"broker {broker.id}: {released} requests went on")


@faults.command(short_help="Show the requests that observers saw.")
@click.argument("fault_id", metavar="[ID]", required=False)
@click.option(
    "--broker", "broker_id", type=int, shell_complete=complete_brokers, help="Only this broker."
)
@lab_command
def passed(lab: Lab, fault_id: str | None, broker_id: int | None) -> None:
    """Show the newest requests of clients that faults of mode observe saw, with their answers.

    \b
    What a client asks broker 1:
      jbodlab faults add mode=observe broker=1 client_id='my-*'
      jbodlab faults passed
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    rows = [
        {"broker": broker.id, "id": each, **request}
        for broker in _running(lab, broker_id)
        for each, requests in lab.control(broker).passed().items()
        if fault_id in (None, each)
        for request in requests
    ]
    lab.emit(rows, _passed_table(rows) if rows else "no observer saw a request")


def _passed_table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table("broker", "id", "client", "request", "of", "bytes", "errors")
    for row in rows:
        asked, sizes = (
            f"{row['api']} v{row['version']}",
            (row["request_bytes"], row["answer_bytes"]),
        )
        words = (asked, " ".join(row["parts"]), "{} -> {}".format(*sizes), " ".join(row["errors"]))
        table.add_row(str(row["broker"]), row["id"], row["client_id"], *words)
    return table


def _content(words: Sequence[str]) -> dict[str, Any]:
    """Turn ``key=value`` words into what the cluster file would hold."""
    content: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise click.UsageError(f"{word!r} is not key=value, as in mode=eio")
        is_list = key in _LISTS and not text.startswith("[")
        try:
            content[key] = yaml.safe_load(f"[{text}]" if is_list else text)
        except yaml.YAMLError as error:
            raise click.UsageError(f"{word!r} has no value that can be read") from error
    return content


def _running(lab: Lab, broker_id: int | None) -> list[BrokerSpec]:
    """Return the brokers to ask; those that cannot answer are told about on stderr.

    Raises:
        LabError: NOT_RUNNING: none can, or the one that was named cannot.
    """
    layout = lab.disks()
    if broker_id is not None:
        lab.require_broker(broker_id)
        return [layout.broker(broker_id)]
    lab.require_running()
    return lab.awake_own()


def _chosen(
    lab: Lab, brokers: Sequence[BrokerSpec], ids: tuple[str, ...]
) -> list[tuple[BrokerSpec, list[str] | None]]:
    """Tell which ids to clear at which broker.

    Raises:
        LabError: an id is in force nowhere, or at several brokers.
    """
    if not ids:
        return [(broker, None) for broker in brokers]
    chosen: dict[int, list[str]] = {broker.id: [] for broker in brokers}
    in_force = {
        broker.id: [one["id"] for one in lab.control(broker).faults() if one["is_in_force"]]
        for broker in brokers
    }
    for each in ids:
        at = [broker_id for broker_id, known in in_force.items() if each in known]
        if len(at) != 1:
            where = f"at brokers {at}: say which with --broker" if at else "in force nowhere"
            raise LabError(ExitCode.FAILED, f"{each} is {where}")
        chosen[at[0]].append(each)
    return [(broker, chosen[broker.id]) for broker in brokers if chosen[broker.id]]


def _table(rows: Sequence[dict[str, Any]], path_text: Callable[[str], str]) -> Table:
    table = Table("broker", "id", "state", "matches", "hits", "rule")
    for row in rows:
        rule = " ".join(f"{key}={path_text(_word(value))}" for key, value in row["fault"].items())
        state = "[red]in force[/]" if row["is_in_force"] else "over"
        counts = (str(row["matches"]), str(row["hits"]))
        table.add_row(str(row["broker"]), row["id"], state, *counts, rule)
    return table


def _word(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(str(each) for each in cast("list[Any]", value))
    return str(value).lower() if isinstance(value, bool) else str(value)
