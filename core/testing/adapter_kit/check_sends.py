"""Checks of successful sends. The first line of each docstring is its sentence in the report."""

from typing import Any

import msgspec

from trunkline.core import values
from trunkline.core.action_catalogue import ActionKind
from trunkline.core.channels.adapter import Actions, Queries
from trunkline.core.channels.capabilities import check_capabilities
from trunkline.core.errors import Refused
from trunkline.core.testing.adapter_kit.check_run import CheckFailed, CheckRun, describe
from trunkline.core.testing.adapter_kit.platform_double import NotTried

#: characters that encodings, markup and careless string handling tend to change
_DELICATE = "zwölf  Lampen\n\n*not* _markup_ <b>&amp;</b> `x` \\n é e\u0301 👩\u200d🔧 ."
_POLL = values.Poll(question="Which lamp?", options=("red", "green"))


async def identity(trial: CheckRun) -> None:
    """The adapter names a channel, in lower case, and an account, and all places of the bench belong to both."""
    adapter = trial.adapter
    for name in (adapter.channel, adapter.account):
        if not name or name != name.strip():
            raise CheckFailed(f"not a name: {name!r}")
    if adapter.channel != adapter.channel.lower():
        raise CheckFailed(f"the channel is not in lower case: {adapter.channel!r}")
    for place in trial.bench.places:
        if (place.channel, place.account) != (adapter.channel, adapter.account):
            raise CheckFailed(f"it is {adapter.channel}:{adapter.account}, and sends to {place} are asked of it")


async def capabilities(trial: CheckRun) -> None:
    """The adapter's capabilities are consistent and constant, and all their methods exist."""
    says, again = trial.adapter.capabilities, trial.adapter.capabilities
    wrong = list(check_capabilities(says))
    if says != again:
        wrong.append("asked twice, it says different things")
    for kind, protocol, method in ((ActionKind.CHANGE, Actions, "act"), (ActionKind.QUERY, Queries, "ask")):
        claimed = sorted(action.value for action in says.actions if action.spec.kind is kind)
        if claimed and not isinstance(trial.adapter, protocol):
            wrong.append(f"it claims {', '.join(claimed)}, and has no method `{method}`")
    if wrong:
        raise CheckFailed("; ".join(wrong))


async def send(trial: CheckRun) -> None:
    """A send is accepted once, byte for byte, in the requested place, and the receipt says so."""
    request = trial.request(text=_DELICATE)
    receipt = await trial.send_accepted(request)
    await trial.check_only_message(request, receipt)


async def two_sends(trial: CheckRun) -> None:
    """Two sends of the same text with two keys are two messages, with two receipts."""
    first = trial.request()
    second = msgspec.structs.replace(first, key=f"{first.intent}/1", chunk=1)
    receipts = [await trial.send_accepted(request) for request in (first, second)]
    await trial.settle()
    found = [message for message in await trial.bench.accepted() if message.text == first.text]
    if len(found) != 2:
        raise CheckFailed(f"two sends, and {len(found)} accepted")
    if trial.can(values.Capability.MESSAGE_IDS) and receipts[0].provider_id == receipts[1].provider_id:
        raise CheckFailed(f"both receipts name the message {receipts[0].provider_id!r}")


async def same_key(trial: CheckRun) -> None:
    """A send that is repeated with its key is one message, and returns the first receipt."""
    trial.need_idempotency(values.Idempotency.KEY)
    request = trial.request()
    first = await trial.send_accepted(request)
    await _resend(trial, request, first)


async def same_key_later(trial: CheckRun) -> None:
    """The platform, not the process, remembers keys: a resend by another process creates no new message."""
    trial.need_idempotency(values.Idempotency.KEY)
    request = trial.request()
    first = await trial.send_accepted(request)
    trial.bench.adapter = await trial.bench.restart()
    await _resend(trial, request, first)


async def _resend(trial: CheckRun, request: values.SendRequest, first: values.Receipt) -> None:
    second = await trial.send_accepted(msgspec.structs.replace(request, attempt=2))
    await trial.check_accepted(request)
    if first != second:
        raise CheckFailed(f"the first receipt was {describe(first)}, the second {describe(second)}")


async def longest(trial: CheckRun) -> None:
    """A text of the declared maximum length is accepted whole."""
    request = trial.request()
    request = _sized(request, trial.adapter.capabilities.text_limit)
    await trial.check_only_message(request, await trial.send_accepted(request))


async def too_long(trial: CheckRun) -> None:
    """A longer text is refused; it is neither truncated nor split."""
    request = _sized(trial.request(), trial.adapter.capabilities.text_limit + 1)
    await trial.send_refused(request, Refused, "a text over the limit")


