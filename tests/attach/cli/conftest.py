"""The command, called as its users call it, with the toy gateway in profiles of this folder's own."""

from pathlib import Path

import pytest

from tests.attach.cli.toys import toy_profile, toy_scenario
from tests.cli.conftest import _at_home, trunkline  # noqa: F401 -- fixtures


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A profile of the toy gateway without a defect."""
    return toy_profile(tmp_path)


@pytest.fixture
def resends(tmp_path: Path) -> Path:
    """A profile of the toy gateway that takes a connection that broke for a message that was not sent."""
    return toy_profile(tmp_path, "resends-after-reset", name="resends")


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """A scenario: the response to an answer is lost."""
    return toy_scenario(tmp_path, "lost", fault="{on: send, do: reset}")


@pytest.fixture
def calm(tmp_path: Path) -> Path:
    """A scenario in which nothing goes wrong."""
    return toy_scenario(tmp_path, "calm")
