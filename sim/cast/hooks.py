"""Scripted hooks. Texts are templates; nothing is executed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import anyio

from trunkline.core.delivery.hooks import Cancel, Change, Hooks, Outgoing, SendingHook, Sent, SentHook
from trunkline.core.values import Address
from trunkline.sim.cast.agents_and_hands import ScriptFailure
from trunkline.sim.cast.nonsense import talk_nonsense
from trunkline.sim.events.script import SaidTwice
from trunkline.sim.run.fault_board import text_matches
from trunkline.sim.scenario.model.hooks import Hook, HookWhen
from trunkline.sim.scenario.templates import fill

IsAt = Callable[[str, Address], bool]
#: records an event of the world
Record = Callable[..., object]
#: an invalid answer
_NONSENSE = 42


def scripted_hooks(cast: Mapping[str, Hook], is_at: IsAt, record: Record) -> Hooks:
    """The hooks of a scenario, in the order of its file. `is_at`: whether an address is a place of the scenario."""
    equal = _Equal(record)
    return Hooks(
        sending=tuple(
            SendingHook(
                name=name, call=_sending(name, hook, is_at, equal), priority=hook.priority, required=hook.required
            )
            for name, hook in cast.items()
            if hook.on == "sending"
        ),
        sent=tuple(SentHook(name=name, call=_sent(hook, is_at)) for name, hook in cast.items() if hook.on == "sent"),
    )


class _Equal:
    """Notes where a hook makes two texts of one turn equal, for which the gateway is not to blame."""

    def __init__(self, record: Record) -> None:
        self._record = record
        #: turn, place and text after a hook -> the first message that had it, and its text before
        self._made: dict[tuple[str, Address, str], tuple[str, str]] = {}

    def note(self, hook: str, message: Outgoing, text: str) -> None:
        """Record a text that an earlier message has too, although it was another one before the hooks."""
        before, words = " ".join(message.original.split()), " ".join(text.split())
        turn, _, _ = message.intent.rpartition(".")
        first = self._made.setdefault((turn, message.address, words), (message.intent, before))
        if turn and first[0] != message.intent and first[1] != before:
            self._record(SaidTwice(by=f"hook {hook}", text=text), intent=message.intent)


def _sending(name: str, hook: Hook, is_at: IsAt, equal: _Equal) -> Callable[[Outgoing], Awaitable[object]]:
    async def call(message: Outgoing) -> object:
        if not _fits(hook.when, message, is_at):
            return None
        await _work(hook)
        if hook.change is not None:
            text = fill(hook.change, {"text": message.text, "original": message.original})
            equal.note(name, message, text)
            return Change(text)
        if hook.cancel is not None:
            return Cancel(hook.cancel)
        equal.note(name, message, message.text)
        if hook.nonsense is None:
            return None
        return _NONSENSE if hook.nonsense is True else await talk_nonsense(hook.nonsense)

    return call


def _sent(hook: Hook, is_at: IsAt) -> Callable[[Sent], Awaitable[None]]:
    async def call(message: Sent) -> None:
        if _fits(hook.when, message, is_at):
            await _work(hook)

    return call


async def _work(hook: Hook) -> None:
    if hook.takes is not None:
        await anyio.sleep(hook.takes)
    if hook.fail is not None:
        raise ScriptFailure(hook.fail)


def _fits(when: HookWhen, message: Outgoing | Sent, is_at: IsAt) -> bool:
    if when.kind is not None and when.kind is not message.kind:
        return False
    if when.place is not None and not is_at(when.place, message.address):
        return False
    return when.text is None or text_matches(when.text, message.text)
