"""Scripted hooks. Texts are templates; nothing is executed."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
import msgspec
from msgspec import UNSET

from trunkline.core.delivery.hooks import Cancel, Change, Hooks, Outgoing, SendingHook, Sent, SentHook
from trunkline.core.values import Address
from trunkline.sim.cast.agents import ScriptFailure
from trunkline.sim.cast.cast_world import CastWorld
from trunkline.sim.cast.nonsense import talk_nonsense
from trunkline.sim.events.script import HookCancelled, HookRedirected, HookRewrote, SaidTwice
from trunkline.sim.scenario.model.hooks import Hook, HookWhen
from trunkline.sim.scenario.templates import fill
from trunkline.sim.scenario.text_pattern import text_matches

IsAt = Callable[[str, Address], bool]
#: lets a hook work on a message, and returns what it answers by itself
HookWork = Callable[[Hook, Outgoing | Sent], Awaitable[object]]
#: an invalid answer
_NONSENSE = 42


def scripted_hooks(world: CastWorld, cast: Mapping[str, Hook], plugin: Callable[[str], Any]) -> Hooks:
    """The hooks of a scenario, in the order of its file."""
    equal, work = _Equal(world), partial(_work, world, plugin)
    asked = {name: hook for name, hook in cast.items() if hook.on == "sending"}
    notified = {name: hook for name, hook in cast.items() if hook.on == "sent"}
    return Hooks(
        sending=tuple(
            SendingHook(
                name=name, call=_sending(name, hook, world, equal, work), priority=hook.priority, required=hook.required
            )
            for name, hook in asked.items()
        ),
        sent=tuple(SentHook(name=name, call=_sent_hook(hook, world.is_at, work)) for name, hook in notified.items()),
    )


class _Equal:
    """Notes where a hook makes two texts of one turn equal, for which the gateway is not to blame."""

    def __init__(self, world: CastWorld) -> None:
        self._record = world.events.record
        #: turn, place and text after a hook -> the first message that had it, and its text before
        self._made: dict[tuple[str, Address, str], tuple[str, str]] = {}

    def note(self, hook: str, message: Outgoing, text: str) -> None:
        """Record a text that an earlier message has too, although it was another one before the hooks."""
        before, words = " ".join(message.original.split()), " ".join(text.split())
        turn, _, _ = message.intent.rpartition(".")
        first = self._made.setdefault((turn, message.address, words), (message.intent, before))
        if turn and first[0] != message.intent and first[1] != before:
            self._record(SaidTwice(by=f"hook {hook}", text=text), intent=message.intent)


def _sending(
    name: str, hook: Hook, world: CastWorld, equal: _Equal, work: HookWork
) -> Callable[[Outgoing], Awaitable[object]]:
    record = world.events.record

    async def call(message: Outgoing) -> object:
        if not _fits(hook.when, message, world.is_at):
            return None
        try:
            return await _answer(message)
        except BaseException:
            if hook.required:
                record(HookCancelled(by=f"hook {name}"), intent=message.intent)
            raise

    async def _answer(message: Outgoing) -> object:
        done = await work(hook, message)
        changed = _change(hook, message, world) if hook.plugin is None else done
        if isinstance(changed, Change) and changed != Change():
            equal.note(name, message, message.text if changed.text is UNSET else changed.text)
            if changed.text is not UNSET or changed.media is not UNSET:
                more = msgspec.structs.replace(changed, text=UNSET) != Change()
                text = message.text if changed.text is UNSET else changed.text
                body = HookRewrote(by=f"hook {name}", text=text, original=message.original, more=more)
                record(body, intent=message.intent)
            if changed.to is not UNSET or changed.reply_to is not UNSET:
                body = HookRedirected(
                    by=f"hook {name}",
                    to=changed.to if isinstance(changed.to, Address) else None,
                    target=changed.to if isinstance(changed.to, str) else None,
                    quotes=None if changed.reply_to is UNSET else changed.reply_to,
                )
                record(body, intent=message.intent)
            return changed
        other = done if hook.cancel is None else Cancel(hook.cancel)
        if isinstance(other, Cancel):
            record(HookCancelled(by=f"hook {name}"), intent=message.intent)
        if other is not None:
            return other
        equal.note(name, message, message.text)
        if hook.nonsense is None:
            return None
        nonsense = _NONSENSE if hook.nonsense is True else await talk_nonsense(hook.nonsense)
        if hook.required:
            record(HookCancelled(by=f"hook {name}"), intent=message.intent)
        return nonsense

    return call


def _change(hook: Hook, message: Outgoing, world: CastWorld) -> Change:
    """The change that a hook makes to a message."""
    text = UNSET
    if hook.change is not None:
        text = fill(hook.change, {"text": message.text, "original": message.original})
    to = UNSET if hook.to is None else world.address(hook.to)
    return Change(
        text=text,
        media=UNSET if hook.media is None else hook.media,
        reply_to=UNSET if hook.quote is None else _quote(hook.quote, world),
        to=hook.target if hook.target is not None else to,
    )


def _quote(name: str, world: CastWorld) -> str | None:
    """The message that a hook quotes; an id that nobody has said stays, for the platform to refuse."""
    return (world.message_id(name) or name) if name else None


def _sent_hook(hook: Hook, is_at: IsAt, work: HookWork) -> Callable[[Sent], Awaitable[None]]:
    async def call(message: Sent) -> None:
        if _fits(hook.when, message, is_at):
            await work(hook, message)

    return call


async def _work(world: CastWorld, plugin: Callable[[str], Any], hook: Hook, message: Outgoing | Sent) -> object:
    """Take the time of a hook; returns the answer of a plug-in's."""
    world.reached.note(hook)
    if hook.takes is not None:
        await anyio.sleep(hook.takes)
    if hook.fail is not None:
        raise ScriptFailure(hook.fail)
    return None if hook.plugin is None else await plugin(hook.plugin)(message)


def _fits(when: HookWhen, message: Outgoing | Sent, is_at: IsAt) -> bool:
    if when.kind is not None and when.kind is not message.kind:
        return False
    if when.place is not None and not is_at(when.place, message.address):
        return False
    return when.text is None or text_matches(when.text, message.text)
