"""The faults of one broker, each with an id: on its disks, its ways to nodes, its requests.

It lays them over what is given to it and counts. When a fault comes and goes is not its matter.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from broker.core.request_rules import RequestRule
from broker.request_faults import Passed, RequestFaults
from broker.storage.fault_rules import FaultRule
from broker.storage.faults import FaultyDisk
from protocol.document_shape import Path, place
from protocol.faults.document import fault_content, read_fault
from protocol.faults.model import BrokerFault, DiskFault, NetworkFault, NodeFault, unknown_nodes
from protocol.faults.requests import RequestFault, RequestMode
from protocol.transport.network_faults import NetworkFaults, NetworkRule

ENDED_MAX: Final = 1_000
"""So many faults that are over are still told about."""
_ID: Final = "id"


class FaultRefusedError(ValueError):
    """Faults that cannot be put in force; the text has a line for each mistake."""


class _Laid:
    """A fault that is in force, or was."""

    def __init__(self, fault: BrokerFault) -> None:
        self.fault = fault
        self.disk_rules: list[tuple[str, FaultyDisk, FaultRule]] = []
        self.network_rule: NetworkRule | None = None
        self.request_rule: RequestRule | None = None
        self.is_over = False

    def rules(self) -> list[FaultRule | NetworkRule | RequestRule]:
        """Return all its rules, also those that are over."""
        others = [self.network_rule, self.request_rule]
        return [
            *(rule for _, _, rule in self.disk_rules),
            *(rule for rule in others if rule is not None),
        ]


class FaultPlane:
    """What is broken in one broker."""

    def __init__(
        self,
        broker_ids: tuple[int, ...],
        disks: Mapping[str, FaultyDisk],
        network: NetworkFaults,
        requests: RequestFaults,
    ) -> None:
        """Break nothing yet.

        Args:
            broker_ids: of all brokers of the cluster.
            disks: by path, as they are at any time.
            network: this broker's.
            requests: this broker's.
        """
        self.node = network.own
        self._broker_ids = broker_ids
        self._disks = disks
        self._network = network
        self._requests = requests
        self._laid: dict[str, _Laid] = {}
        self._numbers = itertools.count(1)

    def add(self, fault: BrokerFault, fault_id: str | None = None) -> str:
        """Put one fault in force; return its id, ``fault-1`` and so on unless it is given.

        Raises:
            FaultRefusedError: the id is taken, or this broker cannot do that.
        """
        fault_id = fault_id or self._new_id()
        mistakes = list(self._mistakes(fault, fault_id, ()))
        if mistakes:
            raise FaultRefusedError("\n".join(mistakes))
        laid = _Laid(fault)
        try:
            self._lay(laid)
        except ValueError as error:
            self._end(laid)
            raise FaultRefusedError(str(error)) from error
        before = self._laid.pop(fault_id, None)  # One that is over makes room for another.
        if before is not None and before.request_rule is not None:
            self._requests.forget(before.request_rule)
        self._laid[fault_id] = laid
        self._forget_oldest()
        return fault_id

    def add_all(self, contents: Sequence[Any]) -> dict[str, BrokerFault]:
        """Put the faults of mappings in force, all or none; a mapping may have an ``id``.

        Raises:
            FaultRefusedError: every mistake with its path.
        """
        read = [self._read(content, index) for index, content in enumerate(contents)]
        mistakes = [mistake for _, _, told in read for mistake in told]
        ids = [fault_id for fault_id, _, _ in read if fault_id is not None]
        mistakes += [
            f"faults: id {each} is given twice" for each, n in Counter(ids).items() if n > 1
        ]
        if mistakes:
            raise FaultRefusedError("\n".join(mistakes))
        added: dict[str, BrokerFault] = {}
        for fault_id, fault, _ in read:
            assert fault is not None
            try:
                added[self.add(fault, fault_id)] = fault
            except FaultRefusedError:
                self.clear(list(added))
                raise
        return added

    def clear(self, ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Take faults out of force, all by default; describe them as they were.

        Raises:
            FaultRefusedError: there never was one of these ids.
        """
        unknown = [each for each in ids or () if each not in self._laid]
        if unknown:
            known = ", ".join(self._laid) or "no faults"
            raise FaultRefusedError(f"ids: {', '.join(unknown)} not among {known}")
        chosen = [each for each, laid in self._laid.items() if not laid.is_over]
        if ids is not None:
            chosen = list(ids)
        for each in chosen:
            self._end(self._laid[each])
        return [self._description(each, self._laid[each]) for each in chosen]

    def clear_disk(self, path: str) -> None:
        """Take every fault off one log dir; faults of several log dirs go on on the others."""
        self._disks[path].clear()
        for laid in self._laid.values():
            if isinstance(laid.fault, DiskFault) and not any(
                rule in disk.rules for _, disk, rule in laid.disk_rules
            ):
                laid.is_over = True

    def describe(self) -> list[dict[str, Any]]:
        """Describe every fault, oldest first, those that are over too: rule, matches and hits."""
        return [self._description(each, laid) for each, laid in self._laid.items()]

    def release(self, fault_id: str, count: int | None = None) -> int:
        """Let requests go on that a fault of mode hold holds, all or the first; return how many.

        Raises:
            FaultRefusedError: it holds none, whatever comes.
        """
        laid = self._laid.get(fault_id)
        rule = None if laid is None else laid.request_rule
        if rule is None or not _holds(rule):
            holding = [each for each, one in self._laid.items() if _is_hold(one.fault)]
            known = ", ".join(holding) or "none"
            raise FaultRefusedError(f"id: {fault_id} is no fault of mode hold; there are: {known}")
        return self._requests.release(rule, count)

    def passed(self) -> dict[str, list[Passed]]:
        """Return by id what the faults of mode observe saw, the newest requests."""
        return {
            each: self._requests.passed(laid.request_rule)
            for each, laid in self._laid.items()
            if laid.request_rule is not None and laid.request_rule.fault.mode is RequestMode.OBSERVE
        }

    # How it is done.

    def _read(self, content: Any, index: int) -> tuple[str | None, BrokerFault | None, list[str]]:
        path: Path = ("faults", index)
        fault, mistakes = read_fault(content, path=path, other_keys=(_ID,))
        given = cast("dict[Any, Any]", content).get(_ID) if isinstance(content, dict) else None
        fault_id = given if isinstance(given, str) and given else None
        if given is not None and fault_id is None:
            mistakes.append(f"{place((*path, _ID))}: must be text, is {given!r}")
        if isinstance(fault, NodeFault):
            outside = "is done from outside: by `jbodlab brokers` or by a scenario"
            return None, None, [f"{place((*path, 'mode'))}: {fault.mode.value} {outside}"]
        if fault is not None and not mistakes:
            mistakes = list(self._mistakes(fault, fault_id, path))
        return fault_id, fault, mistakes

    def _mistakes(self, fault: BrokerFault, fault_id: str | None, path: Path) -> list[str]:
        mistakes: list[str] = []
        laid = self._laid.get(fault_id or "")
        if laid is not None and not laid.is_over:
            mistakes.append(f"{place((*path, _ID))}: {fault_id} is in force already")
        if isinstance(fault, NetworkFault):
            if self.node not in (fault.source, fault.target):
                mistakes.append(f"{place((*path, 'from'))}: from or to must be {self.node}")
            for node in unknown_nodes(fault, self._broker_ids):
                key = "from" if node == fault.source else "to"
                ids = ", ".join(map(str, self._broker_ids))
                mistakes.append(f"{place((*path, key))}: there is no {node}; brokers are {ids}")
        elif fault.node != self.node:
            mistakes.append(f"{place((*path, 'node'))}: this is {self.node}, not {fault.node}")
        elif isinstance(fault, RequestFault):
            pass
        elif fault.log_dir is not None and fault.log_dir not in self._disks:
            known = ", ".join(self._disks)
            mistakes.append(f"{place((*path, 'log_dir'))}: {fault.log_dir} is none of {known}")
        return mistakes

    def _lay(self, laid: _Laid) -> None:
        fault = laid.fault
        if isinstance(fault, NetworkFault):
            laid.network_rule = self._network.add_rule(fault)
            return
        if isinstance(fault, RequestFault):
            laid.request_rule = self._requests.add_rule(fault)
            return
        for path in self._disks if fault.log_dir is None else (fault.log_dir,):
            disk, rule = self._disks[path], FaultRule(fault)
            disk.add_rule(rule)
            laid.disk_rules.append((path, disk, rule))

    def _end(self, laid: _Laid) -> None:
        laid.is_over = True
        if laid.network_rule is not None:
            self._network.drop_rule(laid.network_rule)
        if laid.request_rule is not None:
            self._requests.drop_rule(laid.request_rule)
        for _, disk, rule in laid.disk_rules:
            disk.drop_rule(rule)

    def _new_id(self) -> str:
        while (made := f"fault-{next(self._numbers)}") in self._laid:
            pass
        return made

    def _forget_oldest(self) -> None:
        over = [each for each, laid in self._laid.items() if laid.is_over]
        for each in over[: max(0, len(over) - ENDED_MAX)]:
            if (rule := self._laid.pop(each).request_rule) is not None:
                self._requests.forget(rule)

    def _description(self, fault_id: str, laid: _Laid) -> dict[str, Any]:
        rules = laid.rules()
        rule = laid.request_rule
        held = {} if rule is None or not _holds(rule) else {"held": self._requests.held(rule)}
        return {
            "id": fault_id,
            "is_in_force": not laid.is_over,
            "matches": sum(rule.matches for rule in rules),
            "hits": sum(rule.hits for rule in rules),
            "fault": fault_content(laid.fault),
            **held,
        }


def _holds(rule: RequestRule) -> bool:
    return _is_hold(rule.fault)


def _is_hold(fault: BrokerFault) -> bool:
    return fault.mode is RequestMode.HOLD
