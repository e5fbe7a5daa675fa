"""Fixtures of these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import sending as _sending
from tests.support.bindings import Binder, Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_sending, "system_env", clock.env)
    return clock


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Binder]:
    binder = Binder()
    yield binder
    binder.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"
