"""Fixtures of these tests."""

import pytest

from tests.support.cli.queues import NOW, S, bring, made, writing
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import IntentState


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr("trunkline.app.operators.store_file.time.time", lambda: NOW)


@pytest.fixture
def store(tmp_path):
    """An intent in each state."""
    path = tmp_path / "store #1 100%.db"
    with writing(path) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        migrate(raw)
        for state in IntentState:
            chunks = {S.DELIVERED: 3, S.PARTIAL: 1, S.UNKNOWN: 1}.get(state, 0)
            bring(raw, made(f"{state.value}.reply"), state, acked=chunks)
    return path
