"""What a case is: a pure generator that yields what is to be done and is sent what came of it.

A case never opens a socket: it yields a ``Step``, such as ``Talk``, and whoever runs it carries
that out and writes down every answer. What was written down is what two clusters are
compared by.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Form: TypeAlias = Mapping[str, Any]
"""A message in Kafka's JSON form (docs/wire.md); fields that its version lacks are left out."""

CLIENT_ID: Final = "conform"


@dataclass(frozen=True, slots=True)
class Node:
    """A broker by its id, as an answer told it."""

    id: int


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Whichever broker coordinates a group (key type 0) or a transaction (1)."""

    key: str
    key_type: int = 0


@dataclass(frozen=True, slots=True)
class As:
    """Who a connection logs in as, by SCRAM."""

    user: str
    password: str
    mechanism: str = "SCRAM-SHA-256"
    is_token: bool = False
    """Whether the user is a delegation token's id and the password its HMAC, as base64."""

    @property
    def principal(self) -> str:
        """Return who that is in an ACL; not for a token."""
        return f"User:{self.user}"


BARE: Final = As("", "")
"""Nobody logs in: the requests of a case are the first ones."""
CONTROLLER: Final = "controller"
"""The broker that takes requests for the controller."""
To: TypeAlias = int | str | Node | Coordinator
"""Who is asked: a number counts the brokers from 1 in the order of their ids."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, whole and well-formed unless ``alter`` says otherwise."""

    api: str
    version: int
    form: Form = field(default_factory=dict[str, Any])
    correlation_id: int | None = None
    """None: the runner numbers it."""
    client_id: str | None = CLIENT_ID
    alter: Callable[[bytes], bytes] | None = None
    """Changes the frame (header and body, without its size) before it is sent."""
    is_answered: bool = True
    """Whether an answer is waited for."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes for the stream as they are, with whatever size is in front of them."""

    data: bytes
    answered_as: tuple[str, int] | None = None
    """API and version of the answer that is waited for; None: none is."""
    correlation_id: int = 0
    """That the bytes carry."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Send requests in one go over one connection, then take their answers."""

    requests: Sequence[Request | Raw]
    to: To = 1
    connection: str = ""
    """Talks with the same word, to the same broker, share a connection."""
    is_seen: bool = True
    """Whether the answers are part of what is compared; a preparation's are if it goes wrong."""
    may_go_wrong: bool = False
    """A preparation's, whose answers hang on what nobody knows beforehand."""
    chunk_bytes: int = 0
    """Not 0: the bytes leave in pieces of this size."""
    is_mid_frame: bool = False
    """The stream ends within a frame: nothing can be asked by this connection any more."""
    at_end: str = ""
    """"close": our side of the connection is closed behind the bytes."""
    is_awaited: bool = True
    """False: ``Late`` takes the answers, which hang on what others do meanwhile."""
    who: As | None = None
    """Who asks; None: whoever judges."""


@dataclass(frozen=True, slots=True)
class Late:
    """Take the answers of the last talk of a connection that did not await them."""

    to: To = 1
    connection: str = ""


@dataclass(frozen=True, slots=True)
class Repeated:
    """Have a talk again and again until its answers are those that are waited for.

    Of all its answers only these are part of what is compared.
    """

    talk: Talk
    condition: Callable[[Sequence[Answer]], bool]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """Have a topic made, led by the first of ``replicas``; every broker knows it afterwards."""

    partitions: int = 1
    replicas: Sequence[int] = (1,)
    """Brokers, counted from 1; the same for all partitions."""
    configs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Until:
    """Ask again and again, unseen, until the answer is the one that is waited for."""

    request: Request
    condition: Callable[[Form], bool]
    to: To = 1


@dataclass(frozen=True, slots=True)
class NewUser:
    """Have a user made with a password; every broker lets it in afterwards."""

    word: str = "user"
    mechanism: str = "SCRAM-SHA-256"


@dataclass(frozen=True, slots=True)
class Allow:
    """Have ACLs made, of one principal; every broker decides by them afterwards."""

    who: As
    rows: Sequence[Form]
    """As in CreateAcls, without the principal."""


@dataclass(frozen=True, slots=True)
class LetIn:
    """Wait until every broker lets somebody in, or does not any more."""

    who: As
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that was made for a case."""

    name: str
    id: str
    """As JSON has it: base64 without padding."""


NO_TOPIC: Final = Topic("", "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came for one awaited request."""

    kind: str
    """"answer", "closed" (the connection), "silence", or "malformed"."""
    body: Form
    """Empty unless it is an answer."""
    after_ms: float = 0
    """How long after the requests were sent it came."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a case is told before it begins."""

    version: int
    suffix: str
    """Drawn for this run of this case; every name that it makes up has it."""
    brokers: Sequence[int] = ()
    """The ids of the cluster's brokers, in their order."""
    users: Mapping[str, As] = field(default_factory=dict[str, As])
    """Those that all cases of a run share, by what they may do; on a secured cluster only."""
    orders: Topic = NO_TOPIC
    """A topic that all cases of a run share; on a secured cluster only."""

    def name(self, word: str, number: int = 0) -> str:
        """Return a name that nobody else uses; what is compared does not tell its number."""
        return f"conform-{word}-{self.suffix}" + (f"~{number}" if number else "")


Step: TypeAlias = Talk | Late | Repeated | NewTopic | NewUser | Allow | LetIn | Until
Script: TypeAlias = Generator[Step, Any, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One case of the catalogue, before a version is chosen."""

    name: str
    """``group/what-is-looked-at``."""
    about: str
    """One sentence for the person whose broker failed it."""
    script: Callable[[Given], Script]
    api: str
    versions: str
    """Of ``api``, among those announced: "all", "newest", "oldest", or "ends" for both."""
    brokers: int = 1
    """How many the cluster has to have."""
    since: int = 0
    """The oldest version of ``api`` that has what is looked at."""

    @property
    def group(self) -> str:
        """The word before the slash."""
        return self.name.partition("/")[0]

    def versions_among(self, low: int, high: int) -> list[int]:
        """Return those that the case runs with where ``low`` to ``high`` are served."""
        low = max(low, self.since)
        every = list(range(low, high + 1))
        match self.versions:
            case "all":
                return every
            case "newest":
                return every[-1:]
            case "oldest":
                return every[:1]
            case _:
                return sorted({*every[:1], *every[-1:]})


def ask(
    api: str,
    version: int,
    form: Form | None = None,
    *,
    to: To = 1,
    is_seen: bool = True,
    who: As | None = None,
) -> Generator[Talk, list[Answer], Form]:
    """Ask one thing and return the body of its answer; empty where none came."""
    answers = yield Talk([Request(api, version, form or {})], to=to, is_seen=is_seen, who=who)
    return answers[0].body
