"""The ``jbodlab`` command: gathers the commands and turns errors into one line and an exit code."""

from __future__ import annotations

from typing import Any

import click

from jbodlab.commands.decode import decode
from jbodlab.commands.demo import demo
from jbodlab.commands.dump_log import dump_log
from jbodlab.commands.faults import faults
from jbodlab.commands.lifecycle import brokers, down, status, up
from jbodlab.commands.log_dirs import log_dirs
from jbodlab.commands.reassignments import reassignments
from jbodlab.commands.rebalance import rebalance
from jbodlab.commands.report import report
from jbodlab.commands.scenario import scenario
from jbodlab.commands.simulate import simulate
from jbodlab.commands.swap_matrix import swap_matrix
from jbodlab.commands.topics import topics
from jbodlab.errors import ExitCode, LabError
from jbodlab.kafka_tools.configs import kafka_configs
from jbodlab.kafka_tools.leader_election import kafka_leader_election
from jbodlab.kafka_tools.log_dirs import kafka_log_dirs
from jbodlab.kafka_tools.reassign_partitions import kafka_reassign_partitions
from jbodlab.kafka_tools.topics import kafka_topics
from protocol.errors import KafkaError


class _OneLineErrors(click.Group):
    """Shows what went wrong on stderr, in words of the user's world, never as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LabError as error:
            _fail(ctx, error.exit_code, str(error))
        except KafkaError as error:
            _fail(ctx, ExitCode.FAILED, f"the cluster answers {error}")
        except BrokenPipeError:
            raise  # nobody reads on, as with `| head`; click ends quietly
        except OSError as error:
            _fail(
                ctx,
                ExitCode.NOT_RUNNING,
                f"the cluster does not answer ({error}): try `jbodlab status`, `jbodlab up`",
            )


@click.group(cls=_OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="jbodlab")
def main() -> None:
    """A Kafka cluster made to have its disks broken."""


def _fail(ctx: click.Context, code: ExitCode, message: str) -> None:
    click.echo(f"jbodlab: {message}", err=True)
    ctx.exit(code)


for command in (
    up,
    down,
    status,
    brokers,
    log_dirs,
    faults,
    topics,
    reassignments,
    rebalance,
    report,
    scenario,
    simulate,
    demo,
    decode,
    dump_log,
    swap_matrix,
    kafka_log_dirs,
    kafka_reassign_partitions,
    kafka_topics,
    kafka_leader_election,
    kafka_configs,
):
    main.add_command(command)
