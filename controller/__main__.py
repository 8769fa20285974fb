"""``python -m controller --config cluster.yaml``: the controller process on uvloop.

It reads the command line and ends the process; ``controller.app`` does the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import SystemRandom

import uvloop

if __name__ == "__main__":
    # What is imported stays: looking for garbage among it would be a fifth of the start.
    gc.disable()

from controller.app import Controller, OtherJournalError, PortError, WrongClusterError
from controller.exit_codes import ExitCode
from controller.journal import Journal, JournalCorruptError, JournalFile, JournalInUseError
from controller.terms import Terms, cause_of
from protocol.cluster_file.spec import ClusterSpec, SpecError, ZookeeperSpec, load_cluster_spec
from protocol.metrics.rows import NO_RUN, RowOrigin
from protocol.metrics.writer import MetricWriter, NewRowWriter
from protocol.security.tls import SecurityConfigError
from protocol.security.zookeeper_tls import zookeeper_tls
from protocol.stack_dumps import tell_stacks
from protocol.transport.full_collections import FullCollections
from protocol.transport.heap_trim import trim_when_quiet
from protocol.zookeeper.znodes import MalformedZnode
from protocol.zookeeper_client.port import NotPermittedError, NoZookeeperError

_ADVICE = (
    "Keep its first {} lines (head -n), or restore a newer copy if there is one: the controller "
    "then learns from the brokers what is newer. Without either, remove it and start with "
    "--accept-new-journal: all topics are lost then"
)
_LOG_LEVELS = ("debug", "info", "warning", "error")
logger = logging.getLogger(__name__)


class SystemClock:
    """The machine's time of day."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the controller to its end and return the process' exit code."""
    options = _parse(arguments)
    try:
        spec = load_cluster_spec(options.config)
    except SpecError as error:
        return _fail(ExitCode.BAD_CONFIG, str(error))
    if spec.zookeeper is not None and not spec.stands_for_election:
        text = f"controller.id {spec.controller.id} is no broker of {options.config}"
        return _fail(ExitCode.BAD_CONFIG, f"{text}: set it to the one that stands for election")
    logging.basicConfig(
        stream=sys.stderr,
        level=options.log_level.upper(),
        format="%(asctime)s %(levelname)s controller %(name)s: %(message)s",
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(spec, options))
    except Exception as error:  # noqa: BLE001 - the process' last line of defence, told or logged
        return _explain(spec, error)
    return ExitCode.CLEAN


async def _run(spec: ClusterSpec, options: argparse.Namespace) -> None:
    origin = RowOrigin(cluster_id=spec.cluster_id, run_id=options.run_id)
    new_row_writer = partial(MetricWriter, origin=origin)
    if spec.zookeeper is not None:
        terms = _terms(spec, spec.zookeeper, new_row_writer)
        terms.row_origin = origin
        await _run_until_stopped(terms)
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal") as executor:
        journal = Journal(JournalFile(Path(spec.controller.data_dir)), executor)
        controller = Controller(
            spec, journal, SystemClock(), SystemRandom(), new_row_writer=new_row_writer
        )
        controller.accepts_other_journals = options.accept_new_journal
        controller.row_origin = origin
        controller.listening.add_done_callback(lambda _: FullCollections().begin())
        await _run_until_stopped(controller)


async def _run_until_stopped(running: Controller | Terms) -> None:
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, running.stop)
    trim_when_quiet()
    await running.run()


def _terms(spec: ClusterSpec, zookeeper: ZookeeperSpec, new_row_writer: NewRowWriter) -> Terms:
    from protocol.zookeeper_client.kazoo_client import KazooZookeeper  # noqa: PLC0415 - 20 ms

    connection = KazooZookeeper(
        zookeeper.connect,
        session_timeout_ms=zookeeper.session_timeout_ms,
        sets_acl=zookeeper.set_acl,
        login=(zookeeper.username, zookeeper.password),
        tls=zookeeper_tls(spec.broker(spec.controller.id).configs),
    )
    return Terms(spec, connection, SystemClock(), SystemRandom(), new_row_writer)


def _explain(spec: ClusterSpec, error: Exception) -> ExitCode:  # noqa: PLR0911 - one per end
    """Tell in one line what to do about the known ends; log the others with their traceback."""
    cause = cause_of(error)
    match cause:
        case PortError():
            return _fail(ExitCode.PORT_IN_USE, f"{cause}; set controller.port to a free one")
        case JournalInUseError():
            return _fail(ExitCode.DATA_DIR_IN_USE, f"{cause}; stop it first")
        case JournalCorruptError():
            return _fail(
                ExitCode.JOURNAL_CORRUPT,
                f"the journal is damaged: {cause}. {_ADVICE.format(cause.line_number - 1)}",
            )
        case OtherJournalError():
            return _fail(
                ExitCode.JOURNAL_NEW, f"{cause} (the journal is in {spec.controller.data_dir})"
            )
        case SecurityConfigError():
            return _fail(ExitCode.BAD_CONFIG, f"configs of the cluster file: {cause}")
        case MalformedZnode() | NotPermittedError() | NoZookeeperError():
            return _fail(ExitCode.BAD_CONFIG, f"this cluster cannot be led: {cause}")
        case WrongClusterError():
            return _fail(ExitCode.BAD_CONFIG, f"{cause}; see controller.data_dir")
        case OSError():
            text = f"the journal in {spec.controller.data_dir} cannot be used: {cause}"
            return _fail(ExitCode.JOURNAL_FAILED, text)
        case _:
            logger.error("the controller ended unexpectedly", exc_info=cause)
            return ExitCode.UNEXPECTED_ERROR


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    codes = "\n".join(f"  {code.value:3}  {code.name.lower()}" for code in ExitCode)
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Run the controller of a cluster.",
        epilog=f"exit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", required=True, metavar="FILE", help="the cluster file")
    parser.add_argument(
        "--accept-new-journal",
        action="store_true",
        help="begin with a new journal beside brokers that have data of another one: "
        "the topics of that one are lost",
    )
    parser.add_argument("--run-id", default=NO_RUN, help="this life of the cluster, in metric rows")
    parser.add_argument("--log-level", choices=_LOG_LEVELS, default="info")
    return parser.parse_args(arguments)


def _fail(code: ExitCode, text: str) -> ExitCode:
    sys.stderr.write(text + "\n")
    return code


if __name__ == "__main__":
    gc.enable()
    tell_stacks()
    sys.exit(main())
