"""Fixtures of these tests."""

import pytest

from tests.support.app.message_views import Shown
from tests.support.app.queued_runs import queued
from tests.support.app.traces import bound_completion


@pytest.fixture(scope="module")
def shown() -> Shown:
    return Shown(queued())


@pytest.fixture(scope="module")
def twice() -> Shown:
    return Shown(bound_completion())
