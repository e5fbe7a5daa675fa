"""Short questions to a store, and replacements of single commands and queries."""

from collections.abc import Awaitable, Callable
from typing import Any

from trunkline.core.store import Store
from trunkline.core.store.commands import Write
from trunkline.core.store.queries import FindIntentFate, FindSession, Read, ReadTranscript
from trunkline.core.values import IntentId, IntentState, TranscriptLine


async def transcript_of(store: Store, key: str) -> tuple[TranscriptLine, ...]:
    """The transcript of the session that a key has today."""
    session = await store.read(FindSession(key=key))
    return () if session is None else await store.read(ReadTranscript(session=session.id))


async def state_of(store: Store, intent: str) -> IntentState | None:
    """The state of an intent; none if it is not stored."""
    fate = await store.read(FindIntentFate(intent=IntentId(intent)))
    return None if fate is None else fate.state


def on_write(store: Any, kind: type[Write[Any]], do: Callable[..., Awaitable[Any]]) -> None:
    """Call `do(write, command, story, then)` instead of `write`, for commands of a type."""
    write = store.write

    async def replaced(command: Write[Any], story: Any, then: Any = None) -> Any:
        return await (do(write, command, story, then) if isinstance(command, kind) else write(command, story, then))

    store.write = replaced


def on_read(store: Any, kind: type[Read[Any]], do: Callable[..., Awaitable[Any]]) -> None:
    """Call `do(read, query)` instead of `read`, for queries of a type."""
    read = store.read

    async def replaced(query: Read[Any]) -> Any:
        return await (do(read, query) if isinstance(query, kind) else read(query))

    store.read = replaced
