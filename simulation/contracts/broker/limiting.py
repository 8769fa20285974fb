"""What a broker with quotas of clients promises: who keeps to its rate waits for nobody.

Who did more waits as long as that takes at its rate, and no longer.
Source: Rate.java, QuotaUtils.java, TokenBucket.java, ClientQuotaManager.scala, KIP-599, KIP-612.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Final

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.client_quotas.connection_rates import ConnectionRates
from broker.core.client_quotas.limits import Asker, Limit, QuotaLimits
from broker.core.client_quotas.mutations import Admission, Mutations
from broker.core.client_quotas.sampled_rate import SampledRate
from broker.core.client_quotas.token_bucket import TokenBucket
from protocol.client_quotas.entities import REQUEST_PERCENTAGE
from protocol.configs.broker import INT_MAX
from protocol.connection import DEFAULT_LISTENER
from protocol.messages.topics import (
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from protocol.transport.arrivals import Arrival
from simulation.contracts.contract import Broken, of_method

_ROUNDING: Final = 1e-6
_KNOWS_THE_ERROR_SINCE: Final = {
    CreateTopicsRequest: 6,
    CreatePartitionsRequest: 3,
    DeleteTopicsRequest: 5,
}
"""KIP-599: THROTTLING_QUOTA_EXCEEDED."""


@of_method(SampledRate, "record")
def record(rate: SampledRate, value: float, now_ms: int) -> Generator[None, None, Broken]:
    """What a client did counts from now on, in a sample that is under way."""
    before = sum(total for _, total, _ in rate._samples)  # noqa: SLF001 -- nothing public
    yield
    samples, sample_ms = rate._samples, rate._sampling.sample_ms  # noqa: SLF001 -- as above
    counted = sum(total for _, total, _ in samples) - before
    if abs(counted - value) > _ROUNDING * max(1.0, abs(before), abs(value)):
        return f"{counted} is counted of {value}"
    begun_ms, _, last_ms = samples[-1]
    is_under_way = now_ms - sample_ms < begun_ms <= now_ms == last_ms
    return None if is_under_way else f"at {now_ms} it counts in the sample {samples[-1]}"


@of_method(SampledRate, "throttle_ms")
def throttle_ms(rate: SampledRate, limit: float, now_ms: int) -> Generator[None, int, Broken]:
    """The wait, and what the rate is measured over, last as long as all of it takes at the limit.

    It is measured from the oldest sample that counts on, and over all samples but one at least; up
    to a sample may be added, for the one that is under way.
    """
    samples, sample_ms = rate._sampling  # noqa: SLF001 -- as above
    all_ms = samples * sample_ms
    counting = [one for one in rate._samples if now_ms - one[2] < all_ms]  # noqa: SLF001 -- as above
    wait_ms = yield
    if not counting or wait_ms < 0:
        return None if wait_ms == 0 else f"{wait_ms} ms for nothing"
    if limit <= 0:
        return None
    least_ms = max(now_ms - counting[0][0], all_ms - sample_ms)
    wanted_ms = sum(total for _, total, _ in counting) * 1000 / limit
    measured_ms = wanted_ms - wait_ms
    is_right = measured_ms <= least_ms + sample_ms + 1 and (
        wait_ms == 0 or measured_ms >= least_ms - 1
    )
    return None if is_right else f"{wait_ms} ms for {wanted_ms} ms of it in {least_ms} ms"


@of_method(TokenBucket, "take")
def take(bucket: TokenBucket, tokens: float, now_ms: int) -> Generator[None, None, Broken]:
    """A budget has what its rate gives it, less what is taken, and never more than fits."""
    most, had = _budget(bucket, now_ms)
    yield
    has = bucket._tokens  # noqa: SLF001 -- as above
    wanted = min(had - tokens, most)
    is_right = abs(has - wanted) <= _ROUNDING * max(1.0, abs(wanted))
    return None if is_right else f"of {had} are left {has} after {tokens}, {most} fit"


@of_method(TokenBucket, "wait_ms")
def wait_ms(bucket: TokenBucket, limit: float, now_ms: int) -> Generator[None, int, Broken]:
    """Who has overdrawn its budget waits until its rate has given that back, others not at all."""
    _, had = _budget(bucket, now_ms)
    waits_ms = yield
    needed_ms = max(0.0, -had / limit * 1000)
    return None if abs(waits_ms - needed_ms) <= 1 else f"{waits_ms} ms at {had}, {limit} a second"


def _budget(bucket: TokenBucket, now_ms: int) -> tuple[float, float]:
    """Return how many tokens fit, and how many there are now."""
    limit = bucket._limit  # noqa: SLF001 -- as above
    most = limit * bucket._burst_s  # noqa: SLF001 -- as above
    elapsed_ms = now_ms - bucket._filled_ms  # noqa: SLF001 -- as above
    return most, min(bucket._tokens + limit * elapsed_ms / 1000, most)  # noqa: SLF001 -- as above


@of_method(QuotaLimits, "of")
def of(limits: QuotaLimits, asker: Asker) -> Generator[None, Limit | None, Broken]:
    """The most specific quota holds; who has its own or a default one does not share it."""
    found = yield
    for user, client_id in _places(asker):
        per_second = limits._limits.get((user, client_id))  # noqa: SLF001 -- as above
        if per_second is not None:
            sharers = ("" if user == "" else asker.user, "" if client_id == "" else asker.client_id)
            wanted = Limit(per_second, sharers)
            return None if found == wanted else f"{found} for {asker}, not {wanted}"
    return None if found is None else f"{found} for {asker}, of whom there is no quota"


def _places(asker: Asker) -> Iterator[tuple[str | None, str | None]]:
    """Give where a quota may stand, as Kafka's documentation lists them; "" names nothing."""
    client_ids = (asker.client_id, None, "") if asker.client_id else ("",)
    for user in (asker.user, None, ""):
        for client_id in client_ids:
            if user != "" or client_id != "":
                yield user, client_id


