"""The command line of ``kafka-transactions``: its commands, their options, which go together.

Source: TransactionsCommand.java.
"""

from __future__ import annotations

from typing import Final

from jbodlab.kafka_tools.core.failures import UsageFailure
from jbodlab.kafka_tools.core.options import Option, Words

OPTIONS: Final = (
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("broker-id", "describe-producers, find-hanging: the replica to ask.", "id"),
    Option("command-config", "Properties file for the connection.", "file"),
    Option(
        "coordinator-epoch",
        "abort, for brokers before 3.0: of the coordinator that wrote last.",
        "epoch",
    ),
    Option("duration-filter", "list: only what is open for longer than so many ms.", "ms"),
    Option(
        "max-transaction-timeout",
        "find-hanging: minutes that a transaction may last; 15.",
        "minutes",
    ),
    Option("partition", "abort, describe-producers, find-hanging: the partition.", "number"),
    Option("producer-epoch", "abort, for brokers before 3.0: of the producer.", "epoch"),
    Option("producer-id", "abort, for brokers before 3.0: the producer.", "id"),
    Option("start-offset", "abort: where the transaction begins.", "offset"),
    Option("topic", "abort, describe-producers, find-hanging: the topic.", "name"),
    Option("transactional-id", "describe: the transactional id.", "id"),
    Option(
        "transactionalId",
        "forceTerminateTransaction (4.1): the transactional id; its producer is fenced.",
        "id",
    ),
    Option(
        "transactional-id-pattern",
        "list: only ids that this regular expression of RE2 matches as a whole (4.1).",
        "pattern",
    ),
)
_GENERAL: Final = ("bootstrap-server", "command-config", "json")
COMMANDS: Final = {
    "list": ("duration-filter", "transactional-id-pattern"),
    "describe": ("transactional-id",),
    "describe-producers": ("broker-id", "topic", "partition"),
    "abort": (
        *("topic", "partition", "start-offset"),
        *("producer-id", "producer-epoch", "coordinator-epoch"),
    ),
    "find-hanging": ("broker-id", "max-transaction-timeout", "topic", "partition"),
    "forceTerminateTransaction": ("transactionalId",),
}
"""With the options of each."""
_REQUIRED: Final = {
    "describe": ("transactional-id",),
    "describe-producers": ("topic", "partition"),
    "abort": ("topic", "partition"),
    "forceTerminateTransaction": ("transactionalId",),
}


def check_words(words: Words) -> str:
    """Check which options go together, and return the command.

    Raises:
        UsageFailure: one is missing or one too many.
    """
    if not words.has("bootstrap-server"):
        raise UsageFailure("argument --bootstrap-server is required")
    if not words.rest:
        raise UsageFailure("too few arguments")
    command, *more = words.rest
    if command not in COMMANDS:
        names = ", ".join(f"'{name}'" for name in COMMANDS)
        raise UsageFailure(f"invalid choice: '{command}' (choose from {names})")
    if more:
        raise UsageFailure(f"unrecognized arguments: '{more[0]}'")
    taken = (*_GENERAL, *COMMANDS[command])
    for option in words.given([each.name for each in OPTIONS]):
        if option not in taken:
            raise UsageFailure(f"unrecognized arguments: '--{option}'")
    for option in _REQUIRED.get(command, ()):
        if not words.has(option):
            raise UsageFailure(f"argument --{option} is required")
    return command


def unclear(command: str, words: Words) -> str:
    """Return what is said of a search or an abort that is not narrow enough; empty: it is."""
    if command == "find-hanging":
        if not words.given(("topic", "broker-id")):
            return (
                "The `find-hanging` command requires either --topic or --broker-id to limit the "
                "scope of the search"
            )
        if words.has("partition") and not words.has("topic"):
            return "The --partition argument requires --topic to be provided"
    if command == "abort" and not words.has("start-offset"):
        if not words.has("producer-id"):
            return (
                "The transaction to abort must be identified either with --start-offset (for "
                "brokers on 3.0 or above) or with --producer-id, --producer-epoch, and "
                "--coordinator-epoch (for older brokers)"
            )
        for option in ("producer-epoch", "coordinator-epoch"):
            if not words.has(option):
                return f"Missing required argument --{option}"
    return ""
