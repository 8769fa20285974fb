"""The command line of ``kafka-configs``: its options, whom they are about, and what they change.

Source: ConfigCommand.scala ConfigCommandOptions.checkArgs, parseConfigsToBeAdded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jbodlab.kafka_tools.core.failures import UsageFailure, illegal
from jbodlab.kafka_tools.core.json_fields import duplicates
from jbodlab.kafka_tools.core.options import Option, Words, check_forbidden, check_required
from protocol.client_quotas.entities import CLIENT_ID, IP, USER
from protocol.configs.types import ResourceType

OPTIONS: Final = (
    Option(
        "add-config",
        "Settings to make: k1=v1,k2=[a,b]. Brackets hold values with commas together.",
        "settings",
    ),
    Option("add-config-file", "Properties file with settings to make.", "file"),
    Option("all", "Describe all settings, not only dynamic ones."),
    Option("alter", "Change settings."),
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("broker", "A broker, by its id.", "id"),
    Option("broker-defaults", "All brokers."),
    Option("broker-logger", "The loggers of a broker, by its id.", "id"),
    Option("client", "Quotas of a client, by its id.", "id"),
    Option("client-defaults", "Quotas of all clients that have none of their own."),
    Option("command-config", "Properties file for the connection.", "file"),
    Option("delete-config", "Settings to take away: k1,k2.", "names"),
    Option("describe", "Show settings."),
    Option("entity-default", "All brokers, or the default of users, clients or ips."),
    Option("entity-name", "The topic's name, the broker's id, the user's name, ...", "name"),
    Option(
        "entity-type",
        "topics, brokers, broker-loggers, groups, users, clients or ips; users and clients may "
        "come together.",
        "type",
    ),
    Option("force", "Ask no questions. There are none."),
    Option("group", "A group, by its id.", "id"),
    Option("ip", "Quotas of an address.", "address"),
    Option("ip-defaults", "Quotas of all addresses that have none of their own."),
    Option("topic", "A topic, by its name.", "name"),
    Option("user", "Quotas and SCRAM credentials of a user.", "name"),
    Option("user-defaults", "Quotas of all users that have none of their own."),
)
TYPES: Final = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "broker-loggers": ResourceType.BROKER_LOGGER,
    "groups": ResourceType.GROUP,
}
KINDS: Final = {"users": USER, "clients": CLIENT_ID, "ips": IP}
"""Entity types that have quotas -> what quotas call them; ``client_words`` reads their words."""
NAMED_BY_BROKER_ID: Final = (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
"""What a broker is asked about itself."""
_SHORT_FORMS: Final = {
    "topic": "topics",
    "broker": "brokers",
    "broker-defaults": "brokers",
    "broker-logger": "broker-loggers",
    "group": "groups",
}
_LONG_FORMS: Final = ("entity-type", "entity-name", "entity-default")
_OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|$))"


@dataclass(frozen=True, slots=True)
class Entity:
    """Whom a command is about."""

    type: str
    """A key of ``TYPES``."""
    name: str | None
    """"" for all brokers, None for everything of the type."""

    @property
    def kind(self) -> ResourceType:
        """What the protocol calls it."""
        return TYPES[self.type]

    @property
    def singular(self) -> str:
        """The type's name for one."""
        return self.type[:-1]


@dataclass(frozen=True, slots=True)
class Changes:
    """What ``--alter`` changes."""

    added: Mapping[str, str]
    deleted: tuple[str, ...]


def check_action(words: Words) -> None:
    """Check that there is one action, and what goes with it.

    Raises:
        UsageFailure: there is none or more than one, or an option does not go with it.
    """
    if len(words.given(["alter", "describe"])) != 1:
        raise UsageFailure("Command must include exactly one action: --describe, --alter")
    check_required(words, ["bootstrap-server"])
    check_forbidden(words, "describe", ["add-config", "delete-config"])


