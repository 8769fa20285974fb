"""The registry of handlers: one per API, filled by ``@handles`` when their modules are imported.

A handler unpacks a request, asks the broker's parts and packs the response. It holds no rules, and
no handler knows another. ``broker.dispatcher`` imports every module of this package.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from broker.client_accounts import ClientAccount
from broker.context import Context
from broker.core.access import Access
from protocol.apis import APIS, Api
from protocol.connection import DEFAULT_LISTENER
from protocol.errors import KafkaError
from protocol.principal import ANONYMOUS, Principal
from protocol.releases import versions_as_of
from protocol.transport.large_requests import Begun as Begun
from protocol.wire.table import META, Versions

RequestT = TypeVar("RequestT")
HandleT = TypeVar("HandleT", bound=Callable[..., Awaitable[Any]])


class Client(NamedTuple):
    """Who asks."""

    id: str
    """As the header of the request says; "" without one."""
    host: str
    """The address that it connected from."""
    principal: Principal = ANONYMOUS
    listener: str = DEFAULT_LISTENER
    """The name of the listener that it came in by."""
    access: Access | None = None
    """What it may do; None: everything, there is no authorizer."""
    account: ClientAccount | None = None
    """Its quotas; None: there are none."""
    is_by_token: bool = False
    """Whether it authenticated by a delegation token."""


Handle: TypeAlias = Callable[[Context, RequestT, int], Awaitable[Any]]
"""(context, request, version) -> the response, a ``Begun``, or None: the request gets no answer."""
HandleOf: TypeAlias = Callable[[Context, RequestT, int, Client], Awaitable[Any]]
"""The same, for those that must know who asks."""
Refuse: TypeAlias = Callable[[RequestT, int, KafkaError], Any]
"""(request, version, error) -> the response that carries the error's code in every place it has."""


class Handler(NamedTuple):
    """One entry of the registry."""

    api: Api
    versions: Versions
    """Announced and served: at most those of the message table."""
    handle: Handle[Any] | HandleOf[Any]
    refuse: Refuse[Any]
    takes_client: bool = False
    """Whether ``handle`` is a ``HandleOf``."""


class PassedOn(NamedTuple):
    """An API that another node answers, as a row of a table."""

    request: type
    versions: str
    refuse: Refuse[Any]


Handlers: TypeAlias = dict[int, Handler]
"""API key -> handler."""
HANDLERS: Final[Handlers] = {}
FOR_CONTROLLER: Final[Handlers] = {}
"""Served beside them by a broker that is registered in ZooKeeper, where any may be elected."""


def handlers_of(context: Context) -> Handlers:
    """Return the handlers of one broker."""
    return HANDLERS if context.controller_behind is None else HANDLERS | FOR_CONTROLLER


def served(release: str | None, handlers: Handlers = HANDLERS) -> dict[int, Versions]:
    """Return what is announced, by API key: of what handlers serve that which ``release`` has.

    None stands for all that handlers serve.

    Raises:
        ValueError: No such release.
    """
    own = {key: handler.versions for key, handler in sorted(handlers.items())}
    if release is None:
        return own
    theirs = versions_as_of(release)
    both = {
        key: Versions(max(versions.low, theirs[key].low), min(versions.high, theirs[key].high))
        for key, versions in own.items()
        if key in theirs
    }
    return {key: versions for key, versions in both.items() if versions.low <= versions.high}


def handles(
    request: type[RequestT],
    versions: str,
    *,
    refuse: Refuse[RequestT],
    registry: Handlers = HANDLERS,
) -> Callable[[Handle[RequestT]], Handle[RequestT]]:
    """Register the decorated coroutine function as the handler of ``request``.

    Args:
        request: the request class; its API key comes from the message table.
        versions: those served, such as "0-11".
        refuse: builds the response for an error that concerns the whole request.
        registry: where it is registered.
    """
    return _register(request, versions, refuse, registry, takes_client=False)


def handles_client(
    request: type[RequestT], versions: str, *, refuse: Refuse[RequestT]
) -> Callable[[HandleOf[RequestT]], HandleOf[RequestT]]:
    """Register as ``handles`` does a handler that is told who asks."""
    return _register(request, versions, refuse, HANDLERS, takes_client=True)


def _register(
    request: type[Any],
    versions: str,
    refuse: Refuse[Any],
    registry: Handlers,
    *,
    takes_client: bool,
) -> Callable[[HandleT], HandleT]:
    key = META[request].api_key
    assert key is not None

    def register(handle: HandleT) -> HandleT:
        assert key not in registry, f"two handlers for {APIS[key].name}"
        registry[key] = Handler(APIS[key], Versions.parse(versions), handle, refuse, takes_client)
        return handle

    return register
