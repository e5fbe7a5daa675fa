"""What every test shares: an environment without the caller's settings, and asyncio under anyio."""

import gc
import os
import signal

import pytest
from hypothesis import settings

from tests.support.scale import VARIABLE, run_all, split_sample

# Textual and Rich read these when they are imported, so they go before any test module is. The exceptions are passed
# to the workers of pytest-xdist: where pytest-textual-snapshot puts pictures, and whether everything runs.
_passed = {"TEXTUAL_SNAPSHOT_TEMPDIR"} | ({VARIABLE} if "PYTEST_XDIST_WORKER" in os.environ else set[str]())
for _name in list(os.environ):
    if _name in _passed:
        continue
    if _name in {"NO_COLOR", "FORCE_COLOR"} or _name.startswith(("TEXTUAL_", "TRUNKLINE_")):
        del os.environ[_name]

# The same examples on every machine, however slow or busy it is.
settings.register_profile("trunkline", deadline=None, derandomize=True)
settings.register_profile("sample", settings.get_profile("trunkline"), max_examples=25)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run everything, not a sample of the slow tests")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means: two workers more than there are cores.

    A third of the suite's time is waiting, for processes and sockets and for what must not happen. Each worker reads
    every test module first, so that many more would take longer.
    """
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 2


def pytest_configure(config: pytest.Config) -> None:
    # A test that is named by its id runs, and pictures are only updated (and unused ones deleted) as a whole.
    named = any("::" in argument for argument in config.invocation_params.args)
    if config.getoption("all") or named or config.getoption("update_snapshots", default=False):
        os.environ[VARIABLE] = "all"
    settings.load_profile("trunkline" if run_all() else "sample")
    # A shell lets what it starts in the background ignore Ctrl-C, and so would every program that a test starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not run_all():
        items[:], left = split_sample(items)
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish(session: pytest.Session) -> None:
    # Everything that is loaded and collected stays until the end. A run on the wire ends with a collection of garbage,
    # which would look at all of this each time (more than a second, where the suite is whole).
    gc.collect()
    gc.freeze()


@pytest.fixture
def anyio_backend() -> str:
    """Run `@pytest.mark.anyio` tests on asyncio alone."""
    return "asyncio"
