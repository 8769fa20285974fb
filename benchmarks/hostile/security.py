"""The part ``security`` of ``python -m benchmarks.hostile``: strangers, and clients who may little.

A cluster has a listener for each protocol, and an authorizer. Strangers do their worst before they
have authenticated; alice, who has authenticated and whom no ACL names, asks for other epochs. The
bystander beside each attack comes in by PLAINTEXT.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click
import psutil

from benchmarks.hostile import epochs
from benchmarks.hostile.handshakes import CLOSED, attacks
from benchmarks.hostile.lab import BROKER_ID, TOPIC, HostileLab, hostile_lab
from benchmarks.hostile.memory import BACK_S, RESIDENT_MB_MAX
from benchmarks.secured_lab import CA_FILE, PASSWORD, USER, SecuredLab, write_secured_lab
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.free_ports import LOOPBACK
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.security.client import ClientSecurity, security_by

PIECE_MS_MAX: Final = 20.0
P99_MS_MAX: Final = 50.0
_NODE: Final = f"broker-{BROKER_ID}"
_CONFIGS: Final = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    # The bystander, and who makes its topic, come in by PLAINTEXT.
    "super.users": "User:broker;User:ANONYMOUS",
}
_FORM: Final = "{:44} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6}  {}"


@dataclass(frozen=True, slots=True)
class SecurityRow:
    """What one attack did."""

    attack: str
    outcome: str
    """"closed" of a stranger, "refused" of who is not a broker; all else is a miss."""
    taken_ms: float
    piece_ms: float
    """The longest piece of processor time of a loop, as of the part ``processor``."""
    p99_ms: float | None
    """Of the bystander."""
    resident_mb: float
    """The broker's resident set since. Watched processes run on asyncio's own loop, which has 256
    KiB of buffers for each TLS connection."""
    left_count: int
    """Connections that the node still has ``BACK_S`` after those of the attack were closed."""
    epoch: int
    """The leader epoch of the bystander's partition, which was 0."""

    @property
    def is_beyond(self) -> bool:
        """Whether it did more than it may."""
        is_slow = self.piece_ms > PIECE_MS_MAX or (self.p99_ms or 0) > P99_MS_MAX
        has_kept = self.resident_mb > RESIDENT_MB_MAX or self.left_count > 0
        is_in = self.outcome not in (CLOSED, epochs.REFUSED) or self.epoch != 0
        return is_slow or has_kept or is_in


def attack_security(only: str, *, as_json: bool) -> int:
    """Attack by what has ``only`` in its name; return how many rows passed a bound."""
    beyond = 0
    with tempfile.TemporaryDirectory(prefix="jbodlab-hostile-") as name:
        secured = write_secured_lab(Path(name), configs=_CONFIGS)
        with hostile_lab(Path(name), secured.file) as lab:
            if not as_json:
                heads = ("attack", "outcome", "took ms", "piece ms", "p99 ms", "MB")
                click.echo(_FORM.format(*heads, "left", "epoch", ""))
            for attack, port, strike in _strikes(lab, secured):
                if only not in attack:
                    continue
                row = _measured(lab, attack, port, strike)
                beyond += row.is_beyond
                if as_json:
                    click.echo(json.dumps(asdict(row)))
                else:
                    cells = ["-" if each is None else each for each in asdict(row).values()]
                    click.echo(_FORM.format(*cells, "!" if row.is_beyond else ""))
    return beyond


def _strikes(lab: HostileLab, secured: SecuredLab) -> Iterator[tuple[str, int, Callable[[], str]]]:
    for attack in attacks():
        name = f"{attack.name} ({attack.listener})"
        port = secured.ports[attack.listener]
        yield name, port, partial(attack.strike, port)
    controller = lab.cluster.spec.controller.port
    asked = (
        ("broker", secured.ports["SASL_SSL"], epochs.at_broker(TOPIC)),
        ("controller", controller, epochs.at_controller()),
    )
    for node, port, requests in asked:
        for api, (message, version) in requests.items():
            name = f"{api} by alice ({node})"
            yield name, port, partial(_ask, secured, port, message, version)


def _ask(secured: SecuredLab, port: int, message: object, version: int) -> str:
    client = BlockingClient(LOOPBACK, port, security=_alice(secured))
    with closing(client):
        return epochs.outcome(client, message, version)


def _alice(secured: SecuredLab) -> ClientSecurity:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    properties = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secured.folder / CA_FILE),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{module} required username="{USER}" password="{PASSWORD}";',
    }
    return security_by(properties, time.time_ns() // 1_000_000)


def _measured(lab: HostileLab, attack: str, port: int, strike: Callable[[], str]) -> SecurityRow:
    process = lab.cluster.processes[_NODE]
    connected_count = _connected_count(lab, port)
    row = lab.measure("broker", "", attack, 0, strike)
    end_s = time.monotonic() + BACK_S
    while _connected_count(lab, port) > connected_count and time.monotonic() < end_s:
        time.sleep(0.1)
    with ClusterAdmin(lab.cluster.spec) as admin:
        (partition,) = admin.any_view([TOPIC]).partitions
    return SecurityRow(
        attack,
        row.outcome,
        row.taken_ms,
        row.piece_ms,
        row.p99_ms,
        resident_mb=round(process.rss_bytes() / 1e6, 1),
        left_count=max(0, _connected_count(lab, port) - connected_count),
        epoch=partition.leader_epoch,
    )


def _connected_count(lab: HostileLab, port: int) -> int:
    """Return how many connections all nodes have at a port."""
    return sum(
        each.laddr.port == port and each.status == psutil.CONN_ESTABLISHED
        for process in lab.cluster.processes.values()
        for each in psutil.Process(process.pid).net_connections("tcp")
    )
