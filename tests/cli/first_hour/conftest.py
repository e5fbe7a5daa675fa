"""Fake platforms that the tests of the first hour share, and the variables with their secrets."""

from collections.abc import Iterator

import pytest

from trunkline.app.fakes.client import FakesClient, running_fakes

PLATFORMS = ("telegram", "discord", "slack", "matrix", "signal", "whatsapp")


@pytest.fixture(scope="package")
def fakes() -> Iterator[FakesClient]:
    with running_fakes(*PLATFORMS, "model") as client:
        yield client


@pytest.fixture(autouse=True)
def _secrets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The secrets of the fakes, for tests that use them; for others none is set."""
    for platform in PLATFORMS:
        for name in ("TOKEN", "BOT_TOKEN", "APP_TOKEN", "APP_SECRET", "VERIFY_TOKEN"):
            monkeypatch.delenv(f"{platform}_{name}".upper(), raising=False)
    if "fakes" in request.fixturenames:
        for name, value in request.getfixturevalue("fakes").environment.items():
            monkeypatch.setenv(name, value)
