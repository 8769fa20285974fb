"""A gate holds back until it is opened."""

from __future__ import annotations

import threading

from broker.storage.fault_gates import ThreadGate


def test_a_gate_lets_go_when_it_is_opened_and_all_that_come_after() -> None:
    gate = ThreadGate()
    gate.wait(0)
    thread = threading.Thread(target=gate.wait, args=(None,), daemon=True)
    thread.start()
    gate.open()
    thread.join(10)
    assert not thread.is_alive()
    gate.wait(None)
