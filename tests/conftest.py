"""What every test shares: an environment without the caller's settings, and asyncio under anyio."""

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.paths import ROOT
from tests.support.scale import VARIABLE, heavy_folder, in_order, is_left_out, run_all, run_nightly, split_sample

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
settings.register_profile("sample", settings.get_profile("trunkline"), max_examples=10)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run everything that CI runs, not a sample of the slow tests")
    parser.addoption("--nightly", action="store_true", help="run everything")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` means: a worker for each core, and two more, since half of the time is waiting.

    They wait for processes and sockets, and for what must not happen. Each worker imports every test module first, so
    that many more would take longer.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 2


def pytest_configure(config: pytest.Config) -> None:
    # A test that is named by its id runs, and pictures are only updated (and unused ones deleted) as a whole.
    named = any("::" in argument for argument in config.invocation_params.args)
    if config.getoption("nightly") or named:
        os.environ[VARIABLE] = "nightly"
    elif config.getoption("all") or config.getoption("update_snapshots", default=False):
        os.environ[VARIABLE] = "all"
    settings.load_profile("trunkline" if run_all() else "sample")
    # A shell lets what it starts in the background ignore Ctrl-C, and so would every program that a test starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of which nothing runs."""
    return True if _is_left_out(_in_clone(collection_path), config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen, left = split_sample(items, "nightly") if not run_nightly() else (items[:], list[pytest.Item]())
    if not run_all():
        chosen, slow = split_sample(item for item in chosen if not _is_left_out(item.nodeid, config))
        left += slow
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = in_order(chosen)


def _is_left_out(path: str, config: pytest.Config) -> bool:
    """Whether a module or a test is no part of the sample. Of a folder that is named everything is."""
    # Most are in none of these folders, which the name of the module says for all of its tests.
    if run_all() or heavy_folder(path.partition("::")[0]) is None or not is_left_out(path):
        return False
    named = {heavy_folder(_in_clone(config.invocation_params.dir / argument)) for argument in config.args}
    return heavy_folder(path) not in named


def _in_clone(path: Path) -> str:
    return Path(os.path.relpath(path, ROOT)).as_posix()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Hardly anything of what is loaded and collected is garbage.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    # Everything that is loaded and collected stays until the end. A run on the wire ends with a collection of garbage,
    # which would look at all of this each time (more than a second, where the suite is whole), and so would everything
    # after a test of what thaws the objects of its process when it is done.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.unfreeze = _stay_frozen


def _stay_frozen() -> None:
    """What `gc.unfreeze` does in a process of tests."""


@pytest.fixture
def anyio_backend() -> str:
    """Run `@pytest.mark.anyio` tests on asyncio alone."""
    return "asyncio"
