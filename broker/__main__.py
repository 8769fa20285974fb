"""``python -m broker --config cluster.yaml --id 1``: one broker process on uvloop.

It reads the command line and ends the process; ``broker.app`` does the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import resource
import sys
from collections.abc import Sequence
from random import SystemRandom

import uvloop

if __name__ == "__main__":
    # What is imported stays: looking for garbage among it would be a fifth of the start.
    gc.disable()

from broker.app import StartupError, run_broker
from broker.exit_codes import ExitCode
from broker.world import real_world
from protocol.cluster_file.spec import ClusterSpec, SpecError, load_cluster_spec
from protocol.metrics.rows import NO_RUN, RowOrigin
from protocol.security.tls import SecurityConfigError
from protocol.stack_dumps import tell_stacks

_LOG_LEVELS = ("debug", "info", "warning", "error")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one broker to its end and return the process' exit code."""
    options = _parse(arguments)
    try:
        spec = load_cluster_spec(options.config)
        _check_id(spec, options.id, options.config)
        _configure_logging(options.id, options.log_level)
        _raise_open_files_limit()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_run(spec, options))
    except SpecError as error:
        return _fail(ExitCode.BAD_CONFIG, str(error))
    except SecurityConfigError as error:
        return _fail(ExitCode.BAD_CONFIG, f"{options.config}: broker {options.id}: {error}")
    except StartupError as error:
        return _fail(error.exit_code, f"broker {options.id}: {error}")
    except Exception:  # the process' last line of defence: say all that is known
        logging.getLogger(__name__).exception("broker %d ended unexpectedly", options.id)
        return ExitCode.UNEXPECTED_ERROR


async def _run(spec: ClusterSpec, options: argparse.Namespace) -> ExitCode:
    origin = RowOrigin(cluster_id=spec.cluster_id, run_id=options.run_id)
    return await run_broker(spec, options.id, real_world(SystemRandom(), origin))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    codes = "\n".join(f"  {code.value:3}  {code.name.lower()}" for code in ExitCode)
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Run one broker of a cluster.",
        epilog=f"exit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", required=True, metavar="FILE", help="the cluster file")
    parser.add_argument("--id", required=True, type=int, help="which broker of the file to run")
    parser.add_argument("--run-id", default=NO_RUN, help="this life of the cluster, in metric rows")
    parser.add_argument("--log-level", choices=_LOG_LEVELS, default="info")
    return parser.parse_args(arguments)


def _check_id(spec: ClusterSpec, broker_id: int, config: str) -> None:
    known = [broker.id for broker in spec.brokers]
    if broker_id not in known:
        raise StartupError(
            ExitCode.BAD_CONFIG,
            f"{config} names no such broker; use --id with one of {', '.join(map(str, known))}",
        )


def _configure_logging(broker_id: int, level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=level.upper(),
        format=f"%(asctime)s %(levelname)s broker-{broker_id} %(name)s: %(message)s",
    )


def _raise_open_files_limit() -> None:
    """Every segment keeps files open: use all that the system allows this user."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _fail(code: ExitCode, text: str) -> int:
    sys.stderr.write(text + "\n")
    return code


if __name__ == "__main__":
    gc.enable()
    tell_stacks()
    sys.exit(main())
