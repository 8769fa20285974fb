"""The console in a real Chromium, over a real cluster: what it shows, what clicks and keys order.

Then the page of a report. `make page` runs it; it writes build/console.png and build/report.png,
or the same below docs with `--picture`, and build/console-narrow.png.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

import jbodlab
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.fill import fill as write_records
from jbodlab.load import Load
from jbodlab.processes.cluster import Cluster as ClusterProcesses
from tests.browser.chromium import Page, browsed, find_chromium
from tests.browser.report_page import a_report_is_drawn
from tests.integration.labs import FAST, PATIENT_MS
from tests.integration.test_http_api import Client, served

ROOT: Final = Path(__file__).parents[2]
NO_BROWSER: Final = 2
TOPICS: Final = (("orders", 6, 12), ("payments", 3, 9), ("audit", 2, 2))
"""Name, partitions, MiB of records."""
NARROW_PIXELS: Final = 400
NAMED_ROLES: Final = frozenset(
    ("button", "combobox", "checkbox", "slider", "article", "region", "log", "heading", "group")
)
HOSTILE: Final = "<img src=x onerror='document.title=1'>"
"""The id of a fault that would be markup, were it not shown as text."""


def main() -> int:
    """Return the exit code: 2 where there is no Chromium."""
    chromium = find_chromium()
    if chromium is None:
        words = "there is no Chromium: install it, or name it with CHROMIUM=/path/to/it"
        sys.stdout.write(f"make page: {words}\n")
        return NO_BROWSER
    with jbodlab.Cluster(configs=FAST, session_timeout_ms=PATIENT_MS) as cluster:
        fill(cluster)
        with served(cluster) as client, browsed(chromium) as page:
            page.send("Page.navigate", url=f"http://127.0.0.1:{client.port}/")
            shows_the_cluster(page)
            with written_to(cluster):
                a_disk_is_broken_by_click_and_told(page)
                its_failover_is_told_step_by_step(page)
                rates_and_latencies_are_shown(page)
            keep_picture(page, cluster, client)
            a_narrow_window_shows_it_all(page)
            a_screen_reader_can_name_everything(page)
            what_is_named_like_markup_is_text(page, cluster, client)
            a_disk_is_mended_by_keys(page)
            a_replica_is_dragged(page)
            a_replica_is_moved_by_its_dialog(page)
            a_simulated_run_is_played(page, client)
            a_recorded_run_is_played(page)
            a_file_that_is_none_is_refused(page)
            assert page.problems == [], page.problems
    with browsed(chromium) as page:
        a_report_is_drawn(page, picture("report"))
        assert page.problems == [], page.problems
    sys.stdout.write("make page: the console shows, breaks, mends and moves; a report is drawn\n")
    return 0


def fill(cluster: jbodlab.Cluster) -> None:
    """Have topics with records in them, of several sizes."""
    spec = ClusterProcesses(cluster.folder / "cluster.yaml").spec
    for name, partitions, mib in TOPICS:
        cluster.create_topic(name, partitions)
        with ClusterAdmin(spec) as admin:
            for _ in write_records(
                admin, name, size_bytes=mib << 20, record_bytes=1024, chance=Random(1)
            ):
                pass


def picture(name: str) -> Path:
    """Return where a picture is to be kept."""
    target = ROOT / ("docs" if "--picture" in sys.argv else "build") / f"{name}.png"
    target.parent.mkdir(exist_ok=True)
    return target


def shows_the_cluster(page: Page) -> None:
    page.until("document.querySelectorAll('.disk').length === 9")
    page.until("document.querySelectorAll('.replica[aria-label*=leader]').length === 11")
    assert page.run("document.querySelectorAll('.broker[data-state=running]').length") == 3
    widths = "[...document.querySelectorAll('.bar .replica')].map(e => e.offsetWidth)"
    assert page.run(f"Math.max(...{widths}) > 3 * 11"), "bars are drawn to scale"


def a_disk_is_broken_by_click_and_told(page: Page) -> None:
    page.run("document.querySelector('.disk-name').click()")
    page.run("document.querySelector('#disk-dialog button[value=eio]').click()")
    page.until("document.querySelector('.disk').dataset.state === 'offline'")
    page.until("!!document.querySelector('#events [data-kind=log_dir_failed]')")
    page.until("!!document.querySelector('#events [data-kind=leader_changed]')")
    page.until("document.querySelector('#faults li span').textContent.startsWith('eio')")
    # What was on it is still there to be seen.
    page.until("!!document.querySelector('.disk .behind')")


@contextmanager
def written_to(cluster: jbodlab.Cluster) -> Generator[None]:
    """Have a client write all the while."""
    name, partitions, _ = TOPICS[0]
    servers = cluster.bootstrap_servers.split(",")
    load = Load(servers, name, partitions=partitions, size_bytes=500, pace_ms=10).start()
    try:
        yield
    finally:
        load.stop()


def its_failover_is_told_step_by_step(page: Page) -> None:
    """Each with its time since the failure, up to the first record that a new leader takes."""
    told = (
        "[...document.querySelectorAll('#events [data-kind=failover_step]')]"
        ".map((each) => each.textContent).join('\\n')"
    )
    for words in ("went offline", "noticed", "elected", "are told", "take records again"):
        page.until(f"{told}.includes({json.dumps(words)})")
    # The newest is first, whatever was told late.
    times = "[...document.querySelectorAll('#events li')].map((each) => Number(each.dataset.at))"
    assert page.run(f"{times}.every((time, n, all) => !n || time <= all[n - 1])")


def rates_and_latencies_are_shown(page: Page) -> None:
    rows = "[...document.querySelectorAll('#apis tr')]"
    produce = f"{rows}.find((each) => each.firstElementChild.textContent === 'Produce')"
    page.until(f"/\\d ms$/.test({produce}?.lastElementChild.textContent)")


def what_is_named_like_markup_is_text(page: Page, cluster: jbodlab.Cluster, client: Client) -> None:
    path = cluster.log_dir(2, 2).path
    rule = {"mode": "slow", "log_dir": path, "delay_ms": 20, "id": HOSTILE}
    assert client.call("POST", "/faults", rule)[0] == 201
    page.until("document.querySelectorAll('#faults li').length === 3")
    page.until(f"document.querySelector('#events').textContent.includes({json.dumps(HOSTILE)})")
    assert page.run("document.querySelectorAll('main img').length") == 0
    assert page.run("document.title") == "jbodlab"


def keep_picture(page: Page, cluster: jbodlab.Cluster, client: Client) -> None:
    """Write how it looks on a dark ground, with an offline disk and a slow one."""
    rule = {"mode": "slow", "log_dir": cluster.log_dir(3, 2).path, "delay_ms": 20}
    assert client.call("POST", "/faults", rule)[0] == 201
    page.until("document.querySelectorAll('#faults li').length === 2")
    page.send(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    picture("console").write_bytes(page.picture())
    page.send("Emulation.setEmulatedMedia", features=[])


def a_narrow_window_shows_it_all(page: Page) -> None:
    """As on a phone: nothing is wider than the window, and topics have their colours in it."""
    page.send(
        "Emulation.setDeviceMetricsOverride",
        width=NARROW_PIXELS,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    wide = page.run(
        "[...document.querySelectorAll('body *')]"
        f".filter((each) => each.getBoundingClientRect().right > {NARROW_PIXELS})"
        ".map((each) => each.outerHTML.slice(0, 80))"
    )
    assert wide == []
    colours = page.run(
        "[...new Set([...document.querySelectorAll('#all-brokers .replica.leader')]"
        ".map((each) => getComputedStyle(each).backgroundColor))]"
    )
    assert len(colours) == len(TOPICS), colours
    (ROOT / "build" / "console-narrow.png").write_bytes(page.picture())
    page.send("Emulation.clearDeviceMetricsOverride")


def a_screen_reader_can_name_everything(page: Page) -> None:
    """What can be focused has a name, sections and dialogs have titles."""
    page.send("Accessibility.enable")
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    page.send("Accessibility.disable")
    found = [
        (node["role"]["value"], node["name"]["value"])
        for node in nodes
        if not node["ignored"] and node.get("role", {}).get("value") in NAMED_ROLES
    ]
    assert {role for role, _ in found} >= {"button", "article", "region", "log", "heading"}, found
    assert [role for role, name in found if not name] == []


def a_simulated_run_is_played(page: Page, client: Client) -> None:
    run = "kip-112-leader-log-dir-fails/0"
    page.send("Page.navigate", url="about:blank")
    page.send("Page.navigate", url=f"http://127.0.0.1:{client.port}/#run={run}&at=900")
    page.until("document.querySelector('#player')?.hidden === false")
    disks = "document.querySelectorAll('.disk[data-state=offline]').length"
    page.until("document.querySelectorAll('.disk').length === 6")
    assert page.run(disks) == 0
    # Scrubbed behind the failure of the first disk: the address says where.
    page.run(
        "{const t = document.querySelector('#time'); t.value = 1500;"
        " t.dispatchEvent(new Event('input'))}"
    )
    assert page.run(disks) == 1
    assert page.run("location.hash").endswith(f"run={run}&at=1500")
    assert "eio" in page.run("document.querySelector('#faults').textContent")
    # Played on, it ends with the last moment.
    page.run("document.querySelector('#speed').value = '5'")
    page.run("document.querySelector('#play').click()")
    page.until("document.querySelectorAll('.to-come').length === 0")
    page.until("document.querySelector('#play').textContent === 'Play'")


def a_recorded_run_is_played(page: Page) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recorded.json"
        words = ("--scenario", "kip-112-leader-log-dir-fails", "--seed", "0", "--record", str(file))
        subprocess.run(
            [sys.executable, "-m", "jbodlab", "simulate", *words],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
        )
        # One run plays on while the file of the next is chosen.
        page.run("document.querySelector('#play').click()")
        choose(page, file)
        page.until("document.body.dataset.playing === 'file'")
    address = page.run("location.href")
    assert page.run("document.querySelector('#now').textContent") == "0.000 s"
    assert page.run("document.querySelector('#play').textContent") == "Play"
    assert page.run("document.querySelector('#share').hidden"), "a file has no address"
    page.run(
        "{const t = document.querySelector('#time'); t.value = 1500;"
        " t.dispatchEvent(new Event('input'))}"
    )
    assert page.run("document.querySelectorAll('.disk[data-state=offline]').length") == 1
    assert page.run("location.href") == address
    # The run before would have drawn over it by now.
    page.run("new Promise((done) => setTimeout(done, 200))")
    assert page.run("document.querySelector('#time').value") == "1500"


def a_file_that_is_none_is_refused(page: Page) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("broken.json", "{"), ("other.json", "null")):
            file = Path(folder) / name
            file.write_text(content)
            choose(page, file)
            words = json.dumps(f"{name} is no recorded run")
            page.until(f"document.querySelector('#said').textContent.includes({words})")
    assert page.run("document.querySelector('#time').value") == "1500", "what played stays"


def choose(page: Page, file: Path) -> None:
    """Give the page a file, as a person does by its button."""
    found = page.send("Runtime.evaluate", expression="document.querySelector('#file')")
    page.send("DOM.setFileInputFiles", files=[str(file)], objectId=found["result"]["objectId"])


def a_disk_is_mended_by_keys(page: Page) -> None:
    for verb in ("heal", "restart"):
        page.run("document.querySelector('.disk-name').focus()")
        page.press("Enter", 13)
        page.until("document.querySelector('#disk-dialog').open")
        page.run(f"document.querySelector('#disk-dialog button[value={verb}]').focus()")
        page.press("Enter", 13)
        page.until("!document.querySelector('#disk-dialog').open")
        if verb == "heal":
            page.until("document.querySelectorAll('#faults li').length === 2")
    page.until("document.querySelector('.disk').dataset.state === 'online'")
    page.until("!!document.querySelector('#events [data-kind=log_dir_returned]')")
    page.until("document.querySelectorAll('.behind:not(.legend *)').length === 0")


def a_replica_is_dragged(page: Page) -> None:
    dragged = page.run(DRAG)
    assert dragged["elsewhere"] is False, "no disk of another broker takes it"
    name = dragged["name"]
    page.until(f"({WHERE})({name!r}) === {dragged['target']!r}")


def a_replica_is_moved_by_its_dialog(page: Page) -> None:
    name = page.run("document.querySelector('.broker .replica').textContent")
    page.run("document.querySelector('.broker .replica').focus()")
    page.press("Enter", 13)
    page.until("document.querySelector('#replica-dialog').open")
    target = page.run("document.querySelector('#target').selectedOptions[0].textContent")
    page.run("document.querySelector('#move').focus()")
    page.press("Enter", 13)
    page.until(f"({WHERE})({name!r}) === {target!r}")


WHERE: Final = """name =>
  [...document.querySelectorAll('.broker:first-child .replica:not(.future)')]
  .filter(each => each.textContent === name).map(each => each.closest('.disk').dataset.path)[0]"""
DRAG: Final = """(() => {
  const broker = document.querySelector('.broker');
  const replica = broker.querySelector('.replica');
  const source = replica.closest('.disk');
  const target = [...broker.querySelectorAll('.disk')].find(each => each !== source);
  const elsewhere = document.querySelectorAll('.broker')[1].querySelector('.disk');
  const dataTransfer = new DataTransfer();
  const fire = (element, type) => element.dispatchEvent(
    new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  fire(replica, 'dragstart');
  const taken = !fire(elsewhere, 'dragover');
  fire(target, 'dragover');
  fire(target, 'drop');
  return { name: replica.textContent, target: target.dataset.path, elsewhere: taken };
})()"""

if __name__ == "__main__":
    sys.exit(main())
