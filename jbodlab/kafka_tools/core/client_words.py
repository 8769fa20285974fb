"""What ``kafka-configs`` is told and says of users, clients and addresses: quotas and credentials.

Source: ConfigCommand.scala alterConfig, describeQuotaConfigs (3.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from jbodlab.kafka_tools.core.config_words import KINDS, Changes, check_alter
from jbodlab.kafka_tools.core.failures import ToolFailure, illegal, java_class
from jbodlab.kafka_tools.core.options import Words
from protocol.client_quotas.entities import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
)
from protocol.errors import ErrorCode
from protocol.security.scram import HASHES, ITERATIONS_MIN

_FLAGS: Final = {"client": "clients", "user": "users", "ip": "ips"}
_LIMITS: Final = (
    PRODUCER_BYTE_RATE,
    CONSUMER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    CONTROLLER_MUTATION_RATE,
)
_BOTH: Final = {"users", "clients"}
_PASSWORD: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)
_NO_BROKER: Final = "using --bootstrap-server"
_SHOWN: Final = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}
_PLAIN_BELOW: Final = 1e7
_PLAIN_FROM: Final = 1e-3


class ClientEntities(NamedTuple):
    """Whom a command is about."""

    types: tuple[str, ...]
    """Keys of ``KINDS``; two are users and clients."""
    names: tuple[str, ...]
    """Of the types in their order, "" for the default; fewer than types: of all."""

    def pairs(self) -> list[tuple[str, str | None]]:
        """Return type and name as quotas have them, None for the default."""
        named = zip(self.types, self.names, strict=False)
        return [(KINDS[each], name or None) for each, name in named]


class Credential(NamedTuple):
    """What is to be stored of a user's password."""

    mechanism: str
    iterations: int
    password: str


def client_entities(words: Words, arguments: Sequence[str]) -> ClientEntities | None:
    """Return whom a command line is about; None: neither users nor clients nor addresses.

    Raises:
        ToolFailure: they do not go together.
    """
    short = [(flag, kind) for flag, kind in _FLAGS.items() if words.has(flag)]
    defaults = [(kind, "") for flag, kind in _FLAGS.items() if words.has(f"{flag}-defaults")]
    by_flag = [(kind, words.value(flag)) for flag, kind in short] + defaults
    types = [*words.values("entity-type"), *(kind for kind, _ in by_flag)]
    if not types or not {*types} <= {*KINDS}:
        return None
    if by_flag and words.given(("entity-type", "entity-name", "entity-default")):
        raise illegal(
            "--entity-{type,name,default} should not be used in conjunction with specific entity "
            "flags"
        )
    if len({*types}) < len(types):
        raise illegal(f"Duplicate entity type(s) specified: {','.join(sorted({*types}))}")
    if len(types) > 1 and {*types} != _BOTH:
        raise illegal("Only 'users' and 'clients' entity types may be specified together")
    names = [*_long_names(words, arguments), *(name for _, name in by_flag)]
    found = ClientEntities(tuple(types), tuple(names))
    if words.has("alter"):
        check_alter(words, types[0], names[0] if names else None, can_be_default=True)
    return found


def check_changes(entities: ClientEntities, changes: Changes) -> bool:
    """Check what is to be changed; tell whether it is SCRAM credentials, not quotas.

    Raises:
        ToolFailure: it cannot be changed so.
    """
    for verb, keys in (("added", [*changes.added]), ("deleted", [*changes.deleted])):
        scram = [key for key in keys if key in HASHES]
        limits = _LIMITS if "ips" not in entities.types else (CONNECTION_CREATION_RATE,)
        unknown = [key for key in keys if key not in (*limits, *HASHES)]
        if "ips" in entities.types and unknown + scram:
            names = ",".join(unknown + scram)
            raise _unexpected("connection quota configs can be added", "ips", names)
        if "clients" in entities.types and unknown + scram:
            names = _scala_list(unknown + scram)
            raise _unexpected(f"quota configs can be {verb}", "clients", names)
        if unknown:
            what = f"quota and SCRAM credential configs can be {verb}"
            raise _unexpected(what, "users", _scala_list(unknown))
    keys = (*changes.added, *changes.deleted)
    is_scram = any(key in HASHES for key in keys)
    if is_scram and "" in entities.names:
        raise illegal(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM "
            f"Credentials {_NO_BROKER}."
        )
    if is_scram and any(key not in HASHES for key in keys):
        raise illegal(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' "
            f"{_NO_BROKER}."
        )
    return is_scram


