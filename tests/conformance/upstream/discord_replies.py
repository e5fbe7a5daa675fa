"""How upstream answers in a bound thread: by its webhook, else by the bot in the same thread (facts, section 6).

The webhook is used only where the session itself has a binding whose thread is the target, and never for media. When
anything was delivered the binding is touched, once, also when it was the bot who spoke.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from trunkline.core.channels.bindings.discord_threads import persona
from trunkline.core.errors import PlatformError

_CHANNEL = "channel:"


class ReplyBinding(msgspec.Struct, frozen=True, kw_only=True):
    """A bound thread, as far as answers need it."""

    session_key: str
    thread: str
    label: str = ""
    agent: str = ""
    webhook: str | None = None
    #: the webhook's secret is known
    usable: bool = True


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    text: str
    media: tuple[str, ...] = ()


class ReplySend(msgspec.Struct, frozen=True, kw_only=True):
    """One send that is tried. `persona` is set where a webhook speaks."""

    to: str
    text: str
    persona: str | None = None
    reply_to: str | None = None
    media: tuple[str, ...] = ()


class Sender(Protocol):
    """Sends one message. Raises `PlatformError`."""

    async def __call__(self, send: ReplySend, /) -> None: ...


def binding_for(target: str, session_key: str | None, bindings: Sequence[ReplyBinding]) -> ReplyBinding | None:
    """The binding of this very session whose thread is the target."""
    key, thread = (session_key or "").strip(), target.strip().removeprefix(_CHANNEL).strip()
    if not key or not thread or not target.strip().startswith(_CHANNEL):
        return None
    return next((one for one in bindings if one.session_key == key and one.thread == thread), None)


async def deliver_replies(
    replies: Sequence[Reply],
    target: str,
    binding: ReplyBinding | None,
    *,
    send: Sender,
    touch: Callable[[str], None],
    reply_to: str | None = None,
    mode: str = "all",
) -> None:
    """Send answers one after another. Raises `PlatformError` when the bot cannot send either."""
    delivered = False
    marks = _marks((reply_to or "").strip() or None, mode)
    try:
        for reply in replies:
            if not reply.text.strip() and not reply.media:
                continue
            await _deliver(reply, target, binding, next(marks), send)
            delivered = True
    finally:
        if delivered and binding is not None:
            touch(binding.thread)


async def _deliver(reply: Reply, target: str, binding: ReplyBinding | None, mark: str | None, send: Sender) -> None:
    if binding is not None and binding.webhook and binding.usable and not reply.media:
        name = persona(binding.label.strip() or binding.agent)
        try:
            await send(ReplySend(to=binding.thread, text=reply.text, persona=name, reply_to=mark))
        except PlatformError:
            # Upstream tells nobody that somebody else speaks now; it stays in the thread, though.
            pass
        else:
            return
    await send(ReplySend(to=target, text=reply.text, reply_to=mark, media=reply.media))


def _marks(reply_to: str | None, mode: str) -> Iterator[str | None]:
    """What each send answers to: the first one alone, every one, or none."""
    if mode != "off":
        yield reply_to
    while True:
        yield reply_to if mode == "all" else None
