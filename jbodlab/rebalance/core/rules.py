"""Where a replica may go: Kafka's rules and the operator's, whatever the goal."""

from __future__ import annotations

from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.situation import LogDirId


def takes_replicas(model: ClusterModel, request: PlanRequest, target: LogDirId) -> bool:
    """Tell whether a log dir may get replicas: online, not cordoned, not to be emptied."""
    return model.log_dirs[target].accepts and not request.drains(target)


def may_go(model: ClusterModel, request: PlanRequest, slot: Slot, target: LogDirId) -> bool:
    """Tell whether one replica may go to ``target``, a log dir that takes replicas.

    One broker never gets two replicas of a partition, racks stay as spread as they are, a replica
    that is offline cannot be copied by its own broker, and the reserve of the disk stays free.
    """
    return (
        _broker_is_allowed(model, request, slot, target)
        and _keeps_racks_spread(model, slot, target)
        and _leaves_reserve(model, request, slot, target)
    )


def _broker_is_allowed(
    model: ClusterModel, request: PlanRequest, slot: Slot, target: LogDirId
) -> bool:
    replica = model.partition(slot).replicas[slot.replica]
    if replica.at.broker == target.broker:
        return replica.is_online
    is_between = request.between_brokers or bool(request.drained_brokers)
    return is_between and all(
        place.broker != target.broker
        for index, place in enumerate(model.places[slot.partition])
        if index != slot.replica
    )


def _keeps_racks_spread(model: ClusterModel, slot: Slot, target: LogDirId) -> bool:
    places = [place.broker for place in model.places[slot.partition]]
    if places[slot.replica] == target.broker:
        return True
    begun = [replica.at.broker for replica in model.partition(slot).replicas]
    places[slot.replica] = target.broker
    return _rack_count(model.racks, places) >= _rack_count(model.racks, begun)


def _rack_count(racks: dict[int, str], brokers: list[int]) -> int:
    return len({racks.get(broker, "") for broker in brokers})


def _leaves_reserve(
    model: ClusterModel, request: PlanRequest, slot: Slot, target: LogDirId
) -> bool:
    """What leaves a disk frees nothing until its copy is complete, so it does not count."""
    log_dir = model.log_dirs[target]
    if log_dir.usable_bytes < 0 or target == model.partition(slot).replicas[slot.replica].at:
        return True
    left_bytes = log_dir.usable_bytes - model.arriving_bytes[target] - model.size_bytes(slot)
    return left_bytes >= request.reserve * max(0, log_dir.total_bytes)
