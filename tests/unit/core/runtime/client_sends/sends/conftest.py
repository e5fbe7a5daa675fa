"""Fixtures of these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sending import Platform


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()
