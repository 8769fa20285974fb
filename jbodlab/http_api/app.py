"""The HTTP API as an ASGI application: each operation of the table with what answers it."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from jbodlab.errors import ExitCode, LabError
from jbodlab.http_api.access import Access, mistake
from jbodlab.http_api.core.bodies import (
    Begun,
    BrokerOrder,
    ClusterInfo,
    ControlOrder,
    Done,
    FailOrder,
    FaultOrder,
    MoveOrder,
    NewTopic,
    Released,
    ReleaseOrder,
    ReplaceOrder,
    TopicInfo,
)
from jbodlab.http_api.core.changes import Change
from jbodlab.http_api.core.openapi import document
from jbodlab.http_api.core.operations import CONTROL, OPERATIONS, Operation
from jbodlab.http_api.core.snapshot import moves_of
from jbodlab.http_api.feed import Feed
from jbodlab.http_api.orders import NotThereError, Orders
from jbodlab.http_api.pages import page_paths, page_routes
from jbodlab.http_api.runs import Runs
from protocol.errors import KafkaError

JSON_TYPE: Final = "application/json"
_STATUS: Final = {
    ExitCode.USAGE: 400,
    ExitCode.FAILED: 409,
    ExitCode.NOT_RUNNING: 503,
    ExitCode.TIMED_OUT: 504,
}
_NEXT: Final = {
    400: "see /openapi.json for what can be asked",
    404: "GET /brokers, /topics and /faults tell what there is",
    405: "see /openapi.json for what can be asked",
    409: "GET /snapshot tells how the cluster is",
    500: "the server's standard error and the logs of the nodes tell more",
    503: "GET /cluster tells who runs; POST /brokers/{broker_id}/start starts a broker",
    504: "GET /snapshot tells how the cluster is",
}
logger = logging.getLogger(__name__)
_Handler = Callable[[Request, Any], Awaitable[Any]]


def build_app(orders: Orders, feed: Feed, *, token: str | None = None) -> ASGIApp:
    """Return the application of one cluster; while it runs, so does the feed."""
    api = Api(orders, feed)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as tasks:
            api.tasks = tasks
            looking = tasks.create_task(feed.run())
            yield
            looking.cancel()

    routes: list[BaseRoute] = [
        Route(each.path, _endpoint(each, api.handlers()[each.name]), methods=[each.method])
        for each in OPERATIONS
    ]
    described = msgspec.json.encode(document(OPERATIONS, version("jbodlab")))

    async def describe(_: Request) -> Response:
        return Response(described, media_type=JSON_TYPE)

    pages = page_routes()
    app = Starlette(
        routes=[*routes, *pages, Route("/openapi.json", describe, methods=["GET"])],
        lifespan=lifespan,
        exception_handlers={HTTPException: _on_http_exception},
    )
    return Access(app, token, page_paths(pages))


class Api:
    """What answers the operations; orders run in threads, so that the loop stays free."""

    def __init__(self, orders: Orders, feed: Feed) -> None:
        self._orders = orders
        self._feed = feed
        self._runs = Runs()
        self.tasks: asyncio.TaskGroup | None = None
        """Of what was begun and goes on; while the server runs."""

    def handlers(self) -> Mapping[str, _Handler]:
        """Return what answers, by the name of the operation."""
        orders = self._orders
        return {
            "get_snapshot": self._snapshot,
            "get_cluster": self._cluster,
            "get_places": self._places,
            "get_nodes": self._nodes,
            "get_brokers": self._brokers,
            "get_log_dirs": self._log_dirs,
            "get_topics": self._topics,
            "get_partitions": self._partitions,
            "get_moves": self._moves,
            "get_faults": self._faults,
            "get_requests": self._requests,
            "get_events": self._events,
            "kill_broker": self._of_broker(orders.kill, "is killed"),
            "pause_broker": self._of_broker(orders.pause, "stands still"),
            "resume_broker": self._of_broker(orders.resume, "goes on"),
            "stop_broker": self._begin_of_broker(orders.stopping, "is being stopped"),
            "start_broker": self._begin_of_broker(orders.starting, "is being started"),
            "restart_broker": self._begin_of_broker(orders.restarting, "is being restarted"),
            "fail_log_dir": self._fail,
            "heal_log_dir": self._heal,
            "restart_log_dir": self._restart_log_dir,
            "replace_log_dir": self._replace_log_dir,
            "create_topic": self._create_topic,
            "delete_topic": self._delete_topic,
            "move_replica": self._move,
            "add_fault": self._add_fault,
            "clear_faults": self._clear_faults,
            "clear_fault": self._clear_fault,
            "release_held": self._release_held,
            "get_passed": self._passed_requests,
            "get_run": self._run,
            **{each.name: self._passed_on for each in OPERATIONS if CONTROL in each.path},
        }

    async def _snapshot(self, _request: Request, _body: None) -> Any:
        return await self._feed.snapshot()

    async def _cluster(self, _request: Request, _body: None) -> ClusterInfo:
        seen = await self._feed.snapshot()
        return ClusterInfo(
            cluster_id=seen.cluster_id,
            bootstrap_servers=seen.bootstrap_servers,
            controller=seen.controller,
            brokers={str(each.id): each.state for each in seen.brokers},
        )

    async def _places(self, _request: Request, _body: None) -> Any:
        return await asyncio.to_thread(self._orders.places)

    async def _nodes(self, _request: Request, _body: None) -> Any:
        return await asyncio.to_thread(self._orders.nodes)

    async def _passed_on(self, request: Request, body: dict[str, Any] | None) -> Response:
        _, _, path = request.url.path.partition("/control")
        asked = (_broker_id(request), request.method, path, body)
        return Response(await asyncio.to_thread(self._orders.pass_on, *asked), media_type=JSON_TYPE)

    async def _brokers(self, _request: Request, _body: None) -> Any:
        return (await self._feed.snapshot()).brokers

    async def _log_dirs(self, request: Request, _body: None) -> Any:
        broker_id = _broker_id(request)
        brokers = (await self._feed.snapshot()).brokers
        for broker in brokers:
            if broker.id == broker_id:
                return broker.log_dirs
        known = ", ".join(str(each.id) for each in brokers)
        raise NotThereError(f"there is no broker {broker_id}, only {known}")

    async def _topics(self, _request: Request, _body: None) -> list[TopicInfo]:
        partitions = (await self._feed.snapshot()).partitions
        factors = {each.topic: len(each.replicas) for each in partitions}
        counts = Counter(each.topic for each in partitions)
        return [
            TopicInfo(name=name, partitions=counts[name], replication_factor=factors[name])
            for name in counts
        ]

    async def _partitions(self, request: Request, _body: None) -> Any:
        topic = request.path_params["topic"]
        partitions = (await self._feed.snapshot()).partitions
        found = [each for each in partitions if each.topic == topic]
        if not found:
            known = ", ".join(dict.fromkeys(each.topic for each in partitions)) or "none"
            raise NotThereError(f"there is no topic {topic}; there are: {known}")
        return found

    async def _moves(self, _request: Request, _body: None) -> Any:
        return moves_of(await self._feed.snapshot())

    async def _faults(self, _request: Request, _body: None) -> Any:
        return (await self._feed.snapshot()).faults

    async def _requests(self, _request: Request, _body: None) -> Any:
        return await asyncio.to_thread(self._orders.requests)

    async def _events(self, request: Request, _body: None) -> Response:
        given = request.headers.get("last-event-id", "")
        # Before the answer begins: nothing that happens from now on is missed.
        after_id = int(given) if given.isdecimal() else self._feed.last_id
        headers = {"Cache-Control": "no-store"}
        return StreamingResponse(
            self._lines(after_id), media_type="text/event-stream", headers=headers
        )

    async def _lines(self, after_id: int) -> AsyncIterator[bytes]:
        # At once, so that a listener knows that it is heard.
        yield b": jbodlab\n\n"
        async for event in self._feed.events(after_id):
            if event is None:
                yield b": nothing new\n\n"
            else:
                kind = event.change.kind.encode()
                data = msgspec.json.encode(event)
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, kind, data)

    def _of_broker(self, order: Callable[[int], None], words: str) -> _Handler:
        async def handler(request: Request, _body: Any) -> Done:
            await asyncio.to_thread(order, _broker_id(request))
            return Done(done=f"broker {_broker_id(request)} {words}")

        return handler

    def _begin_of_broker(self, order: Callable[[int], Callable[[], None]], words: str) -> _Handler:
        async def handler(request: Request, body: BrokerOrder) -> Begun:
            work = await asyncio.to_thread(order, _broker_id(request))
            what = f"broker {_broker_id(request)} {words}"
            if body.wait:
                await asyncio.to_thread(work)
                return Begun(begun=what, look_at="/cluster")
            assert self.tasks is not None, "the server runs"
            self.tasks.create_task(self._carry_out(work, what))
            return Begun(begun=what, look_at="/cluster")

        return handler

    async def _carry_out(self, work: Callable[[], None], what: str) -> None:
        try:
            await asyncio.to_thread(work)
        except (LabError, KafkaError, OSError) as error:
            logger.warning("%s: %s", what, error)
            await self._feed.publish([Change(kind="order_failed", text=f"{what}: {error}")])

    async def _fail(self, request: Request, order: FailOrder) -> Done:
        await asyncio.to_thread(self._orders.fail, *_log_dir(request), order)
        return Done(done=f"{_log_dir_words(request)} fails with {order.mode}")

    async def _heal(self, request: Request, _body: Any) -> Done:
        await asyncio.to_thread(self._orders.heal, *_log_dir(request))
        return Done(done=f"{_log_dir_words(request)} has no fault; if offline, restart it")

    async def _restart_log_dir(self, request: Request, _body: Any) -> Begun:
        await asyncio.to_thread(self._orders.restart_log_dir, *_log_dir(request))
        return _begun_log_dir(request, "is being brought back")

    async def _replace_log_dir(self, request: Request, order: ReplaceOrder) -> Begun:
        await asyncio.to_thread(self._orders.replace_log_dir, *_log_dir(request), order)
        return _begun_log_dir(request, "is being replaced by an empty one")

    async def _create_topic(self, _request: Request, topic: NewTopic) -> Done:
        await asyncio.to_thread(self._orders.create_topic, topic)
        return Done(done=f"topic {topic.name} is created")

    async def _delete_topic(self, request: Request, _body: None) -> Done:
        topic = request.path_params["topic"]
        await asyncio.to_thread(self._orders.delete_topic, topic)
        return Done(done=f"topic {topic} is deleted")

    async def _move(self, _request: Request, order: MoveOrder) -> Begun:
        await asyncio.to_thread(self._orders.move, order)
        name = f"{order.topic}-{order.partition}"
        words = f"{name} of broker {order.broker} moves to its log dir {order.log_dir}"
        return Begun(begun=words, look_at="/moves")

    async def _add_fault(self, _request: Request, content: dict[str, Any]) -> Any:
        return await asyncio.to_thread(self._orders.add_fault, content)

    async def _clear_faults(self, _request: Request, _body: None) -> Done:
        count = await asyncio.to_thread(self._orders.clear_faults)
        return Done(done=f"{count} faults are taken off")

    async def _clear_fault(self, request: Request, _body: None) -> Done:
        fault_id = request.path_params["fault_id"]
        await asyncio.to_thread(self._orders.clear_fault, _broker_id(request), fault_id)
        return Done(done=f"fault {fault_id} is taken off")

    async def _run(self, request: Request, _body: None) -> Response:
        params = request.path_params
        recorded = await self._runs.recorded(params["plan"], params["seed"])
        return Response(recorded, media_type=JSON_TYPE)

    async def _release_held(self, request: Request, order: ReleaseOrder) -> Released:
        fault = (_broker_id(request), request.path_params["fault_id"])
        released = await asyncio.to_thread(self._orders.release_held, *fault, order.count)
        return Released(released=released)

    async def _passed_requests(self, request: Request, _body: None) -> Any:
        fault = (_broker_id(request), request.path_params["fault_id"])
        return await asyncio.to_thread(self._orders.passed, *fault)


def _endpoint(operation: Operation, handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
    # Keys of faults and of a control endpoint are checked by those who know all of them.
    is_free = operation.body in {FaultOrder, ControlOrder}
    body_type = dict[str, Any] if is_free else operation.body

    async def endpoint(request: Request) -> Response:
        try:
            given = await request.body() if body_type is not None else b""
            body = None if body_type is None else msgspec.json.decode(given, type=body_type)
            answer = await handler(request, body)
        except (LabError, KafkaError, OSError, msgspec.DecodeError) as error:
            status = _status_of(error)
            return mistake(status, str(error), _NEXT[status])
        if isinstance(answer, Response):
            return answer
        return Response(msgspec.json.encode(answer), operation.status, media_type=JSON_TYPE)

    return endpoint


def _status_of(error: Exception) -> int:
    match error:
        case NotThereError():
            return 404
        case LabError():
            return _STATUS.get(error.exit_code, 500)
        case KafkaError():
            return 409
        case msgspec.DecodeError():
            return 400
        case _:
            return 503


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    name = HTTPStatus(error.status_code).phrase
    words = f"{request.method} {request.url.path}: {name}"
    return mistake(error.status_code, words, _NEXT.get(error.status_code, _NEXT[400]))


def _broker_id(request: Request) -> int:
    return _number(request, "broker_id")


def _number(request: Request, name: str) -> int:
    text: str = request.path_params[name]
    with suppress(ValueError):
        return int(text)
    raise NotThereError(f"{name} is a number, not {text!r}")


def _log_dir(request: Request) -> tuple[int, int]:
    return _broker_id(request), _number(request, "number")


def _log_dir_words(request: Request) -> str:
    broker_id, number = _log_dir(request)
    return f"log dir {number} of broker {broker_id}"


def _begun_log_dir(request: Request, words: str) -> Begun:
    look_at = f"/brokers/{_broker_id(request)}/log-dirs"
    return Begun(begun=f"{_log_dir_words(request)} {words}", look_at=look_at)
