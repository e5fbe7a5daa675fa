"""Fixtures of these tests."""

import pytest

from tests.support.app.bound_runs import bound_threads
from trunkline.app.view.index.run_index import RunView


@pytest.fixture(scope="module")
def view() -> RunView:
    return RunView(bound_threads())
