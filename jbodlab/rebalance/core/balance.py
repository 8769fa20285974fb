"""Evens loads out, greedily: the fullest gives to the emptiest what brings both closest together.

A bucket is what is compared: the log dirs of one broker together, or one log dir. Where no replica
can go over, two change places. Every step lowers the sum of squares of loads per share, leaves each
log dir that gets something below the fullest of those that it relieves, and moves a replica once at
most, so it ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.rules import may_go
from jbodlab.rebalance.core.situation import LogDirId

Bucket: TypeAlias = tuple[LogDirId, ...]

_NEIGHBOURS: Final = 4
"""How many replicas on either side of the best weight are looked at for an exchange."""
_SWAP_WORTH: Final = 0.25
"""By what part of the tolerance an exchange has to close the gap: it copies two replicas."""


class Step(NamedTuple):
    """What goes where, all of it together: one replica, or two that change places."""

    moves: tuple[tuple[Slot, LogDirId], ...]


def balance(model: ClusterModel, request: PlanRequest, buckets: Sequence[Bucket]) -> None:
    """Move replicas between buckets until nothing that is allowed brings them closer."""
    _Balancing(model, request, buckets).run()


class _Balancing:
    """One run of ``balance``; remembers between which buckets nothing is to be had."""

    def __init__(
        self, model: ClusterModel, request: PlanRequest, buckets: Sequence[Bucket]
    ) -> None:
        self._model = model
        self._request = request
        self._buckets = buckets
        self._moved: set[Slot] = set()
        self._nothing: dict[tuple[Bucket, Bucket], None] = {}

    def run(self) -> None:
        while (step := self._next_step() or self._next_step_of_all()) is not None:
            for slot, target in step.moves:
                self._forget(self._model.place(slot))
                self._forget(target)
                self._model.move(slot, target)
                self._moved.add(slot)

    def _next_step_of_all(self) -> Step | None:
        """Look at all pairs again: a replica that went may let another of its partition go."""
        if not self._nothing:
            return None
        self._nothing.clear()
        return self._next_step()

    def _forget(self, place: LogDirId) -> None:
        """Look again at the pairs of the bucket with a log dir."""
        self._nothing = {pair: None for pair in self._nothing if not any(place in b for b in pair)}

    def _next_step(self) -> Step | None:
        model = self._model
        fair = model.bucket_fullness(each for bucket in self._buckets for each in bucket)
        ranked = sorted(self._buckets, key=lambda bucket: (model.bucket_fullness(bucket), bucket))
        for source in reversed(ranked):
            if model.bucket_fullness(source) <= fair * (1 + self._request.tolerance):
                return None
            if step := self._step_from(source, ranked, fair):
                return step
        return None

    def _step_from(self, source: Bucket, ranked: Sequence[Bucket], fair: float) -> Step | None:
        """Return a step that relieves ``source``: a move if there is any, else an exchange."""
        targets = [
            each
            for each in ranked
            if self._model.bucket_fullness(each) < fair and (source, each) not in self._nothing
        ]
        for target in targets:
            if step := self._best_move(source, target):
                return step
        for target in targets:
            if step := self._best_exchange(source, target, fair):
                return step
            self._nothing[source, target] = None
        return None

    def _best_move(self, source: Bucket, target: Bucket) -> Step | None:
        """Return the allowed move that gains most; of equals the one with the fewest bytes."""
        model, pair = self._model, _pair(self._model, source, target)
        limit = self._fullest(source)
        emptiest_first = sorted((model.fullness(each), each) for each in target)
        gains = [
            (-gain, model.size_bytes(slot), slot)
            for slot in self._movable(source)
            if (gain := pair.gain(model.weight(slot))) > 0
        ]
        for _, _, slot in sorted(gains):
            for fullness, log_dir in emptiest_first:
                if fullness >= limit:
                    break
                stays_below = model.fullness(log_dir, model.weight(slot)) < limit
                if stays_below and may_go(model, self._request, slot, log_dir):
                    return Step(((slot, log_dir),))
        return None

    def _best_exchange(self, source: Bucket, target: Bucket, fair: float) -> Step | None:
        """Return the allowed exchange that gains most; of equals the one with the fewest bytes."""
        model, pair = self._model, _pair(self._model, source, target)
        worth = _SWAP_WORTH * self._request.tolerance * fair
        found: list[tuple[float, int, Slot, Slot]] = []
        for given, taken in self._candidates(source, target, pair.best_amount):
            net = model.weight(given) - model.weight(taken)
            if (gain := pair.gain(net)) > 0 and pair.closed_by(net) >= worth:
                size_bytes = model.size_bytes(given) + model.size_bytes(taken)
                found.append((-gain, size_bytes, given, taken))
        limit = self._fullest(source)
        for _, _, given, taken in sorted(found):
            if self._may_change_places(given, taken, limit):
                return Step(((given, model.place(taken)), (taken, model.place(given))))
        return None

    def _candidates(
        self, source: Bucket, target: Bucket, best: float
    ) -> Iterator[tuple[Slot, Slot]]:
        """Yield for each replica of the source those of the target that weigh ``best`` less."""
        model = self._model
        lighter = sorted((model.weight(slot), slot) for slot in self._movable(target))
        weights = [weight for weight, _ in lighter]
        for slot in self._movable(source):
            middle = bisect_left(weights, model.weight(slot) - best)
            around = lighter[max(0, middle - _NEIGHBOURS) : middle + _NEIGHBOURS]
            yield from ((slot, each) for _, each in around)

    def _may_change_places(self, given: Slot, taken: Slot, limit: float) -> bool:
        model, request = self._model, self._request
        here, there = model.place(given), model.place(taken)
        net = model.weight(given) - model.weight(taken)
        return (
            given.partition != taken.partition
            and model.fullness(there, net) < limit
            and may_go(model, request, given, there)
            and may_go(model, request, taken, here)
        )

    def _fullest(self, bucket: Bucket) -> float:
        return max(self._model.fullness(each) for each in bucket)

    def _movable(self, log_dirs: Iterable[LogDirId]) -> Iterable[Slot]:
        model = self._model
        for log_dir in log_dirs:
            for slot in model.contents[log_dir]:
                partition = model.partition(slot)
                if slot not in self._moved and partition.is_whole and not partition.is_changing:
                    yield slot


class _Pair(NamedTuple):
    """Two buckets as amounts that go from the fuller to the emptier see them."""

    gap: float
    stiffness: float
    """By how much the gap falls for each unit that goes over."""

    @property
    def best_amount(self) -> float:
        """After it both are as full."""
        return self.gap / self.stiffness

    def gain(self, amount: float) -> float:
        """Return by how much the sum of squares falls when ``amount`` goes over."""
        return amount * (2 * self.gap - amount * self.stiffness) if amount > 0 else 0.0

    def closed_by(self, amount: float) -> float:
        """Return by how much the gap is smaller when ``amount`` went over."""
        return self.gap - abs(self.gap - amount * self.stiffness)


def _pair(model: ClusterModel, source: Bucket, target: Bucket) -> _Pair:
    return _Pair(
        gap=model.bucket_fullness(source) - model.bucket_fullness(target),
        stiffness=1 / model.bucket_share(source) + 1 / model.bucket_share(target),
    )