def limits_of(changes: Changes, stored: Mapping[str, float]) -> dict[str, float | None]:
    """Return the limits that change, None for one that goes.

    Raises:
        ToolFailure: one that goes is not there, or a value is no number.
    """
    gone = [key for key in changes.deleted if key not in stored]
    if gone:
        text = f"Invalid config(s): {','.join(gone)}"
        raise ToolFailure(java_class(ErrorCode.INVALID_CONFIG), text)
    found: dict[str, float | None] = dict.fromkeys(changes.deleted)
    for key, text in changes.added.items():
        try:
            found[key] = float(text)
        except ValueError:
            words = f"Cannot parse quota configuration value for {key}: {text}"
            raise illegal(words) from None
    return found


def credentials_of(changes: Changes) -> list[Credential]:
    """Return the credentials that are to be stored.

    Raises:
        ToolFailure: one has no password, or too few iterations.
    """
    found: list[Credential] = []
    for mechanism, text in changes.added.items():
        match = _PASSWORD.fullmatch(text)
        if match is None:
            raise illegal(f"Invalid credential property {mechanism}={text}")
        asked = match[1] or "-1"
        iterations = ITERATIONS_MIN if asked == "-1" else int(asked)
        if iterations < ITERATIONS_MIN:
            raise illegal(
                f"Iterations {iterations} is less than the minimum {ITERATIONS_MIN} required for "
                f"{mechanism}"
            )
        found.append(Credential(mechanism, iterations, match[2]))
    return found


def quota_line(entity: Mapping[str, str | None], limits: Mapping[str, float]) -> str:
    """Return the line about the limits of one entity."""
    whose = [
        f"the default {shown}" if entity[kind] is None else f"{shown} '{entity[kind]}'"
        for kind, shown in _SHOWN.items()
        if kind in entity
    ]
    told = ", ".join(f"{key}={java_double(limits[key])}" for key in sorted(limits))
    return f"Quota configs for {', '.join(whose)} are {told}"


def credential_line(user: str, credentials: Iterable[tuple[str, int]]) -> str:
    """Return the line about the stored credentials of one user."""
    told = ", ".join(f"{mechanism}=iterations={count}" for mechanism, count in credentials)
    return f"SCRAM credential configs for user-principal '{user}' are {told}"


def completed(entities: ClientEntities) -> str:
    """Return what is said when something was changed."""
    kind, name = entities.types[0], entities.names[0]
    if not name:
        return f"Completed updating default config for {kind} in the cluster."
    return f"Completed updating config for {kind[:-1]} {name}."


def java_double(value: float) -> str:
    """Return a number as Java writes a double."""
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(float(value))
    number = Decimal(repr(value)).normalize()
    digits = "".join(map(str, number.as_tuple().digits))
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{number.adjusted()}"


def _long_names(words: Words, arguments: Sequence[str]) -> list[str]:
    """Return what ``--entity-name`` and ``--entity-default`` say, in the order of the line."""
    named = iter(words.values("entity-name"))
    found: list[str] = []
    for word in arguments:
        option = word.partition("=")[0]
        if option == "--entity-name":
            found.append(next(named))
        elif option == "--entity-default":
            found.append("")
    return found


def _scala_list(names: Sequence[str]) -> str:
    return f"Set({', '.join(names)})"


def _unexpected(what: str, kind: str, names: str) -> ToolFailure:
    text = f"Only {what} for '{kind}' {_NO_BROKER}. Unexpected config names: {names}"
    return illegal(text)
