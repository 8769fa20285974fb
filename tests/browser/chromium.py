"""A headless Chromium, driven over its debugging pipe: what a test of a page needs and no more.

Source: Chrome DevTools Protocol (`--remote-debugging-pipe`: JSON between zero bytes, on the file
descriptors 3 and 4).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from tests.deadlines import DEADLINE_S

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
UNTIL: Final = """(async () => {{
  const end = performance.now() + {deadline_ms};
  for (;;) {{
    const value = ({script});
    if (value || performance.now() > end) return value;
    await new Promise(requestAnimationFrame);
  }}
}})()"""


def find_chromium() -> str | None:
    """Return the one that CHROMIUM names, or what is on the PATH."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One page of a running browser."""

    def __init__(self, orders: int, answers: int) -> None:
        self._orders = os.fdopen(orders, "wb")
        self._answers = os.fdopen(answers, "rb", buffering=0)
        self._left = b""
        self._last_id = 0
        self._session: dict[str, str] = {}
        self.problems: list[str] = []
        """What the page's console was told: errors, warnings, exceptions."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Any:
        """Send an order and return its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params, **self._session}
        self._orders.write(json.dumps(message).encode() + b"\0")
        self._orders.flush()
        while True:
            answer = self._next()
            if answer.get("id") == self._last_id:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._hear(answer)

    def run(self, script: str) -> Any:
        """Run a script in the page, wait for its promise, and return what it gives as JSON."""
        found = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until a script, run with every frame, gives something true; return that."""
        value = self.run(UNTIL.format(script=script, deadline_ms=DEADLINE_S * 1000))
        assert value, f"{script}: not so; the page shows\n{self.run('document.body.innerText')}"
        return value

    def press(self, key: str, code: int) -> None:
        """Press and release a key, as a person does."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **text,
            )

    def picture(self) -> bytes:
        """Return the page as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            data = self._answers.read(1 << 20)
            assert data, "Chromium has ended"
            self._left += data
        message, _, self._left = self._left.partition(b"\0")
        return json.loads(message)

    def _hear(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(str(event["params"]["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded":
            self.problems.append(str(event["params"]["entry"]))


@contextmanager
def browsed(chromium: str) -> Generator[Page]:
    """Start a browser for the length of a block."""
    orders_out, orders_in = os.pipe()
    answers_out, answers_in = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # A shell puts the ends of the pipes where Chromium looks for them.
        script = f'exec "$@" 3<&{orders_out} 4>&{answers_in}'
        options = [
            "--headless=new",
            "--no-sandbox",  # It does not start as root with one.
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "--window-size=1280,900",
        ]
        browser = subprocess.Popen(
            ["/bin/bash", "-c", script, "chromium", chromium, *options],
            pass_fds=(orders_out, answers_in),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(orders_out)
        os.close(answers_in)
        try:
            yield Page(orders_in, answers_out)
        finally:
            browser.terminate()
            browser.wait(timeout=DEADLINE_S)
