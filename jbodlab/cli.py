"""The ``jbodlab`` command: gathers the commands and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
from typing import Any, Final

import click

from jbodlab.commands.lazy_group import LazyGroup
from jbodlab.errors import BrokerAwayError, ExitCode, LabError
from jbodlab.processes.interrupts import end_by_exit_code
from jbodlab.processes.launching import CAN_LAUNCH, launcher
from protocol.errors import KafkaError

COMMANDS: Final = {
    "init": ("jbodlab.commands.init:init", "Write a cluster file to begin with."),
    "up": ("jbodlab.commands.lifecycle:up", "Start what does not run, in the background."),
    "down": ("jbodlab.commands.lifecycle:down", "Stop everything cleanly; data stays on disk."),
    "status": ("jbodlab.commands.lifecycle:status", "Show processes, brokers and partitions."),
    "brokers": ("jbodlab.commands.lifecycle:brokers", "Start, stop, pause or kill one broker."),
    "log-dirs": ("jbodlab.commands.log_dirs:log_dirs", "See, break, heal log dirs; move replicas."),
    "faults": ("jbodlab.commands.faults:faults", "Break disks, networks and requests by rules."),
    "topics": ("jbodlab.commands.topics:topics", "List, create, fill, describe and delete topics."),
    "produce": (
        "jbodlab.commands.records:produce",
        "Write lines of standard input into a topic.",
    ),
    "consume": ("jbodlab.commands.records:consume", "Print the records of a topic."),
    "load": ("jbodlab.commands.records:load", "Write at a rate, then tell what was lost."),
    "reassignments": (
        "jbodlab.commands.reassignments:reassignments",
        "Watch and cancel reassignments.",
    ),
    "rebalance": (
        "jbodlab.commands.rebalance:rebalance",
        "Even out log dirs and brokers, or empty them.",
    ),
    "serve": ("jbodlab.commands.serve:serve_api", "Serve the HTTP API of the cluster."),
    "console": (
        "jbodlab.commands.serve:console",
        "Open a page that shows the disks and breaks them.",
    ),
    "report": ("jbodlab.commands.report:report", "Aggregate metric rows with Spark."),
    "scenario": ("jbodlab.commands.scenario:scenario", "Run written situations and judge them."),
    "simulate": ("jbodlab.commands.simulate:simulate", "Run a cluster and faults in one process."),
    "demo": ("jbodlab.commands.demo:demo", "Break a disk under load and watch."),
    "decode": ("jbodlab.commands.decode:decode", "Show requests and responses as JSON."),
    "dump-log": ("jbodlab.commands.dump_log:dump_log", "Show what is in the files of a log dir."),
    "swap-matrix": (
        "jbodlab.commands.swap_matrix:swap_matrix",
        "Crash nodes at every disk operation.",
    ),
    "conform": (
        "jbodlab.commands.conform:conform",
        "Judge a broker by what Kafka answers.",
    ),
    "kafka-log-dirs": (
        "jbodlab.kafka_tools.log_dirs:kafka_log_dirs",
        "Query what lies in the log dirs of brokers.",
    ),
    "kafka-reassign-partitions": (
        "jbodlab.kafka_tools.reassign_partitions:kafka_reassign_partitions",
        "Move replicas between brokers and log dirs.",
    ),
    "kafka-topics": (
        "jbodlab.kafka_tools.topics:kafka_topics",
        "Create, delete, describe, or change topics.",
    ),
    "kafka-leader-election": (
        "jbodlab.kafka_tools.leader_election:kafka_leader_election",
        "Have leaders of partitions elected.",
    ),
    "kafka-configs": (
        "jbodlab.kafka_tools.configs:kafka_configs",
        "Show, change settings of topics, brokers, groups.",
    ),
    "kafka-acls": (
        "jbodlab.kafka_tools.acls:kafka_acls",
        "Add, remove, or list ACLs: who may do what.",
    ),
    "kafka-delegation-tokens": (
        "jbodlab.kafka_tools.delegation_tokens:kafka_delegation_tokens",
        "Create, renew, expire, describe tokens.",
    ),
    "kafka-consumer-groups": (
        "jbodlab.kafka_tools.consumer_groups:kafka_consumer_groups",
        "List, describe, delete groups and reset offsets.",
    ),
    "kafka-transactions": (
        "jbodlab.kafka_tools.transactions:kafka_transactions",
        "Show transactions, find and end what hangs.",
    ),
}
"""Where each command is, and its line of the help: its module is imported when it is asked for.

In the order of the help: what a newcomer needs first, Kafka's own tools last.
"""


class _OneLineErrors(LazyGroup):
    """Shows what went wrong on stderr, in words of the user's world, never as a traceback."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if CAN_LAUNCH and args[0] == "up" and not {"-h", "--help"}.intersection(args):
            launcher()  # It loads what nodes need while this process loads the command.
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LabError as error:
            _fail(ctx, error.exit_code, str(error))
        except KafkaError as error:
            _fail(ctx, ExitCode.FAILED, f"the cluster answers {error}")
        except KeyboardInterrupt:
            _fail(ctx, ExitCode.INTERRUPTED, "interrupted")
        except BrokenPipeError:
            raise  # nobody reads on, as with `| head`; click ends quietly
        except BaseExceptionGroup as group:
            if group.split(BrokenPipeError)[1] is not None:
                raise
            raise BrokenPipeError(errno.EPIPE, "nobody reads on") from group
        except BrokerAwayError as error:
            _fail(ctx, ExitCode.NOT_RUNNING, f"{error}: see `jbodlab status`, `jbodlab brokers`")
        except OSError as error:
            _fail(
                ctx,
                ExitCode.NOT_RUNNING,
                f"the cluster does not answer ({error}): try `jbodlab status`, `jbodlab up`",
            )
        finally:
            end_by_exit_code()


@click.group(
    cls=_OneLineErrors,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="jbodlab")
def main() -> None:
    """A Kafka cluster made to have its disks broken.

    Begin with `jbodlab init` and `jbodlab up`, or with `jbodlab demo`; every command has --help.
    """


def _fail(ctx: click.Context, code: ExitCode, message: str) -> None:
    click.echo(f"jbodlab: {message}", err=True)
    ctx.exit(code)