def _sized(request: values.SendRequest, size: int) -> values.SendRequest:
    if len(request.text) + 2 > size:
        raise NotTried(f"a text of {size} characters has no room for a mark")
    text = f"{request.text} {'x' * (size - len(request.text) - 1)}"
    return msgspec.structs.replace(request, text=text, html=None if request.html is None else text)


async def media(trial: CheckRun) -> None:
    """All files are sent with their text, in order."""
    await _check_shown(trial, values.Capability.MEDIA, trial.bench.media)


async def poll(trial: CheckRun) -> None:
    """A poll is posted with its question and its options, in order."""
    await _check_shown(trial, values.Capability.POLL, _POLL)


async def payload(trial: CheckRun) -> None:
    """A platform-specific payload is passed through unchanged."""
    await _check_shown(trial, values.Capability.PAYLOAD, trial.bench.payload)


async def _check_shown(trial: CheckRun, capability: values.Capability, content: Any) -> None:
    """Check content beside the text: field of requests, field of messages and capability have one name."""
    name = capability.value
    if not trial.can(capability):
        raise NotTried(f"it has no {name}")
    _need_shown(trial, name)
    if content is None:
        raise NotTried(f"the bench has no `{name}`")
    request = trial.request(**{name: content})
    message = await trial.check_only_message(request, await trial.send_accepted(request))
    if getattr(message, name) != content:
        raise CheckFailed(f"sent the {name} {content}, the platform shows {getattr(message, name)}")


async def unsupported(trial: CheckRun) -> None:
    """Content that it cannot send is refused, not omitted."""
    extras: dict[values.Capability, dict[str, Any]] = {
        values.Capability.MEDIA: {"media": trial.bench.media},
        values.Capability.POLL: {"poll": _POLL},
        values.Capability.PAYLOAD: {"payload": trial.bench.payload or "{}"},
    }
    missing = [capability for capability in extras if not trial.can(capability)]
    if not missing:
        raise NotTried("it can send everything")
    for capability in missing:
        await trial.send_refused(trial.request(**extras[capability]), Refused, f"{capability.value}, which it has not")


def _need_shown(trial: CheckRun, shown: str) -> None:
    if shown not in trial.bench.shows:
        raise NotTried(f"the bench does not show {shown}")


async def markup(trial: CheckRun) -> None:
    """The declared form of markup, HTML or styles, reaches the platform."""
    kind = trial.adapter.capabilities.markup
    if kind is values.Markup.AS_IS:
        raise NotTried("it takes texts as they are")
    _need_shown(trial, "html" if kind is values.Markup.HTML else "styles")
    plain = trial.request()
    style = values.Style(kind=values.StyleKind.BOLD, start=0, length=len(plain.text))
    forms: dict[str, Any] = {"html": f"<b>{plain.text}</b>"} if kind is values.Markup.HTML else {"styles": (style,)}
    request = msgspec.structs.replace(plain, **forms)
    message = await trial.check_only_message(request, await trial.send_accepted(request))
    if (message.html, message.styles) != (request.html, request.styles):
        raise CheckFailed(f"sent {request.html or request.styles}, the platform has {message.html or message.styles}")


async def thread(trial: CheckRun) -> None:
    """A send to a thread is in the thread, not in its room."""
    place = trial.bench.thread
    if place is None:
        raise NotTried("the bench has no `thread`")
    request = trial.request(place)
    message = await trial.check_only_message(request, await trial.send_accepted(request))
    if (message.address.thread, message.address.conversation) != (place.thread, place.conversation):
        raise CheckFailed(f"asked for {place}, the platform shows it at {message.address}")


async def open_thread(trial: CheckRun) -> None:
    """The thread on a message is opened once, however often it is requested, and accepts messages."""
    if not trial.adapter.capabilities.opens_threads:
        raise NotTried("it opens no threads")
    if not trial.can(values.Capability.MESSAGE_IDS):
        raise NotTried("its receipts name no message")
    room = trial.bench.places[0]
    root = await trial.send_accepted(trial.request())
    opened = [await trial.adapter.open_thread(room, root.provider_id, title) for title in ("one", "two")]
    if opened[0] != opened[1]:
        raise CheckFailed(f"asked twice, it opened {opened[0]} and {opened[1]}")
    if opened[0].lane == room.lane:
        raise CheckFailed(f"the thread is the room: {room}")
    request = trial.request(opened[0])
    await trial.check_only_message(request, await trial.send_accepted(request))


async def transport(trial: CheckRun) -> None:
    """A send uses the requested transport; a hybrid adapter has both."""
    mode = trial.adapter.capabilities.mode
    for kind in tuple(values.Transport) if mode is values.DeliveryMode.HYBRID else (mode.first,):
        request = trial.request(transport=kind)
        message = await trial.check_only_message(request, await trial.send_accepted(request))
        if message.transport is None:
            raise NotTried("the bench does not show transports")
