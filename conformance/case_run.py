"""Runs one case against a cluster and writes down what it saw; judges nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from conformance.cluster_access import Access
from conformance.connection import Connection
from conformance.core.forms import correlation_id_of, read_answer, sent_bytes
from conformance.core.normal import Normal
from conformance.core.script import (
    NO_TOPIC,
    Allow,
    Answer,
    As,
    Case,
    Form,
    Given,
    Late,
    LetIn,
    NewTopic,
    NewUser,
    Raw,
    Repeated,
    Request,
    Script,
    Talk,
    To,
    Topic,
    Until,
)
from conformance.users import Users
from protocol.errors import ErrorCode, Malformed

FENCE_ID: Final = 2**31 - 7
"""Of the ApiVersions that follows a case: whatever is answered before it came unasked."""
QUIET_S: Final = 2.0
"""After so long without an answer the fence is sent: if it is answered first, none will come."""
_FIRST_ID: Final = 1000
_LOOK_S: Final = 0.02
_FENCE: Final = Request("ApiVersions", 0, correlation_id=FENCE_ID)

Observation = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Shared:
    """What all cases of a run share on a secured cluster."""

    suffix: str = ""
    """In the names of it."""
    users: Mapping[str, As] = field(default_factory=dict[str, As])
    orders: Topic = NO_TOPIC


NOTHING_SHARED: Final = Shared()


@dataclass(frozen=True, slots=True)
class _Asked:
    """Requests that were sent in one go."""

    talk: Talk
    ids: list[int]
    sent_s: float

    @property
    def awaited(self) -> list[tuple[int, Request | Raw]]:
        """The requests that are answered, with their ids."""
        return [
            (id_, request)
            for id_, request in zip(self.ids, self.talk.requests, strict=True)
            if (request.is_answered if isinstance(request, Request) else request.answered_as)
        ]


class CaseRun:
    """One run of one case; ``run`` it once."""

    def __init__(
        self,
        case: Case,
        version: int,
        access: Access,
        suffix: str,
        *,
        quiet_s: float = QUIET_S,
        shared: Shared = NOTHING_SHARED,
    ) -> None:
        """``quiet_s``: how long nothing comes before a fence is sent."""
        self._quiet_s = quiet_s
        self._case = case
        self._access = access
        brokers = sorted(access.brokers)
        self._given = Given(version, suffix, brokers, shared.users, shared.orders)
        login = access.security.login
        me = "" if login is None else login.user
        self._normal = Normal(suffix, brokers, access.announced, shared.suffix, me)
        if shared.orders.id:
            self._normal.know("topicId", shared.orders.id)
        self._users = Users(access)
        self._connections: dict[tuple[int, str, As | None], Connection] = {}
        self._mid_frame: list[Connection] = []
        self._fenced: list[Connection] = []
        """Where the answer to a fence is awaited."""
        self._overtaken: list[Connection] = []
        """Where it is, though what it was to tell of was answered: once for each such fence."""
        self._left: dict[Connection, _Asked] = {}
        """Whose answers are not taken yet."""
        self._next_id = _FIRST_ID
        self._topics = 0
        self.seen: Observation = []
        self._carriers: dict[type, Callable[[Any], Awaitable[Any]]] = {
            Talk: self._talk,
            Late: self._late,
            Repeated: self._repeated,
            NewTopic: self._new_topic,
            Until: self._until,
            NewUser: self._new_user,
            Allow: lambda step: self._users.allow(step.who, step.rows),
            LetIn: lambda step: self._users.lets_in(step.who, is_wanted=step.is_wanted),
        }

    async def run(self) -> Observation:
        """Carry the script out.

        Raises:
            OSError: a broker cannot be connected to.
            ConformanceError: what the case needs could not be made.
        """
        script = self._case.script(self._given)
        try:
            await self._carry_out(script)
        finally:
            script.close()
            try:
                await self._end()
            finally:
                for connection in self._connections.values():
                    connection.close()
        return self.seen

    @staticmethod
    def _now_s() -> float:
        return asyncio.get_running_loop().time()

    async def _carry_out(self, script: Script) -> None:
        came: Any = None
        while True:
            try:
                step = script.send(came)
            except StopIteration:
                return
            except (LookupError, TypeError, AssertionError) as error:
                # The script goes on with what the last answer should have had.
                self.seen.append({"stopped": f"{type(error).__name__}: {error}"})
                return
            came = await self._do(step)

    async def _do(self, step: Any) -> Any:
        return await self._carriers[type(step)](step)

    async def _new_topic(self, wanted: NewTopic) -> Topic:
        self._topics += 1
        name = self._given.name(f"topic{self._topics}")
        made = await self._access.create_topic(
            name, wanted.partitions, wanted.replicas, wanted.configs
        )
        self._normal.know("topicId", made)
        return Topic(name, made)

    async def _new_user(self, wanted: NewUser) -> As:
        return await self._users.new(self._given.name(wanted.word), wanted.mechanism)

    async def _until(self, step: Until) -> Form:
        async def look() -> Form | None:
            request = step.request
            try:
                answer = await self._access.request(
                    request.api, request.form, step.to, version=request.version
                )
            except ConnectionError:
                return None
            return answer if _is_as_wanted(answer, step.condition) else None

        return await self._access.until(look, f"{self._case.name}: {step.request.api} is as wanted")

    async def _talk(self, talk: Talk) -> list[Answer]:
        deadline_s = self._now_s() + self._access.timeout_ms / 1000
        answers, told = await self._exchange(talk)
        # InitProducerId is answered so, too, while a broker fetches ids; every client asks again.
        while _is_loading(answers) and self._now_s() < deadline_s:
            await asyncio.sleep(_LOOK_S)
            answers, told = await self._exchange(talk)
        self._note(talk, told)
        return answers

    def _note(self, talk: Talk, told: list[dict[str, Any]]) -> None:
        """Write down what came; of what is only prepared, that it went wrong."""
        is_wrong = not talk.may_go_wrong and not all(map(_is_fine, told))
        if talk.is_awaited and (talk.is_seen or is_wrong):
            self.seen.append({"sent": [_words(each) for each in talk.requests], "came": told})

    async def _late(self, step: Late) -> list[Answer]:
        broker = await self._access.broker(step.to)
        connection = self._connections[broker.id, step.connection, None]
        asked = self._left.pop(connection)
        answers, told = await self._receive(connection, asked)
        self._note(replace(asked.talk, is_awaited=True), told)
        return answers

    async def _repeated(self, step: Repeated) -> list[Answer]:
        async def look() -> tuple[list[Answer], list[dict[str, Any]]] | None:
            answers, told = await self._exchange(step.talk)
            return (answers, told) if step.condition(answers) else None

        words = " and ".join(map(_words, step.talk.requests))
        what = f"{self._case.name}: {words} answered as wanted"
        answers, told = await self._access.until(look, what)
        self._note(step.talk, told)
        return answers

    async def _exchange(self, talk: Talk) -> tuple[list[Answer], list[dict[str, Any]]]:
        connection = await self._connection(talk.to, talk.connection, talk.who)
        if connection in self._fenced:  # Answers were late, and it says nothing of those to come.
            self._fenced.remove(connection)
            self._overtaken.append(connection)
        ids = [self._id_of(request) for request in talk.requests]
        asked = _Asked(talk, ids, self._now_s())
        data = b"".join(map(sent_bytes, talk.requests, ids))
        await connection.send(data, chunk_bytes=talk.chunk_bytes)
        if talk.at_end == "close":
            connection.half_close()
        if talk.is_mid_frame:
            self._mid_frame.append(connection)
        if not talk.is_awaited:
            self._left[connection] = asked
            return [], []
        return await self._receive(connection, asked)

    def _id_of(self, request: Request | Raw) -> int:
        if request.correlation_id is not None:
            return request.correlation_id
        self._next_id += 1
        return self._next_id

    async def _receive(
        self, connection: Connection, asked: _Asked
    ) -> tuple[list[Answer], list[dict[str, Any]]]:
        """Take as many answers as are awaited, or what there is before it ends."""
        awaited, ids = asked.awaited, asked.ids
        answers = [Answer("silence", {}) for _ in awaited]
        told: list[dict[str, Any]] = []
        places = {id_: index for index, (id_, _) in enumerate(awaited)}
        while len(told) < len(awaited):
            frame = await self._frame(connection)
            if frame is None:
                kind = "closed" if connection.is_closed else "silence"
                told.append({"end": kind})
                answers = [each if each.body else Answer(kind, {}) for each in answers]
                break
            id_ = correlation_id_of(frame)
            if id_ not in places:
                told.append({"of": "nothing that was asked"})
                continue
            after_ms = (self._now_s() - asked.sent_s) * 1000
            answer = replace(_read(awaited[places[id_]][1], frame), after_ms=after_ms)
            answers[places[id_]] = answer
            told.append({"of": ids.index(id_), **self._told(awaited[places[id_]][1], answer)})
        return answers, told

    def _told(self, request: Request | Raw, answer: Answer) -> dict[str, Any]:
        if answer.kind != "answer":
            return {"kind": answer.kind}
        return {"body": self._normal.body(_answered_as(request)[0], answer.body)}

    async def _frame(self, connection: Connection) -> bytes | None:
        """Return the next answer; None when the connection is closed or none will come."""
        while True:
            frame = await self._next_frame(connection)
            if frame is None or correlation_id_of(frame) != FENCE_ID:
                return frame
            if connection not in self._overtaken:
                self._fenced.remove(connection)
                return None
            self._overtaken.remove(connection)

    async def _next_frame(self, connection: Connection) -> bytes | None:
        """Return what comes next, and send a fence where nothing does."""
        if connection in self._mid_frame:
            return await connection.frame(self._quiet_s)
        frame = await connection.frame(self._quiet_s)
        if frame is None and not connection.is_closed:
            if connection not in self._fenced:
                await self._send_fence(connection)
            frame = await connection.frame(self._access.timeout_ms / 1000)
        return frame

    async def _send_fence(self, connection: Connection) -> None:
        await connection.send(sent_bytes(_FENCE, FENCE_ID))
        self._fenced.append(connection)

    def _is_whole(self, frame: bytes) -> bool:
        """Whether the answer to the fence is right: it is one like all others."""
        answer = _read(_FENCE, frame)
        left_out = {"errorCode": 0, "apiKeys": "<left out>"}
        return self._normal.body("ApiVersions", answer.body) == left_out

    async def _connection(self, to: To, word: str, who: As | None) -> Connection:
        broker = await self._access.broker(to)
        known = self._connections.get((broker.id, word, who))
        if known is None or known.is_closed:
            if known is not None:
                known.close()
            known = await self._access.connection(broker, who)
            self._connections[broker.id, word, who] = known
        return known

    async def _end(self) -> None:
        """Ask each connection for one thing more: what comes before its answer is told."""
        for (_, word, _), connection in self._connections.items():
            told = await self._at_end(connection)
            if told:
                self.seen.append({"connection": word, "at the end": told})

    async def _at_end(self, connection: Connection) -> list[str]:
        if connection in self._mid_frame:
            return ["within a frame"] if not connection.is_closed else ["closed"]
        if connection not in self._fenced:
            await self._send_fence(connection)
        told: list[str] = []
        end = self._now_s() + self._access.timeout_ms / 1000
        while self._now_s() < end:
            frame = await connection.frame(max(end - self._now_s(), _LOOK_S))
            if frame is None:
                return [*told, "closed" if connection.is_closed else "silence"]
            if correlation_id_of(frame) == FENCE_ID:
                if connection not in self._overtaken:
                    is_whole = self._is_whole(frame)
                    return told if is_whole else [*told, "a wrong answer to ApiVersions"]
                self._overtaken.remove(connection)
                continue
            told.append("an answer to nothing that was asked")
        return [*told, "silence"]


def _answered_as(request: Request | Raw) -> tuple[str, int]:
    if isinstance(request, Request):
        return request.api, request.version
    assert request.answered_as is not None
    return request.answered_as


def _read(request: Request | Raw, frame: bytes) -> Answer:
    api, version = _answered_as(request)
    try:
        return Answer("answer", read_answer(api, version, frame))
    except (Malformed, UnicodeDecodeError):
        return Answer("malformed", {})


def _is_as_wanted(answer: Form, condition: Callable[[Form], bool]) -> bool:
    """Tell whether ``condition`` holds; an answer that is an error has not what it looks at."""
    try:
        return condition(answer)
    except (LookupError, TypeError):
        return False


def _is_loading(answers: Sequence[Answer]) -> bool:
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return any(each.body.get("errorCode") == code for each in answers)


def _is_fine(told: Mapping[str, Any]) -> bool:
    return "body" in told and not _has_error(told["body"])


def _has_error(form: Any) -> bool:
    if isinstance(form, list):
        return any(map(_has_error, cast("list[Any]", form)))
    if not isinstance(form, Mapping):
        return False
    fields = cast("Mapping[str, Any]", form)
    return fields.get("errorCode", 0) != 0 or any(map(_has_error, fields.values()))


def _words(request: Request | Raw) -> str:
    if isinstance(request, Raw):
        return f"{len(request.data)} bytes"
    return f"{request.api} v{request.version}"
