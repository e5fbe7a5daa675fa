"""The browser, the server, and a person who has signed in."""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.chat_page import ChatPage, ChatServer, chat_server, chromium, signed_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture(scope="module")
def browser() -> "Generator[Browser]":
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[ChatServer]:
    """The server of all tests that leave it alone: each is another person in another profile."""
    with chat_server(tmp_path_factory.mktemp("chat") / "gateway.db") as one:
        yield one


@pytest.fixture
def own_server(tmp_path: Path) -> Generator[ChatServer]:
    """A server that the test may kill."""
    with chat_server(tmp_path / "gateway.db") as one:
        yield one


@pytest.fixture
def profile(browser: "Browser") -> "Generator[BrowserContext]":
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def chat(profile: "BrowserContext", server: ChatServer) -> Generator[ChatPage]:
    with signed_in(profile, server) as page:
        yield page
