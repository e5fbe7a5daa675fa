"""Fixtures of these tests."""

import pytest

from tests.support.invariants.bound_trace import ROOM, Author


@pytest.fixture
def m1() -> Author:
    author = Author("M1")
    author.received(ROOM, "m1")
    return author
