"""What rules of the broker and the controller promise, checked at each call in the simulated world.

Checkers see what a cluster shows, and much of what a wrong rule does shows late or never. A
contract stands at the rule itself: it looks at what the rule was given, then at what came of it,
and says what of that breaks the promise. It restates the promise, not the code. This file has what
a contract is and puts contracts around rules; it knows none, ``simulation.contracts.table`` does.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

import broker
import controller
from simulation.core.checkers.evidence import Violation
from simulation.loop_time import loop_now_us

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
NAME: Final = "contracts"
ROOMS: Final = (f"{broker.__name__}.", f"{controller.__name__}.")
"""Where functions are watched: the modules that have them by name."""
_BUILTINS: Final = builtins.__dict__
"""Every module names it, and no rule stands there: a look at it a module is most of all looks."""
_TOLD_MAX: Final = 3
"""Of one contract in one run: what is broken once is broken at every call."""

_HOLDS: Final = "nothing is broken"

Broken: TypeAlias = "str | None"
"""What was promised and does not hold, with the values; None: all holds."""
# Any: what a rule takes and returns is its own; a contract names the types it knows.
Promise: TypeAlias = Callable[..., Generator[None, Any, Broken]]
"""A generator function with the parameters of the rule.

It keeps what it needs of the state before, yields once, gets what the rule returned, and returns
what is broken. What a rule raises is raised at the ``yield``; who does not catch it says that
nothing is broken by it. It changes nothing.
"""

Invariant: TypeAlias = Callable[[Any], Broken]
"""Says what of an object is as it must never be."""


@dataclass(frozen=True, slots=True)
class Contract:
    """A promise, and the rule that gives it."""

    owner: type | None
    """The class of a method or property; None: the rule is a function of a module."""
    rule: Callable[..., Any] | str
    """The function, or the name of the method."""
    promise: Promise

    @property
    def text(self) -> str:
        """What is promised: the first line of its docstring."""
        return (inspect.getdoc(self.promise) or "").partition("\n")[0].rstrip(".")

    @property
    def name(self) -> str:
        """The rule, as people call it."""
        if self.owner is not None:
            return f"{self.owner.__name__}.{self.rule}"
        assert isinstance(self.rule, FunctionType)
        return f"{self.rule.__module__.rpartition('.')[2]}.{self.rule.__name__}"

    @property
    def function(self) -> Callable[..., Any]:
        """The function as its module has it now."""
        assert isinstance(self.rule, FunctionType)
        return vars(sys.modules[self.rule.__module__])[self.rule.__name__]


class OfRun(WeakKeyDictionary[K, V]):
    """What promises keep of an object from one call to the next; empty when their run has ended.

    What is kept may lead back to the object, which would never go by itself then, and its world
    with it.
    """

    _all: ClassVar[list[WeakKeyDictionary[Any, Any]]] = []

    def __init__(self) -> None:
        super().__init__()
        self._all.append(self)

    @classmethod
    def forget_all(cls) -> None:
        """Empty every one."""
        for each in cls._all:
            each.clear()


def tables_of(rooms: tuple[str, ...] = ROOMS) -> Iterator[dict[Any, Any]]:
    """Give the names of each module of the rooms, and the tables among what it names."""
    for module_name in sorted(name for name in sys.modules if name.startswith(rooms)):
        names = vars(sys.modules[module_name])
        yield names
        yield from [
            cast("dict[Any, Any]", one)
            for one in names.values()
            if type(one) is dict and one is not _BUILTINS
        ]


def of_method(owner: type, method: str) -> Callable[[Promise], Contract]:
    """Make a promise the contract of a method, of a class or of what it makes, or of a property."""
    return lambda promise: Contract(owner, method, promise)


def of_function(rule: Callable[..., Any]) -> Callable[[Promise], Contract]:
    """Make a promise the contract of a function."""
    return lambda promise: Contract(None, rule, promise)


def invariant(owner: type, *methods: str) -> Callable[[Invariant], tuple[Contract, ...]]:
    """Make a sentence about an object a contract of all methods that may break it."""

    def contracts(holds: Invariant) -> tuple[Contract, ...]:
        @wraps(holds)
        def promise(subject: object, *_: object, **__: object) -> Generator[None, object, Broken]:
            yield
            return holds(subject)

        return tuple(Contract(owner, method, promise) for method in methods)

    return contracts


# Any: a promise, or what its rule returned.
_Asking: TypeAlias = Generator["str | None", Any, None]


def _asked() -> Generator[str | None, Any, None]:
    """Ask one promise after the other: ``send`` it to begin, then what the rule returned.

    Gives None while the promise waits for that, ``_HOLDS`` or what is broken when it is over. A
    generator that ends on its own raises StopIteration, which costs more than most promises do;
    one that another delegates to does not.
    """
    over = None
    while True:
        promise: Generator[None, Any, Broken] = yield over
        over = yield from promise
        if over is None:
            over = _HOLDS


def _new_asking() -> _Asking:
    asking = _asked()
    next(asking)
    return asking


class Contracts:
    """Puts contracts around their rules while it is entered, and gathers what is broken."""

    def __init__(
        self,
        contracts: Sequence[Contract],
        *,
        now_us: Callable[[], int] = loop_now_us,
        rooms: tuple[str, ...] = ROOMS,
        on_broken: Callable[[], None] = lambda: None,
    ) -> None:
        self.found: list[Violation] = []
        self.met: dict[str, int] = {}
        """Name of a contract -> how many calls of its rule it has looked at."""
        self._contracts = contracts
        self._now_us = now_us
        self._rooms = rooms
        self._on_broken = on_broken
        self._told: Counter[str] = Counter()
        self._undo: list[tuple[Callable[..., None], *tuple[Any, ...]]] = []
        """What puts back what was there, the last first, and what it takes."""
        self._idle: list[_Asking] = []
        """Who asks nothing now: rules call rules, so several ask at a time."""

    def __enter__(self) -> Contracts:
        functions: dict[int, Callable[..., Any]] = {}
        for contract in self._contracts:
            if contract.owner is not None:
                self._watch_method(contract, contract.owner)
            else:
                rule = contract.function
                functions[id(rule)] = self._watched(contract, functions.get(id(rule), rule))
        if functions:
            self._watch_functions(functions)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while self._undo:
            put_back, *taken = self._undo.pop()
            put_back(*taken)
        OfRun.forget_all()

    def _watch_method(self, contract: Contract, owner: type) -> None:
        name = str(contract.rule)
        before = inspect.getattr_static(owner, name)
        watched: object
        if isinstance(before, property):
            assert before.fget is not None
            watched = property(self._watched(contract, before.fget))
        elif isinstance(before, classmethod):
            maker = cast("classmethod[Any, ..., object]", before)
            watched = classmethod(self._watched(contract, maker.__func__))
        else:
            watched = self._watched(contract, before)
        if name in vars(owner):
            self._undo.append((setattr, owner, name, vars(owner)[name]))
        else:
            self._undo.append((delattr, owner, name))
        setattr(owner, name, watched)

    def _watch_functions(self, watched: Mapping[int, Callable[..., Any]]) -> None:
        """Put them wherever a module has the function; ``watched`` is by its identity.

        By its own name, or in a table of rules, such as that of what answers which request.
        """
        rules = frozenset(watched)
        for table in tables_of(self._rooms):
            if rules.isdisjoint(map(id, table.values())):
                continue  # As nearly all of a thousand tables.
            for name, value in list(table.items()):
                if id(value) in watched:
                    table[name] = watched[id(value)]
                    self._undo.append((table.__setitem__, name, value))

    def _watched(self, contract: Contract, rule: Callable[..., T]) -> Callable[..., T]:
        if inspect.iscoroutinefunction(rule):
            return cast("Callable[..., T]", self._awaited(contract, rule))
        name, promised, met = contract.name, contract.promise, self.met
        met.setdefault(name, 0)

        @wraps(rule)
        def watched(*args: Any, **kwargs: Any) -> T:  # the rule's own
            met[name] += 1
            asking = self._begins(contract, promised(*args, **kwargs))
            if asking is None:
                return rule(*args, **kwargs)
            try:
                result = rule(*args, **kwargs)
            except Exception as error:
                self._ends(contract, asking, asking.throw, error)
                raise
            self._ends(contract, asking, asking.send, result)
            return result

        return watched

    def _awaited(
        self, contract: Contract, rule: Callable[..., Awaitable[T]]
    ) -> Callable[..., Awaitable[T]]:
        """Look at a rule that waits: before it begins, and when it is over."""
        name, promised, met = contract.name, contract.promise, self.met
        met.setdefault(name, 0)

        @wraps(rule)
        async def watched(*args: Any, **kwargs: Any) -> T:  # the rule's own
            met[name] += 1
            asking = self._begins(contract, promised(*args, **kwargs))
            if asking is None:
                return await rule(*args, **kwargs)
            try:
                result = await rule(*args, **kwargs)
            except Exception as error:
                self._ends(contract, asking, asking.throw, error)
                raise
            self._ends(contract, asking, asking.send, result)
            return result

        return watched

    def _begins(self, contract: Contract, promise: Generator[None, Any, Broken]) -> _Asking | None:
        """Have it keep what it needs; None: it has nothing to say of this call."""
        idle = self._idle
        asking = idle.pop() if idle else _new_asking()
        try:
            over = asking.send(promise)
        except Exception as error:  # noqa: BLE001 - a wrong state may raise anything
            self._tell(contract, f"it cannot be asked before: {error!r}")
            return None
        if over is None:
            return asking
        idle.append(asking)
        if over is not _HOLDS:
            self._tell(contract, over)
        return None

    # Any: what the rule returned or raised.
    def _ends(
        self, contract: Contract, asking: _Asking, go_on: Callable[[Any], str | None], came: Any
    ) -> None:
        try:
            over = go_on(came)
        except Exception as error:  # noqa: BLE001 - a wrong result may raise anything
            if error is not came:
                self._tell(contract, f"it cannot be asked after: {error!r}")
        else:
            assert over is not None, f"the contract of {contract.name} yields twice"
            self._idle.append(asking)
            if over is not _HOLDS:
                self._tell(contract, over)
        finally:
            # The traceback of what was raised has this frame: with its names, a circle.
            del go_on, came

    def _tell(self, contract: Contract, broken: str) -> None:
        self._told[contract.name] += 1
        if not self.found:
            self._on_broken()
        if self._told[contract.name] <= _TOLD_MAX:
            self.found.append(
                Violation(
                    NAME,
                    self._now_us(),
                    f"{contract.name} breaks its promise ({contract.text}): {broken}",
                )
            )
