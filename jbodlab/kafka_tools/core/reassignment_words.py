"""The command line of ``kafka-reassign-partitions``: its options, and which go together.

Source: ReassignPartitionsCommand.java validateAndParseArgs.
"""

from __future__ import annotations

from typing import Final

from jbodlab.kafka_tools.core.failures import UsageFailure
from jbodlab.kafka_tools.core.options import Option, Words, check_required

OPTIONS: Final = (
    Option("additional", "Start this in addition to what is under way, or change its throttle."),
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("broker-list", 'With --generate: the brokers to use, as in "0,1,2".', "ids"),
    Option("cancel", "Take back the reassignments and moves of the file."),
    Option("command-config", "Properties file for the connection.", "file"),
    Option("disable-rack-aware", "Do not spread replicas over racks."),
    Option("execute", "Start what the file wants."),
    Option("generate", "Propose replicas for the topics of a file. Starts nothing."),
    Option("list", "List all reassignments under way."),
    Option("preserve-throttles", "Leave throttles as they are."),
    Option("reassignment-json-file", "What goes where; see --generate for the format.", "file"),
    Option(
        "replica-alter-log-dirs-throttle",
        "Bytes per second for moves between log dirs of a broker; -1 sets none.",
        "bytes per second",
    ),
    Option("throttle", "Bytes per second between brokers; -1 sets none.", "bytes per second"),
    Option("timeout", "How long moves between log dirs may take to begin; 10000.", "ms"),
    Option(
        "topics-to-move-json-file",
        'With --generate: {"topics": [{"topic": "a"}], "version": 1}',
        "file",
    ),
    Option("verify", "Tell how far the file's wishes are; take throttles off at the end."),
)
ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")
_REQUIRED: Final = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_ALSO_ALLOWED: Final = {
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
_ALWAYS_ALLOWED: Final = ("bootstrap-server", "command-config", *ACTIONS)


def check_words(words: Words) -> str:
    """Return the action of a command line.

    Raises:
        UsageFailure: there is none or more than one, an option is missing or does not go with it.
    """
    actions = words.given(ACTIONS)
    if len(actions) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageFailure(f"Command must include exactly one action: {listed}")
    (action,) = actions
    if not words.has("bootstrap-server"):
        raise UsageFailure("Please specify --bootstrap-server")
    check_required(words, _REQUIRED[action])
    allowed = (*_REQUIRED[action], *_ALSO_ALLOWED[action], *_ALWAYS_ALLOWED)
    for option in OPTIONS:
        if words.has(option.name) and option.name not in allowed:
            raise UsageFailure(f'Option "[{option.name}]" can\'t be used with action "[{action}]"')
    return action
