"""The ``jbodlab`` command: gathers the commands and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
from typing import Any, Final

import click

from jbodlab.commands.lazy_group import LazyGroup
from jbodlab.errors import BrokerAwayError, ExitCode, LabError
from protocol.errors import KafkaError

COMMANDS: Final = {
    "up": "jbodlab.commands.lifecycle:up",
    "down": "jbodlab.commands.lifecycle:down",
    "status": "jbodlab.commands.lifecycle:status",
    "brokers": "jbodlab.commands.lifecycle:brokers",
    "log-dirs": "jbodlab.commands.log_dirs:log_dirs",
    "faults": "jbodlab.commands.faults:faults",
    "topics": "jbodlab.commands.topics:topics",
    "reassignments": "jbodlab.commands.reassignments:reassignments",
    "rebalance": "jbodlab.commands.rebalance:rebalance",
    "report": "jbodlab.commands.report:report",
    "scenario": "jbodlab.commands.scenario:scenario",
    "simulate": "jbodlab.commands.simulate:simulate",
    "demo": "jbodlab.commands.demo:demo",
    "decode": "jbodlab.commands.decode:decode",
    "dump-log": "jbodlab.commands.dump_log:dump_log",
    "swap-matrix": "jbodlab.commands.swap_matrix:swap_matrix",
    "kafka-log-dirs": "jbodlab.kafka_tools.log_dirs:kafka_log_dirs",
    "kafka-reassign-partitions": (
        "jbodlab.kafka_tools.reassign_partitions:kafka_reassign_partitions"
    ),
    "kafka-topics": "jbodlab.kafka_tools.topics:kafka_topics",
    "kafka-leader-election": "jbodlab.kafka_tools.leader_election:kafka_leader_election",
    "kafka-configs": "jbodlab.kafka_tools.configs:kafka_configs",
}
"""Where each command is; a command's module is imported when it is asked for."""


class _OneLineErrors(LazyGroup):
    """Shows what went wrong on stderr, in words of the user's world, never as a traceback."""

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


@click.group(
    cls=_OneLineErrors,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="jbodlab")
def main() -> None:
    """A Kafka cluster made to have its disks broken."""


def _fail(ctx: click.Context, code: ExitCode, message: str) -> None:
    click.echo(f"jbodlab: {message}", err=True)
    ctx.exit(code)