def check_words(words: Words) -> Entity:
    """Return which topic, broker or group a command line is about.

    Raises:
        UsageFailure: as ``check_action``.
        ToolFailure: whom or what it is about makes no sense.
    """
    check_action(words)
    entity = _entity(words)
    if entity.name and entity.kind in NAMED_BY_BROKER_ID and not _is_id(entity.name):
        raise illegal(
            f"The entity name for {entity.type} must be a valid integer broker id, but it is: "
            f"{entity.name}"
        )
    if words.has("describe") and entity.type == "broker-loggers" and not entity.name:
        raise illegal("an entity name must be specified with --describe of broker-loggers")
    if words.has("describe") and entity.type == "groups" and entity.name == "":
        raise illegal("--entity-default must not be specified with --describe of groups")
    if words.has("alter"):
        check_alter(words, entity.type, entity.name, can_be_default=entity.type == "brokers")
    return entity


def parse_changes(words: Words, file: Mapping[str, str]) -> Changes:
    """Return what a command line changes.

    Args:
        words: the command line.
        file: the content of ``--add-config-file``.

    Raises:
        ToolFailure: a setting is not of the form key=value.
    """
    deleted = [name.strip() for word in words.values("delete-config") for name in word.split(",")]
    added = {**file, **parse_settings(words.value("add-config"))}
    return Changes(added, tuple(dict.fromkeys(name for name in deleted if name)))


def parse_settings(text: str) -> dict[str, str]:
    """Return the settings of ``k1=v1,k2=[a,b]``.

    Raises:
        ToolFailure: one is not of the form key=value.
    """
    if not text:
        return {}
    words = re.split(f",{_OUTSIDE_BRACKETS}", text)
    while words and not words[-1]:
        words.pop()
    pairs = [re.split(rf"\s*=\s*{_OUTSIDE_BRACKETS}", word) for word in words]
    if any(len(pair) != 2 for pair in pairs):
        raise illegal(
            "requirement failed: Invalid entity config: all configs to be added must be in the "
            'format "key=val".'
        )
    return {key.strip(): re.sub(r"[\[\]]", "", value).strip() for key, value in pairs}


def _entity(words: Words) -> Entity:
    short = words.given(list(_SHORT_FORMS))
    types = [*words.values("entity-type"), *(_SHORT_FORMS[name] for name in short)]
    twice = duplicates(types)
    if twice:
        raise illegal(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for found in types:
        if found not in TYPES:
            raise illegal(
                f"Invalid entity type {found}, the entity type must be one of "
                f"{', '.join((*TYPES, *KINDS))}"
            )
    if not types:
        raise illegal("At least one entity type must be specified")
    if len(types) > 1:
        raise illegal("Only 'users' and 'clients' entity types may be specified together")
    if short and words.given(_LONG_FORMS):
        raise illegal(
            "--entity-{type,name,default} should not be used in conjunction with specific entity "
            "flags"
        )
    return Entity(types[0], _name(words, short))


def _name(words: Words, short: list[str]) -> str | None:
    names = [name for option in ("entity-name", *short) for name in words.values(option)]
    if names:
        return names[0]
    return "" if words.given(["entity-default", "broker-defaults"]) else None


def check_alter(words: Words, of: str, name: str | None, *, can_be_default: bool) -> None:
    """Check what ``--alter`` needs: whom of a type, "" for its default, and a change.

    Raises:
        ToolFailure: it has not.
    """
    if can_be_default and name is None:
        raise illegal(
            "an entity-name or default entity must be specified with --alter of users, clients, "
            "brokers or ips"
        )
    if not can_be_default and not name:
        raise illegal(f"an entity name must be specified with --alter of {of}")
    if words.has("add-config") and words.has("add-config-file"):
        raise illegal("Only one of --add-config or --add-config-file must be specified")
    if not words.given(["add-config", "add-config-file", "delete-config"]):
        raise illegal(
            "At least one of --add-config, --add-config-file, or --delete-config must be "
            "specified with --alter"
        )


def _is_id(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit()
