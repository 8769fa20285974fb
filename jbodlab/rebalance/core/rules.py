"""Where a replica may go: Kafka's rules and the operator's, whatever the goal."""

from __future__ import annotations

from jbodlab.rebalance.core.board import Board, Slot
from jbodlab.rebalance.core.situation import LogDirId
from jbodlab.rebalance.core.wish import Wish


def takes_replicas(board: Board, wish: Wish, target: LogDirId) -> bool:
    """Tell whether a log dir may get replicas: online, not cordoned, not to be emptied."""
    return board.log_dirs[target].accepts and not wish.drains(target)


def may_go(board: Board, wish: Wish, slot: Slot, target: LogDirId) -> bool:
    """Tell whether one replica may go to ``target``, a log dir that takes replicas.

    One broker never gets two replicas of a partition, racks stay as spread as they are, a replica
    that is offline cannot be copied by its own broker, and the reserve of the disk stays free.
    """
    return (
        _broker_is_allowed(board, wish, slot, target)
        and _keeps_racks_spread(board, slot, target)
        and _leaves_reserve(board, wish, slot, target)
    )


def _broker_is_allowed(board: Board, wish: Wish, slot: Slot, target: LogDirId) -> bool:
    replica = board.partition(slot).replicas[slot.replica]
    if replica.at.broker == target.broker:
        return replica.is_online
    is_between = wish.between_brokers or bool(wish.drained_brokers)
    return is_between and all(
        place.broker != target.broker
        for index, place in enumerate(board.places[slot.partition])
        if index != slot.replica
    )


def _keeps_racks_spread(board: Board, slot: Slot, target: LogDirId) -> bool:
    places = [place.broker for place in board.places[slot.partition]]
    if places[slot.replica] == target.broker:
        return True
    begun = [replica.at.broker for replica in board.partition(slot).replicas]
    places[slot.replica] = target.broker
    return _rack_count(board.racks, places) >= _rack_count(board.racks, begun)


def _rack_count(racks: dict[int, str], brokers: list[int]) -> int:
    return len({racks.get(broker, "") for broker in brokers})


def _leaves_reserve(board: Board, wish: Wish, slot: Slot, target: LogDirId) -> bool:
    """What leaves a disk frees nothing until its copy is complete, so it does not count."""
    log_dir = board.log_dirs[target]
    if log_dir.usable_bytes < 0 or target == board.partition(slot).replicas[slot.replica].at:
        return True
    left_bytes = log_dir.usable_bytes - board.arriving_bytes[target] - board.size_bytes(slot)
    return left_bytes >= wish.reserve * max(0, log_dir.total_bytes)
