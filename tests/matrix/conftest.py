"""One homeserver for the tests of a process."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.synapse.bench import Town, found_town
from tests.support.synapse.homeserver import Synapse


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Generator[Synapse]:
    """A homeserver that runs."""
    server = Synapse(tmp_path_factory.mktemp("synapse"))
    try:
        server.start()
        yield server
    finally:
        server.end()


@pytest.fixture(scope="session")
def town(synapse: Synapse) -> Town:
    """Rooms on the homeserver."""
    return found_town(synapse)


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    """A file to send."""
    file = tmp_path / "lamp.png"
    file.write_bytes(b"a lamp")
    return file