@of_method(ClientQuotas, "record")
def client_record(
    quotas: ClientQuotas, key: str, asker: Asker, value: float, now_ms: int
) -> Generator[None, int, Broken]:
    """Who has no quota is not throttled; for its share of time nobody is longer than a sample."""
    waits_ms = yield
    limit = quotas._limits[key].of(asker)  # noqa: SLF001 -- as above
    if limit is None:
        return f"{asker} has no quota and waits {waits_ms} ms" if waits_ms else None
    if (key, limit.sharers) not in quotas._rates:  # noqa: SLF001 -- as above
        return f"{value} of {limit.sharers} is not counted"
    most_ms = quotas._sampling.sample_ms  # noqa: SLF001 -- as above
    if key == REQUEST_PERCENTAGE and waits_ms > most_ms:
        return f"{waits_ms} ms for a share of time, {most_ms} are the most"
    return None


@of_method(Mutations, "admit")
def admit(
    mutations: Mutations, request: Any, version: int, asker: Asker, now_ms: int
) -> Generator[None, Admission, Broken]:
    """Each topic goes through or is refused, and is counted if it goes through.

    Old clients, who do not know the error, are refused nothing, and wait instead.
    """
    admission = yield
    knows = version >= _KNOWS_THE_ERROR_SINCE[type(request)]
    refused = _topics(admission.refused)
    if sorted(map(str, _topics(admission.admitted) + refused)) != sorted(
        map(str, _topics(request))
    ):
        return f"{admission} of {request}"
    if refused and (not knows or not admission.throttle_ms):
        return f"{refused} are refused in version {version}, to wait {admission.throttle_ms} ms"
    if knows and not refused and admission.throttle_ms:
        return f"nothing is refused, and it waits {admission.throttle_ms} ms"
    wanted = sum(_partitions(mutations, one) for one in _topics(admission.admitted))
    counted = sum(admission.counts.values())
    return None if counted == wanted else f"{counted} partitions of {wanted} are counted"


def _topics(request: Any) -> list[Any]:
    if request is None:
        return []
    return [*request.topics, *(getattr(request, "topic_names", None) or ())]


def _partitions(mutations: Mutations, topic: Any) -> int:
    """Return how many partitions are made or deleted, as far as it is known here."""
    if isinstance(topic, CreatableTopic):
        asked = len(topic.assignments) if topic.assignments else topic.num_partitions
        new = mutations._new_partitions  # noqa: SLF001 -- as above
        return new if asked == -1 else max(0, asked)
    image = mutations._image  # noqa: SLF001 -- as above
    name = topic if isinstance(topic, str) else topic.name
    if not name and isinstance(topic, DeleteTopicState):
        name = image.topic_name(topic.topic_id)
    known = image.topic(name) if name else None
    has = 0 if known is None else len(known.partitions)
    if isinstance(topic, CreatePartitionsTopic):
        return max(0, topic.count - has) if has else 0
    return has


@of_method(ConnectionRates, "arrive")
def arrive(
    rates: ConnectionRates, host: str, now_ms: int, listener: str = DEFAULT_LISTENER
) -> Generator[None, Arrival, Broken]:
    """Nobody waits longer than a sample, and who is limited nowhere not at all.

    Refused is only an address that has a quota.
    """
    arrival = yield
    limits = rates._limits  # noqa: SLF001 -- as above
    has_own = host in limits or None in limits
    most_ms = rates._sampling.sample_ms  # noqa: SLF001 -- as above
    if arrival.is_refused and not (has_own and arrival.wait_ms > 0):
        return f"{host} is refused, of which there is no quota, with {arrival}"
    of_listener = rates._listener_limits.get(listener, INT_MAX)  # noqa: SLF001 -- as above
    is_spared = listener == rates._spared  # noqa: SLF001 -- as above
    of_broker = INT_MAX if is_spared else rates._broker_limit  # noqa: SLF001 -- as above
    is_limited = has_own or min(of_listener, of_broker) < INT_MAX
    if not 0 <= arrival.wait_ms <= (most_ms if is_limited else 0):
        return f"{host} at {listener}, limited: {is_limited}, waits {arrival.wait_ms} ms"
    return None
