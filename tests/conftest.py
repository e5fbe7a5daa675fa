"""What every test shares: an environment without the caller's settings, and asyncio under anyio."""

import os

import pytest
from hypothesis import settings

# Textual and Rich read these when they are imported, so they go before any test module is. The exception is how
# pytest-textual-snapshot tells its xdist workers where to put their pictures.
for _name in list(os.environ):
    if _name == "TEXTUAL_SNAPSHOT_TEMPDIR":
        continue
    if _name in {"NO_COLOR", "FORCE_COLOR"} or _name.startswith(("TEXTUAL_", "TRUNKLINE_")):
        del os.environ[_name]

# The same examples on every machine, however slow or busy it is.
settings.register_profile("trunkline", deadline=None, derandomize=True)
settings.load_profile("trunkline")


@pytest.fixture
def anyio_backend() -> str:
    """Run `@pytest.mark.anyio` tests on asyncio alone."""
    return "asyncio"
