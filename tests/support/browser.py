"""A page in headless Chromium, driven over the DevTools protocol with the websockets that aiohttp brings."""

import asyncio
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: nothing is asked of the network, and nothing of another profile is used
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--window-size=1300,900",
]
#: seconds that a slow machine gets
PATIENCE = 60.0
#: textual-serve keeps its terminal to itself: take hold of it when it is made
HOLD_TERMINAL = """
Object.defineProperty(Object.prototype, "terminal", {
  configurable: true,
  set(value) {
    Object.defineProperty(this, "terminal", {value, writable: true, configurable: true, enumerable: true});
    if (value && value.buffer && value.onData) window.__terminal = value;
  },
});
"""
READ_TERMINAL = """
(() => {
  if (!window.__terminal) return "";
  const buffer = window.__terminal.buffer.active, lines = [];
  for (let y = 0; y < window.__terminal.rows; y++) lines.push(buffer.getLine(y)?.translateToString(true) ?? "");
  return lines.join("\\n");
})()
"""


class Page:
    """One page: what its terminal shows, and keys pressed on it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        #: addresses that the page asked for
        self.asked: list[str] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol; events that come meanwhile are looked at on the way."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = await self._socket.receive_json(timeout=PATIENCE)
            if message.get("method") == "Network.requestWillBeSent":
                self.asked.append(message["params"]["request"]["url"])
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    async def open(self, url: str) -> None:
        """Go to an address."""
        await self.call("Page.enable")
        await self.call("Page.bringToFront")
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await self.call("Network.enable")
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=HOLD_TERMINAL)
        await self.call("Page.navigate", url=url)

    async def text(self) -> str:
        """What the terminal in the page shows."""
        return await self.run(READ_TERMINAL) or ""

    async def until(self, *words: str, but: str | None = None) -> str:
        """Wait until the terminal shows these words, and not `but` any more."""
        text = ""
        for _ in range(int(PATIENCE / 0.1)):
            text = await self.text()
            if all(word in text for word in words) and (but is None or but not in text):
                return text
            await asyncio.sleep(0.1)
        raise AssertionError(f"the page never showed {words!r}; it shows:\n{text}")

    async def press(self, key: str) -> None:
        """Press one key that types a letter."""
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    async def run(self, script: str) -> Any:
        """What a line of JavaScript says."""
        result = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"].get("value")

    async def picture(self) -> str:
        """The page as PNG, in base64."""
        return (await self.call("Page.captureScreenshot", format="png"))["data"]


@asynccontextmanager
async def chromium(profile: Path):
    """A browser with one page; it is ended in the end."""
    assert CHROMIUM is not None
    browser = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *OPTIONS,
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
                await socket.send_json({"id": 0, "method": "Browser.close"})
    finally:
        await _end(browser)


async def _end(browser: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(browser.wait(), 10)
    except TimeoutError:
        browser.kill()
        await browser.wait()


async def _port(file: Path) -> int:
    """Chromium writes down which port it took."""
    for _ in range(int(PATIENCE / 0.1)):
        if lines := _words(file):
            return int(lines[0])
        await asyncio.sleep(0.1)
    raise AssertionError("chromium never opened its port")


def _words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
