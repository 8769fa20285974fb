"""The broker's control endpoint: JSON over HTTP/1.1, on loopback only, one request per connection.

It is for the cluster launcher, tests and people with curl; Kafka clients never see it. It decides
nothing: what it can do is given to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

import h11
import msgspec

from broker.metrics import Family
from protocol.faults.document import DURATION_MS_MAX
from protocol.faults.model import DiskMode
from protocol.http_access import refusal

LOOPBACK: Final = "127.0.0.1"
BODY_BYTES_MAX: Final = 64 * 1024
REQUEST_TIMEOUT_MS: Final = 10_000
FAULT_MODES: Final = tuple(mode.value for mode in DiskMode)
THROTTLE_BYTES_MAX: Final = (1 << 63) - 1
PARTITION_MAX: Final = (1 << 31) - 1
_LATIN: Final = "latin-1"
"""Of headers: any byte is a character of it."""
_READ_BYTES: Final = 16 * 1024
logger = logging.getLogger(__name__)


class ControlError(Exception):
    """A request that cannot be done; the text goes to the caller."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPorts:
    """What the endpoint can ask of the broker."""

    status: Callable[[], Mapping[str, Any]]
    log_dirs: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]
    fail_log_dir: Callable[[FailRequest], None]
    """May raise ControlError."""
    heal_log_dir: Callable[[str], Mapping[str, Any]]
    """Takes the path; may raise ControlError."""
    faults: Callable[[], Sequence[Mapping[str, Any]]]
    add_faults: Callable[[Sequence[Any]], Sequence[str]]
    """Takes faults as mappings, returns their ids; may raise ControlError."""
    clear_faults: Callable[[Sequence[str] | None], Sequence[Mapping[str, Any]]]
    """Takes ids, None for all; may raise ControlError."""
    release_held: Callable[[str, int | None], int]
    """Takes the id of a fault, and how many at most; returns how many went on; may raise
    ControlError."""
    passed_requests: Callable[[], Mapping[str, Sequence[Mapping[str, Any]]]]
    restart_log_dir: Callable[[RestartRequest], None]
    """May raise ControlError."""
    replace_log_dir: Callable[[ReplaceRequest], None]
    """May raise ControlError."""
    restart_partition: Callable[[RestartPartitionRequest], str]
    """Returns the path of its log dir; may raise ControlError."""
    shut_down: Callable[[], None]
    metric_families: Callable[[], Sequence[Family]]
    replicas: Callable[[], Mapping[str, Any]]
    """May raise ControlError."""


class FailRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /log-dirs/fail."""

    path: str
    mode: str = "eio"
    delay_ms: int | None = None
    """Of mode slow: added to every call to the disk."""


class HealRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /log-dirs/heal."""

    path: str


class AddFaultsRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /faults."""

    faults: list[Any]
    """Each as in the cluster file, without times, perhaps with an ``id``."""


class ClearFaultsRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /faults/clear."""

    ids: list[str] | None = None
    """None: all that are in force."""


class ReleaseRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /faults/release."""

    id: str
    count: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The first that wait; None: all."""


class RestartRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /log-dirs/restart."""

    path: str


class ReplaceRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /log-dirs/replace."""

    path: str
    accept_loss: bool = False
    """Replicas that no other broker has in full may begin empty."""
    force: bool = False
    """Replace a log dir that works, too."""
    throttle_bytes_per_second: int | None = None
    """How fast replicas are copied from their leaders, all together; None: as fast as can be."""


class RestartPartitionRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Body of POST /partitions/restart."""

    topic: str
    partition: int
    accept_loss: bool = False
    """It may begin empty when its log dir was replaced and no other broker has it in full."""


class Answer(NamedTuple):
    """One HTTP answer."""

    status: int
    content_type: bytes
    body: bytes


_Route = Callable[[ControlPorts, bytes], Awaitable[Answer]]


async def answer(ports: ControlPorts, method: str, target: str, body: bytes) -> Answer:
    """Return the answer to one request; mistakes of the caller become 4xx with a sentence."""
    try:
        return await _route(method, target.partition("?")[0])(ports, body)
    except ControlError as error:
        return _json(error.status, {"error": str(error)})
    except RecursionError:  # Of what was read and then looked into.
        return _json(400, {"error": "the body has too many brackets inside each other"})


def _route(method: str, path: str) -> _Route:
    routes = _ROUTES.get(path)
    if routes is None:
        raise ControlError(404, f"{path} is none of {', '.join(_ROUTES)}")
    if method not in routes:
        raise ControlError(405, f"{path} takes {' or '.join(routes)}, not {method}")
    return routes[method]


class ControlServer:
    """Listens on loopback. ``start`` first, ``stop`` last."""

    def __init__(self, ports: ControlPorts) -> None:
        self._ports = ports
        self._server: asyncio.Server | None = None

    async def start(self, port: int) -> int:
        """Listen; return the port, which the system chooses for 0.

        Raises:
            OSError: the port is taken.
        """
        self._server = await asyncio.start_server(self._serve, LOOPBACK, port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Stop listening; answers under way are finished by their own tasks."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_MS / 1000):
                reply = await self._reply(connection, reader)
                writer.write(_encode(connection, reply))
                await writer.drain()
        except (ConnectionError, TimeoutError, h11.RemoteProtocolError) as error:
            logger.debug("control connection ended: %s", error)
        finally:
            writer.close()

    async def _reply(self, connection: h11.Connection, reader: asyncio.StreamReader) -> Answer:
        request, body = await _read_request(connection, reader)
        headers = [(name.decode(_LATIN), each.decode(_LATIN)) for name, each in request.headers]
        refused = refusal(request.method.decode(_LATIN), headers)
        if refused is not None:
            logger.warning("control request refused: %s", refused.text)
            return _json(refused.status, {"error": refused.text})
        if len(body) > BODY_BYTES_MAX:
            return _json(413, {"error": f"the body is longer than {BODY_BYTES_MAX} bytes"})
        return await self._answer(request.method.decode(), request.target.decode(), body)

    async def _answer(self, method: str, target: str, body: bytes) -> Answer:
        try:
            return await answer(self._ports, method, target, body)
        except Exception:  # the endpoint must outlive a defect behind it
            logger.exception("control request %s %s failed", method, target)
            return _json(500, {"error": "unexpected error; the broker's log has the traceback"})


async def _read_request(
    connection: h11.Connection, reader: asyncio.StreamReader
) -> tuple[h11.Request, bytes]:
    """Read one request, its body cut soon after ``BODY_BYTES_MAX``."""
    request: h11.Request | None = None
    body = bytearray()
    while len(body) <= BODY_BYTES_MAX:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_READ_BYTES))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            break
        else:
            raise ConnectionResetError("the peer left")
    assert request is not None
    return request, bytes(body)


def _encode(connection: h11.Connection, reply: Answer) -> bytes:
    headers = [
        (b"Content-Type", reply.content_type),
        (b"Content-Length", str(len(reply.body)).encode()),
        (b"Connection", b"close"),
    ]
    head = connection.send(h11.Response(status_code=reply.status, headers=headers)) or b""
    data = connection.send(h11.Data(data=reply.body)) or b""
    return head + data + (connection.send(h11.EndOfMessage()) or b"")


async def _get_status(ports: ControlPorts, _body: bytes) -> Answer:
    return _json(200, ports.status())


async def _get_log_dirs(ports: ControlPorts, _body: bytes) -> Answer:
    return _json(200, {"log_dirs": await ports.log_dirs()})


async def _get_replicas(ports: ControlPorts, _body: bytes) -> Answer:
    return _json(200, ports.replicas())


async def _get_metrics(ports: ControlPorts, _body: bytes) -> Answer:
    from broker.exposition import exposition  # noqa: PLC0415 - most brokers are never scraped

    content_type, body = exposition(ports.metric_families())
    return Answer(200, content_type.encode(), body)


async def _fail_log_dir(ports: ControlPorts, body: bytes) -> Answer:
    asked = _decode(body, FailRequest)
    if asked.mode not in FAULT_MODES:
        raise ControlError(400, f"mode: {asked.mode!r} is none of {', '.join(FAULT_MODES)}")
    needs_delay = DiskMode(asked.mode).row.needs_delay
    if needs_delay and not 0 < (asked.delay_ms or 0) <= DURATION_MS_MAX:
        raise ControlError(
            400, f"delay_ms: {asked.delay_ms!r}, mode {asked.mode} needs 1 to {DURATION_MS_MAX}"
        )
    if not needs_delay and asked.delay_ms is not None:
        only = " or ".join(mode.value for mode in DiskMode if mode.row.needs_delay)
        raise ControlError(400, f"delay_ms: only mode {only} takes it, not {asked.mode}")
    ports.fail_log_dir(asked)
    return _json(200, {"path": asked.path, "mode": asked.mode})


async def _heal_log_dir(ports: ControlPorts, body: bytes) -> Answer:
    return _json(200, ports.heal_log_dir(_decode(body, HealRequest).path))


async def _get_faults(ports: ControlPorts, _body: bytes) -> Answer:
    return _json(200, {"faults": ports.faults()})


async def _add_faults(ports: ControlPorts, body: bytes) -> Answer:
    return _json(200, {"ids": ports.add_faults(_decode(body, AddFaultsRequest).faults)})


async def _clear_faults(ports: ControlPorts, body: bytes) -> Answer:
    asked = _decode(body or b"{}", ClearFaultsRequest)
    return _json(200, {"cleared": ports.clear_faults(asked.ids)})


async def _release_held(ports: ControlPorts, body: bytes) -> Answer:
    asked = _decode(body, ReleaseRequest)
    return _json(200, {"id": asked.id, "released": ports.release_held(asked.id, asked.count)})


async def _get_passed(ports: ControlPorts, _body: bytes) -> Answer:
    return _json(200, {"passed": ports.passed_requests()})


async def _restart_log_dir(ports: ControlPorts, body: bytes) -> Answer:
    asked = _decode(body, RestartRequest)
    ports.restart_log_dir(asked)
    return _json(202, {"path": asked.path})


async def _replace_log_dir(ports: ControlPorts, body: bytes) -> Answer:
    asked = _decode(body, ReplaceRequest)
    rate = asked.throttle_bytes_per_second
    if rate is not None and not 0 < rate <= THROTTLE_BYTES_MAX:
        raise ControlError(
            400, f"throttle_bytes_per_second: {rate}, must be 1 to {THROTTLE_BYTES_MAX}"
        )
    ports.replace_log_dir(asked)
    return _json(202, {"path": asked.path})


async def _restart_partition(ports: ControlPorts, body: bytes) -> Answer:
    asked = _decode(body, RestartPartitionRequest)
    if not 0 <= asked.partition <= PARTITION_MAX:
        raise ControlError(400, f"partition: {asked.partition}, must be 0 to {PARTITION_MAX}")
    path = ports.restart_partition(asked)
    return _json(202, {"path": path})


async def _shut_down(ports: ControlPorts, _body: bytes) -> Answer:
    ports.shut_down()
    return _json(202, {"state": "shutting down"})


def _decode(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        fields = ", ".join(kind.__struct_fields__)
        raise ControlError(400, f"{error}; the body is a JSON object of {fields}") from error
    except RecursionError:
        raise ControlError(400, "the body has too many brackets inside each other") from None


def _json(status: int, value: Mapping[str, Any]) -> Answer:
    return Answer(status, b"application/json", msgspec.json.encode(value) + b"\n")


_ROUTES: Final[dict[str, dict[str, _Route]]] = {
    "/status": {"GET": _get_status},
    "/log-dirs": {"GET": _get_log_dirs},
    "/log-dirs/fail": {"POST": _fail_log_dir},
    "/log-dirs/heal": {"POST": _heal_log_dir},
    "/faults": {"GET": _get_faults, "POST": _add_faults},
    "/faults/clear": {"POST": _clear_faults},
    "/faults/release": {"POST": _release_held},
    "/faults/passed": {"GET": _get_passed},
    "/log-dirs/restart": {"POST": _restart_log_dir},
    "/log-dirs/replace": {"POST": _replace_log_dir},
    "/partitions/restart": {"POST": _restart_partition},
    "/replicas": {"GET": _get_replicas},
    "/metrics": {"GET": _get_metrics},
    "/shutdown": {"POST": _shut_down},
}
