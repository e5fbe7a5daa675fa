"""What the rules of the house parsed is let go of with the last of them."""

import gc
from collections.abc import Iterator

import pytest

from tests.support.sources import parse, source_of


@pytest.fixture(scope="package", autouse=True)
def _forget_the_trees() -> Iterator[None]:
    """The trees are a million objects, which the collection of garbage after each run on the wire would look at."""
    yield
    parse.cache_clear()
    source_of.cache_clear()
    gc.collect()
