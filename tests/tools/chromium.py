"""Headless Chromium over its debugging pipe: what a page did, and what it looks like. No packages needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE_S = 60.0


def executable() -> str | None:
    """Where Chromium is, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab. `requests`, `errors` hold what it asked for and complained about since `open`."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="rollprof-chromium-")
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()

        def connect() -> None:  # the browser reads file descriptor 3 and writes 4
            low, high = os.dup(to_read), os.dup(to_write)
            os.dup2(low, 3)
            os.dup2(high, 4)

        command = [path, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._id, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        self._attach()

    def _attach(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            targets = self.call("Target.getTargets")["targetInfos"]
            pages = [t for t in targets if t["type"] == "page"]
            if pages:
                break
            assert time.monotonic() < deadline, "no page"
            time.sleep(0.05)
        target = pages[0]["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command of the DevTools protocol."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._id:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _receive(self, deadline: float) -> Mapping[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._from, 1 << 20)
            assert part, "the browser is gone"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)  # type: ignore[no-any-return]

    def _note(self, event: Mapping[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])

    def open(self, file: Path, *, width: int = 1440, scheme: str = "light") -> None:
        """Load a file and wait until it says that its plots are drawn."""
        self.requests, self.errors, self.dialogs = [], [], []
        self.resize(width)
        self.scheme(scheme)
        self.call("Page.navigate", url=file.as_uri())
        deadline = time.monotonic() + PATIENCE_S
        while not self.run("document.documentElement?.dataset.plots ?? ''"):
            assert time.monotonic() < deadline, f"not drawn: {self.errors}"
            time.sleep(0.1)

    def resize(self, width: int) -> None:
        """A window of this many pixels."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def scheme(self, name: str) -> None:
        """`light` or `dark`, as the reader's settings say."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str, code: str | None = None) -> None:
        """A key of the keyboard."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key)

    def pdf(self) -> bytes:
        """What printing gives."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def close(self) -> None:
        """Ends the browser and removes its profile."""
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)
