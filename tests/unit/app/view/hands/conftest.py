"""Fixtures of these tests."""

import pytest

from tests.support.app.hand_runs import many_hands
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView


@pytest.fixture(scope="package")
def view() -> RunView:
    return RunView(many_hands())


@pytest.fixture(scope="package")
def hands(view: RunView) -> HandRuns:
    return HandRuns(view, MessageHistories(view))
