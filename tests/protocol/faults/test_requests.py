"""Faults of requests: every mode has a row that its keys fit to."""

from __future__ import annotations

import dataclasses

import pytest

from protocol.faults.requests import RequestFault, RequestMode


@pytest.mark.parametrize("mode", RequestMode, ids=lambda mode: mode.value)
def test_the_keys_of_a_mode_are_fields_of_the_fault(mode: RequestMode) -> None:
    fields = [each.name for each in dataclasses.fields(RequestFault)]
    row = mode.row
    assert [key for key in row.keys if key not in fields] == []
    assert {*row.needed, *row.needs_one_of} <= {*row.keys}


def test_a_fault_meets_everything_unless_it_says_otherwise() -> None:
    fault = RequestFault(mode=RequestMode.OBSERVE, node="broker-1")
    assert (fault.apis, fault.topic, fault.client_id, fault.probability) == (None, None, None, 1.0)
