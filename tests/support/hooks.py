"""Hooks for tests, and the four ways on which a gateway says something."""

from pathlib import Path
from typing import Any

import anyio

from tests.support.sending import Platform, message
from tests.support.small_gateway import Echo, Running
from trunkline import HandTask, Hooks, Outgoing, SendFailed, SendingHook, Sent, SentHook, Turn
from trunkline.core.events.delivery import HookSent

#: the ways, by the kind of their intents
WAYS = ("reply", "tool", "announce", "send")


class Saying:
    """Something that is said on one of the ways, as soon as a gateway runs with its parts."""

    def __init__(self, way: str, text: str) -> None:
        self.way, self.text = way, text
        self.runner = self if way == "announce" else None
        self.config: dict[str, Any] = {"hands": {"announce": "direct"}} if way == "announce" else {}
        self.agent = Echo(self._act)

    async def _act(self, turn: Turn) -> str | None:
        if self.way == "reply":
            return self.text
        if self.way == "tool":
            await turn.send(self.text)
        if self.way == "announce":
            await turn.delegate("clerk", "work")
        return None

    def has(self, hand: str) -> bool:
        return hand == "clerk"

    async def run(self, task: HandTask) -> str:
        return self.text

    async def begin(self, running: Running, platform: Platform) -> None:
        """Have it said; a client does not wait for the end, and is told of none."""
        if self.way != "send":
            platform.say("m1")
            return
        try:
            await running.gateway.enqueue(message(text=self.text))
        except SendFailed:
            return


def sending(
    name: str, answer: object = None, *, priority: int = 0, required: bool = False, seen: list[Outgoing] | None = None
) -> SendingHook:
    """A hook that answers always the same, raises it where it is an error, or asks a function."""

    async def call(shown: Outgoing) -> object:
        if seen is not None:
            seen.append(shown)
        if isinstance(answer, Exception):
            raise answer
        return answer(shown) if callable(answer) else answer

    return SendingHook(name=name, call=call, priority=priority, required=required)


class Told:
    """A `message_sent` hook that keeps what it is told; it may be held, or made to fail."""

    def __init__(self, name: str = "told", error: Exception | None = None) -> None:
        self.all: list[Sent] = []
        self.open = anyio.Event()
        self.open.set()
        self.called = anyio.Event()
        self._error = error
        self.hook = SentHook(name=name, call=self._call)

    async def _call(self, sent: Sent) -> None:
        self.called.set()
        await self.open.wait()
        self.all.append(sent)
        if self._error is not None:
            raise self._error

    @property
    def gist(self) -> list[tuple[str, str]]:
        """Intent and state of each."""
        return [(sent.intent, sent.state.value) for sent in self.all]


def hooks(*all_of_them: SendingHook | Told) -> Hooks:
    return Hooks(
        sending=tuple(one for one in all_of_them if isinstance(one, SendingHook)),
        sent=tuple(one.hook for one in all_of_them if isinstance(one, Told)),
    )


async def settled(running: Running, count: int = 1) -> None:
    """Wait until the hooks were told so many ends, durably."""
    await running.until(HookSent, count)


def bytes_of(path: Path) -> bytes:
    """Everything that a store has on its disk."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.iterdir()) if one.name.startswith(path.name))
