"""A disk that is full, and store files that are damaged: nothing is lost in silence, and nothing is said twice."""

import asyncio
import resource
import sqlite3
from contextlib import contextmanager

import anyio
import pytest

from tests.support.misbehaving import LoopAdapter, envelope, place, serve
from trunkline.core.errors import StoreError

MESSAGES = 30
#: more than SQLite writes ahead of time
LONG = "x" * 2000


@pytest.fixture
def store(tmp_path):
    return tmp_path / "trunkline.db"


def said(number):
    return envelope(f"{number} {LONG}", str(number), address=place(f"c{number % 5}"))


def numbers(adapter):
    return sorted(int(text.split()[1]) for text in adapter.texts)


@contextmanager
def full_disk(folder):
    """No file of the process may grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = max(path.stat().st_size for path in folder.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (most + 4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Speaker:
    """An adapter whose people speak when a test says so."""

    def __init__(self, before=None):
        self._said = asyncio.Queue()
        self.adapter = LoopAdapter(stream=self._stream, before=before)

    async def _stream(self):
        while True:
            yield await self._said.get()

    def say(self, some):
        for number in some:
            self.adapter.unacked.append(said(number))
            self._said.put_nowait(self.adapter.unacked[-1])


async def wait_for(run_of):
    while not run_of():  # noqa: ASYNC110 -- a condition on anything a test can see
        await anyio.sleep(0.005)


def test_everything_is_answered_once_when_a_full_disk_has_room_again(store):
    async def main():
        speaker, failures = Speaker(), []

        async def script(_gateway):
            speaker.say(range(10))
            await wait_for(lambda: len(speaker.adapter.accepted) == 10)
            with full_disk(store.parent):
                speaker.say(range(10, MESSAGES))
                await anyio.sleep(0.5)
                failures.append(len(speaker.adapter.accepted))

        done = lambda run: failures and len(run.adapter.accepted) >= MESSAGES  # noqa: E731 -- a condition
        run = await serve(store, speaker.adapter, script=script, until=done)  # pyright: ignore[reportArgumentType]
        return run, failures

    run, failures = anyio.run(main)
    assert run.error is None
    assert run.of("store.failed") != []
    assert failures[0] < MESSAGES
    assert numbers(run.adapter) == list(range(MESSAGES))


def test_what_a_full_disk_refused_until_the_stop_comes_again_and_is_answered_once(store):
    async def main():
        speaker = Speaker()

        async def script(_gateway):
            speaker.say(range(10))
            await wait_for(lambda: len(speaker.adapter.accepted) == 10)
            speaker.say(range(10, MESSAGES))

        with_limit = []

        async def full(_gateway):
            await script(_gateway)
            limit = full_disk(store.parent)
            limit.__enter__()
            with_limit.append(limit)
            speaker.say(range(MESSAGES, MESSAGES + 10))
            await anyio.sleep(0.4)

        try:
            first = await serve(store, speaker.adapter, script=full, until=lambda _: True)
        finally:
            for limit in with_limit:
                limit.__exit__(None, None, None)
        again = LoopAdapter(messages=[said(n) for n in range(MESSAGES + 10)], before=speaker.adapter)
        total = MESSAGES + 10 - len(first.adapter.accepted)
        second = await serve(store, again, until=lambda run: len(run.adapter.accepted) >= total)
        return first, second

    first, second = anyio.run(main)
    assert (first.error, second.error) == (None, None)
    assert sorted(numbers(first.adapter) + numbers(second.adapter)) == list(range(MESSAGES + 10))


def flipped(raw):
    # The first page holds the schema.
    return raw[:100] + bytes(byte ^ 0xFF for byte in raw[100:4096]) + raw[4096:]


DAMAGES = {
    "half": lambda raw: raw[: len(raw) // 2 // 4096 * 4096 + 100],
    "zeroed": lambda raw: b"\0" * len(raw),
    "no database": lambda raw: b"hello world, no database " * 400,
    "a flipped schema": flipped,
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_an_error_in_words(store, how):
    adapter = LoopAdapter(messages=[said(n) for n in range(10)])
    anyio.run(lambda: serve(store, adapter, until=lambda run: len(run.adapter.accepted) == 10))
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    for suffix in ("-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
    store.write_bytes(DAMAGES[how](store.read_bytes()))
    run = anyio.run(lambda: serve(store, LoopAdapter(), until=lambda run: run.error is not None))
    assert isinstance(run.error, StoreError)
    assert str(run.error)
    assert run.adapter.accepted == []
