"""Members of one group that come and go, by either protocol (``simulation.core.restless_members``).

One request at a time goes out, of any of them; who waits for an answer asks nothing else, but for
those that lose patience: they hang up and ask again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from protocol.admin.configs import alter_configs_request
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError, Malformed
from simulation.core.restless_classic import ClassicSide
from simulation.core.restless_members import (
    Asking,
    ConsumerSide,
    KnownTopic,
    Place,
    Side,
    Wave,
    some_of,
)
from simulation.core.restless_outsiders import Errand, Outsider
from simulation.workload.clients import ClusterClient
from simulation.workload.coordinator import GROUP, TRANSACTION, Coordinator, code_in
from simulation.workload.mover import RandomSource
from simulation.workload.pause import pause
from simulation.workload.progress import Progress, code_of
from simulation.workload.turns import Turn, known_topics

MEMBERS: Final = 4
_HEARTBEATS: Final = {"consumer.heartbeat.interval.ms": "500"}
GROUP_CONFIGS: Final[tuple[dict[str, str], ...]] = (
    {"consumer.session.timeout.ms": "1500", "consumer.assignment.interval.ms": "0", **_HEARTBEATS},
    {
        "consumer.session.timeout.ms": "1000",
        "consumer.assignment.interval.ms": "600",
        **_HEARTBEATS,
    },
    {"consumer.assignment.interval.ms": "0"},
)
"""In turn. Who is silent for a session is put out within a story, but for a turn in which sessions
are as long as brokers have them. Assigned is at once, or so late that members go on with what was
assigned before they changed: by Kafka's default a story would see three assignments, whatever
members do."""
WAVES: Final[tuple[Wave, ...]] = ("consumer", "both", "classic", "both")
"""By which protocol members come, and go if they speak the other one: groups change theirs so."""
JOIN_TIMEOUTS_MS: Final = (400, 1_500, 1_500)
"""Of these one is drawn, for all members that speak the classic protocol: who is silent for longer
while others wait for it is to be seen."""
FIRST_WAVES: Final = (WAVES.index("consumer"), WAVES.index("classic"))
"""With one of these it begins: a group of one protocol, which is that of all its members."""
_WAVE: Final = 24
"""So many requests are one wave."""
_TURN: Final = 36
"""So many requests are in one turn of the intervals."""
_LOOK_EVERY: Final = 12
"""After so many requests the topics are looked at again."""
_SILENT_ONCE_OF: Final = 25
_SILENT_ONCE_OF_AWAITED: Final = 6
_SILENT_MAX: Final = 40
"""For at most so many requests of the others somebody is silent."""
_SILENT_MIN_OF_AWAITED: Final = 20
_OUTSIDE_EVERY: Final = 4
"""Of so many requests one comes from somebody who is no member."""
_IMPATIENT_ONCE_OF: Final = 6
"""Once in so many requests one that waits asks again."""
_EMPTY: Final = (10, 30)
"""For between so many requests nobody joins after all were removed."""
_ALTER_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RestlessSettings:
    """Which group, and what its members may read."""

    group: str
    topics: tuple[str, ...]
    interval_ms: int
    requests_max: int | None = None
    """They end after so many; None: with the run."""
    is_transactional: bool = False
    """Whether somebody commits offsets in transactions."""


class _Member:
    """One place in the group, and who asks for it."""

    def __init__(self, place: Place, client: ClusterClient, progress: Progress) -> None:
        self.place = place
        self.client = client
        self.coordinator = Coordinator(client, place.group, GROUP, progress)
        self.side: Side | None = None
        self.turn = Turn()
        self.asking: Asking | None = None
        """What it asked last."""
        self.count = 0
        """How many have been in this place."""


class _Outside:
    """Who asks and is no member, and whom."""

    def __init__(
        self,
        settings: RestlessSettings,
        connect: Callable[[str], ClusterClient],
        progress: Progress,
    ) -> None:
        name = f"{settings.group}-outsider"
        self.client = connect(name)
        self.outsider = Outsider(
            settings.group, settings.topics, name if settings.is_transactional else None
        )
        self.asked: asyncio.Task[None] | None = None
        self._progress = progress
        self._coordinators: dict[tuple[str, int], Coordinator] = {}

    def coordinator_of(self, errand: Errand) -> Coordinator:
        """Return whom it asks, as it was found before."""
        key = (errand.key, TRANSACTION if errand.is_of_transaction else GROUP)
        if key not in self._coordinators:
            self._coordinators[key] = Coordinator(self.client, *key, self._progress)
        return self._coordinators[key]


class RestlessMembersWorkload:
    """All members of the group. ``run`` it once; ``stop`` ends it, and they leave."""

    def __init__(
        self,
        connect: Callable[[str], ClusterClient],
        chance: RandomSource,
        settings: RestlessSettings,
    ) -> None:
        """``connect`` makes a client of a name: a join that waits would hold the others up."""
        self.progress = Progress()
        """``acknowledged`` counts requests that were answered."""
        self._chance = chance
        self._settings = settings
        self._members = [
            _Member(place, connect(place.name), self.progress)
            for place in (self._place(number) for number in range(1, MEMBERS + 1))
        ]
        self._first_wave = FIRST_WAVES[chance.randrange(len(FIRST_WAVES))]
        self._first_turn = chance.randrange(len(GROUP_CONFIGS))
        self._join_timeout_ms = JOIN_TIMEOUTS_MS[chance.randrange(len(JOIN_TIMEOUTS_MS))]
        self._known: dict[str, KnownTopic] = {}
        self._outside = _Outside(settings, connect, self.progress)
        self._stopping = asyncio.Event()

    def _place(self, number: int) -> Place:
        settings = self._settings
        instance_id = f"instance-{number}" if number % 2 == 0 else None
        return Place(settings.group, f"{settings.group}-{number}", instance_id, settings.topics)

    def stop(self) -> None:
        """Have them leave."""
        self._stopping.set()

    async def run(self) -> None:
        """Ask for one after the other until stopped."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._ask_by_turns(tasks)
                for member in self._members:
                    if member.turn.asked is not None:
                        member.turn.asked.cancel()
                if self._outside.asked is not None:
                    self._outside.asked.cancel()
            for member in self._members:
                if member.side is not None:
                    await self._ask(member.coordinator, member.side.leave(self._chance))
            if (errand := self._outside.outsider.last()) is not None:
                await self._ask(self._outside.coordinator_of(errand), errand.asking)
        finally:
            self._outside.client.close()
            for member in self._members:
                member.client.close()

    async def _ask_by_turns(self, tasks: asyncio.TaskGroup) -> None:
        count = 0
        while not self._stopping.is_set() and count != self._settings.requests_max:
            if count % _LOOK_EVERY == 0:
                await self._look(count)
            free = [each for each in self._members if each.turn.is_free(count)]
            if count % _OUTSIDE_EVERY == _OUTSIDE_EVERY - 1:
                self._ask_from_outside(count, tasks)
            elif (waiting := self._impatient()) is not None:
                self._ask_again(waiting, tasks)
            elif free:
                self._go_on(free[self._chance.randrange(len(free))], count, tasks)
            count += 1
            await pause(self._stopping, self._settings.interval_ms)

    def _go_on(self, member: _Member, count: int, tasks: asyncio.TaskGroup) -> None:
        is_awaited = member.side is not None and member.side.is_awaited
        if not self._chance.randrange(_SILENT_ONCE_OF_AWAITED if is_awaited else _SILENT_ONCE_OF):
            least = _SILENT_MIN_OF_AWAITED if is_awaited else 0
            member.turn.silent_until = count + least + self._chance.randrange(_SILENT_MAX)
            return
        if member.side is None or member.side.is_out:
            member.side = self._new_side(member, count)
        goes = not member.side.speaks(self._wave(count)) and self._chance.randrange(2)
        asking = (
            member.side.leave(self._chance) if goes else member.side.next(self._chance, self._known)
        )
        self._begin(member, asking, tasks)

    def _impatient(self) -> _Member | None:
        """Return who has waited long enough; None: nobody has."""
        waiting = [each for each in self._members if each.turn.is_waiting]
        if not waiting or self._chance.randrange(_IMPATIENT_ONCE_OF):
            return None
        return waiting[self._chance.randrange(len(waiting))]

    def _ask_again(self, member: _Member, tasks: asyncio.TaskGroup) -> None:
        """Have a member hang up and ask again; the coordinator may still hold what it asked."""
        side, asking, asked = member.side, member.asking, member.turn.asked
        if side is not None and asking is not None and asked is not None:
            asked.cancel()
            member.client.close()
            self._begin(member, side.again(self._chance, asking), tasks)

    def _begin(self, member: _Member, asking: Asking, tasks: asyncio.TaskGroup) -> None:
        member.asking = asking
        member.turn.asked = tasks.create_task(
            self._ask(member.coordinator, asking), name=f"ask for {member.place.name}"
        )

    def _ask_from_outside(self, count: int, tasks: asyncio.TaskGroup) -> None:
        outside = self._outside
        if outside.asked is not None and not outside.asked.done():
            return
        there = [each.side.identity for each in self._members if each.side is not None]
        members = [each for each in there if each.member_id]
        errand = outside.outsider.next(self._chance, self._known, members)
        if errand.is_emptying:
            self._empty(count)
        outside.asked = tasks.create_task(
            self._ask(outside.coordinator_of(errand), errand.asking),
            name=f"ask outside of {self._settings.group}",
        )

    def _empty(self, count: int) -> None:
        """Let nobody be there for a while; who comes then may come by another protocol."""
        low, high = _EMPTY
        for member in self._members:
            member.turn.silent_until = count + low + self._chance.randrange(high - low)
        self._first_wave += self._chance.randrange(len(WAVES))

    def _wave(self, count: int) -> Wave:
        return WAVES[(self._first_wave + count // _WAVE) % len(WAVES)]

    def _new_side(self, member: _Member, count: int) -> Side:
        member.count += 1
        topics = some_of(self._chance, member.place.topics)
        wave = self._wave(count)
        if wave == "consumer" or (wave == "both" and self._chance.randrange(2)):
            return ConsumerSide(member.place, f"{member.place.name}-{member.count}", topics)
        return ClassicSide(member.place, topics, self._join_timeout_ms)

    async def _ask(self, coordinator: Coordinator, asking: Asking) -> None:
        try:
            answer = await coordinator.ask(asking.message, asking.version, lambda _: ErrorCode.NONE)
        except (OSError, Malformed, KafkaError) as error:
            self.progress.count_error(code_of(error).name)
            return
        with suppress(AttributeError):  # Some answers have codes of their parts alone.
            coordinator.heed(ErrorCode(code_in(answer)))
        asking.answered(answer)
        self.progress.acknowledged += 1

    async def _configure(self, client: ClusterClient, turn: int) -> None:
        configs = GROUP_CONFIGS[turn % len(GROUP_CONFIGS)]
        request = alter_configs_request(ResourceType.GROUP, {self._settings.group: configs})
        answer = await client.ask_any(request, _ALTER_VERSION)
        for row in answer.responses:
            if row.error_code:
                self.progress.count_error(ErrorCode(row.error_code).name)

    async def _look(self, count: int) -> None:
        """Look which topics there are; the group is to be quick, whatever others are."""
        turn, is_between = divmod(count, _TURN)
        client = self._members[0].client
        with suppress(OSError, Malformed):
            if not is_between:
                await self._configure(client, turn + self._first_turn)
            view = await client.view(list(self._settings.topics))
            self._known = known_topics(view)
