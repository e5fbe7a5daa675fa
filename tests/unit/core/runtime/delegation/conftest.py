"""Fixtures of the gateway tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.small_gateway import TinyPlatform


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[TinyPlatform]:
    tiny = TinyPlatform()
    yield tiny
    tiny.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"
