"""The page of the web chat in headless Chromium, and the server behind it in a process of its own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: seconds that a slow machine gets
PATIENCE = 60.0
#: what `tests.support.http` gives every scope
TOKEN = "token-with-every-scope"
ROOT = Path(__file__).parents[2]


class ChatServer:
    """A web chat in a process of its own, on a port that it keeps when it is started again."""

    def __init__(self, store: Path) -> None:
        self.store = store
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        command = [sys.executable, "-m", "tests.support.web_chat", str(self.store), str(self.port)]
        self._process = subprocess.Popen(command, cwd=ROOT)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            assert self._process.poll() is None, "the server ended"
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server never accepted a connection")

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it by a signal."""
        if self._process is not None:
            os.kill(self._process.pid, number)
            self._process.wait(PATIENCE)
            self._process = None


@contextmanager
def chat_server(store: Path) -> Generator[ChatServer]:
    """A web chat that serves."""
    server = ChatServer(store)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def chromium() -> "Generator[Browser]":
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
        )
        try:
            yield browser
        finally:
            browser.close()


class ChatPage:
    """One tab with the web chat."""

    def __init__(self, page: "Page", server: ChatServer) -> None:
        self.page = page
        self._server = server
        #: addresses that the page asked for, and errors that it reported
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", lambda opened: self.asked.append(opened.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: "Dialog") -> None:
        self.errors.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def enter(self, token: str = TOKEN, name: str = "Ana") -> None:
        """Open the page and sign in."""
        self.page.goto(self._server.url)
        self.page.fill("#token", token)
        self.page.fill("#name", name)
        self.page.click("#entry-form button[type=submit]")

    def connected(self) -> None:
        """Wait for the connection."""
        self.page.wait_for_selector("#state[data-state=connected]")

    def say(self, text: str) -> None:
        """Write a message and send it."""
        self.page.fill("#text", text)
        self.page.press("#text", "Enter")

    def until(self, count: int, side: str = ".message") -> None:
        """Wait until the list shows so many messages."""
        self.page.wait_for_function(
            "([side, count]) => document.querySelectorAll(side).length === count", arg=[side, count]
        )

    def stored(self, count: int) -> None:
        """Wait until so many messages of the person are stored."""
        self.page.wait_for_function(
            "(count) => [...document.querySelectorAll('.delivery')].filter((one) => one.textContent === 'Stored')"
            ".length === count",
            arg=count,
        )

    def texts(self, side: str = ".message") -> list[str]:
        """The texts of the messages that the list shows."""
        return [text.strip() for text in self.page.locator(f"{side} .bubble").all_inner_texts()]

    def answers(self) -> list[str]:
        """The texts of the agent."""
        return self.texts(".message:not(.mine)")


def open_tab(context: "BrowserContext", server: ChatServer) -> ChatPage:
    """A new tab of a browser profile."""
    return ChatPage(context.new_page(), server)


@contextmanager
def signed_in(profile: "BrowserContext", server: ChatServer) -> Generator[ChatPage]:
    """A tab that is connected. In the end there was no error, and no request to another host."""
    page = open_tab(profile, server)
    page.enter()
    page.connected()
    yield page
    assert page.errors == []
    others = [url for url in page.asked if f"//127.0.0.1:{server.port}/" not in url]
    assert others == [], "the page asked another host"
