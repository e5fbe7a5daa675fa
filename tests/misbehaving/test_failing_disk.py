"""A disk that fails at any call: nothing confirmed is lost or said twice, and the process ends in words or goes on."""

import os
import resource
import sys
from contextlib import contextmanager, suppress

import anyio
import pytest

from tests.support.disk.faults import KINDS, Fault, FaultyDisk
from tests.support.disk.vfs import installed, limit_memory
from tests.support.misbehaving import LoopAdapter, envelope, place, serve
from tests.support.scale import run_nightly, scaled
from trunkline.core.errors import StoreError
from trunkline.core.store.sqlite import group_commit
from trunkline.core.store.sqlite import store as store_module
from trunkline.core.store.sqlite.copies import check_store

MESSAGES = 8
#: each so manieth call fails
STRIDE = 3 if run_nightly() else scaled(17, 61)
#: more calls than a run makes of any kind
MOST = 700


def in_words(run):
    """Whether a gateway that ended by itself has said why: it is no error of SQLite's, and none that nobody expects."""
    return all(isinstance(error, StoreError) for error in leaves(run.error))


def said():
    return [envelope(f"text {n}", str(n), address=place(f"c{n % 3}")) for n in range(MESSAGES)]


def leaves(error):
    inner = getattr(error, "exceptions", None)
    return [error] if inner is None else [leaf for one in inner for leaf in leaves(one)]


def answered(adapter):
    return sorted(adapter.texts)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Waits are short here: they are in no promise."""
    monkeypatch.setattr(store_module.SqliteStore, "_read_again", (0.001, 0.001))
    monkeypatch.setattr(group_commit, "_RETRY_FIRST", 0.002)
    monkeypatch.setattr(store_module, "_LOOK", 0.02)


def run_on(path, adapter, disk=None):
    """One start, until everything is answered and acknowledged, it ends by itself, or keeps waiting for its disk."""

    def done(run):
        if run.error is not None or len(run.of("store.failed")) >= 5:
            return True
        return not adapter.unacked and len(run.of("intent.settled")) >= MESSAGES

    async def main():
        if disk is None:
            return await serve(path, adapter, until=done)
        with installed(disk):
            return await serve(path, adapter, until=done)

    return anyio.run(main)


def play(path, *faults):
    """One start on a failing disk, and another one on a sound one; the disk."""
    disk, first = FaultyDisk(*faults), LoopAdapter(messages=said())
    run = run_on(path, first, disk)
    if run.error is not None:
        assert in_words(run), (faults, run.error)
    finish(path, first, faults)
    return disk


def finish(path, first, facts):
    """One more start on a sound machine: everybody has been answered once in the end."""
    second = LoopAdapter(before=first, messages=first.unacked)
    missing = MESSAGES - len(first.accepted)

    def done(run):
        return run.error is not None or (not second.unacked and len(second.accepted) >= missing)

    again = anyio.run(lambda: serve(path, second, until=done))
    assert again.error is None, (facts, again.error)
    assert sorted(first.texts + second.texts) == [f"re text {n}" for n in range(MESSAGES)], facts
    assert check_store(path).findings == (), facts


def test_the_disk_is_used_in_every_way(tmp_path):
    disk = play(tmp_path / "store.db")
    assert min(disk.calls[operation] for operation in ("read", "write", "sync")) > 10, disk.calls
    assert max(disk.calls.values()) < MOST


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("times", [1, 4, MOST])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_doubled_whichever_call_fails(tmp_path, kind, times):
    at = struck = 0
    for at in range(1 + times % 5, MOST, STRIDE):
        disk = play(tmp_path / f"store{at}.db", Fault(kind=kind, at=at, times=times))
        if not disk.struck:
            break
        struck += 1
    assert struck or kind == "truncate", at


# ---------------------------------------------------------------- memory and descriptors


def test_nothing_is_lost_or_doubled_when_sqlite_gets_no_memory(tmp_path):
    """By SQLite's own hard limit, from each of some moments on, and lifted again after some refused writes."""
    refused = 0
    switch = limit_memory()
    for n in range(scaled(12, 4)):
        path, first = tmp_path / f"store{n}.db", LoopAdapter(messages=said())

        async def script(_gateway, n=n, first=first):
            while len(first.accepted) < n % MESSAGES:  # noqa: ASYNC110 -- a list tells nobody
                await anyio.sleep(0.001)
            switch(True)
            await anyio.sleep(0.1)
            switch(False)

        def done(run, first=first):
            return run.error is not None or (not first.unacked and len(first.accepted) >= MESSAGES)

        try:
            run = anyio.run(lambda path=path, first=first: serve(path, first, script=script, until=done))
        finally:
            switch(False)
        refused += len(run.of("store.failed"))
        if run.error is not None:
            assert in_words(run), run.error
            refused += 1
        finish(path, first, n)
    assert refused


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_start_with_few_descriptors_ends_in_words_or_goes_on(tmp_path):
    ended = 0
    for free in range(10):
        path, first = tmp_path / f"store{free}.db", LoopAdapter(messages=said())

        run = anyio.run(start_with_few, free, path, first)
        if run.error is not None:
            ended += 1
            assert in_words(run), (free, run.error)
        finish(path, first, free)
    assert 0 < ended < 10


async def start_with_few(free, path, adapter):
    # After the loop has its own.
    with few_descriptors(free):
        return await serve(path, adapter, until=lambda run: run.error is not None or not adapter.unacked)


@contextmanager
def few_descriptors(free):
    """Only so many more files can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = [os.open(os.devnull, os.O_RDONLY)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare[0] + 64, hard))
        # Gaps between the open ones are filled.
        with suppress(OSError):
            while True:
                spare.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(free):
            os.close(spare.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in spare:
            os.close(descriptor)
