"""Checks of capabilities: whether they are consistent, and whether a send may use them. Pure."""

import math
from collections.abc import Iterator

import msgspec

from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.channels.adapter import Actions, Queries
from trunkline.core.errors import InvalidAction, InvalidSend
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability, DeliveryMode, Idempotency, Poll
from trunkline.core.well_formed import well_formed

_LEAST_OPTIONS = 2


def require(capabilities: Capabilities, capability: Capability, what: str) -> None:
    """Raise `InvalidSend` if an adapter lacks a capability.

    `what` names the request with its channel and account, e.g. ``a poll on signal:default``.
    """
    if capability not in capabilities.can:
        there = ", ".join(sorted(capabilities.can)) or "nothing"
        raise InvalidSend(f"{what}: the adapter has no {capability.value}; it has {there}", Reason.UNSUPPORTED)


def require_action(adapter: object, capabilities: Capabilities, action: Action, where: str) -> None:
    """Raise `InvalidAction` if an adapter does not carry out an action. `where`: channel and account."""
    has_method = isinstance(adapter, Queries if action.spec.kind is ActionKind.QUERY else Actions)
    if not has_method or action not in capabilities.actions:
        there = ", ".join(sorted(capabilities.actions)) if has_method else ""
        raise InvalidAction(f"{action} on {where}: the adapter has {there or 'no actions'}", Reason.UNSUPPORTED)


def for_action(capabilities: Capabilities, action: Action) -> Capabilities:
    """The support of an adapter for a change.

    A repeatable change in doubt is made again, as often as needed, but not while the first request may still arrive:
    it would overtake the next change. Any other one is parked. Its request carries no mark, its receipt need not name a
    message, and there is one transport.
    """
    repeatable = action.spec.repeatable
    return msgspec.structs.replace(
        capabilities,
        can=frozenset(),
        idempotency=Idempotency.KEY if repeatable else Idempotency.NONE,
        key_seconds=None,
        repeat_after=capabilities.in_flight_seconds,
        mode=DeliveryMode.DIRECT,
    )


def for_notice(capabilities: Capabilities, *, again: bool) -> Capabilities:
    """The support of an adapter for a notice of the gateway itself. `again`: the second request, after a doubt.

    Where nobody can find out whether it was accepted, it is sent again, like something under a key that lasts: to read
    it twice harms nobody, and without it a person may never hear that an answer is missing. A third time it is not
    sent, not even with a mark: as if the adapter could send no text.
    """
    if capabilities.idempotency is Idempotency.LOOKUP:
        return capabilities
    if again and capabilities.idempotency is Idempotency.NONE:
        return msgspec.structs.replace(capabilities, can=capabilities.can - {Capability.TEXT})
    return msgspec.structs.replace(capabilities, idempotency=Idempotency.KEY, key_seconds=None)


def check_able(
    can: Capabilities,
    where: str,
    *,
    media: tuple[str, ...] = (),
    poll: Poll | None = None,
    payload: str | None = None,
    parts: MessageParts | None = None,
) -> Poll | None:
    """Raise `InvalidSend` if an adapter cannot send a message as asked; returns the poll in the form to send.

    `where` names channel and account: ``on signal:default``.
    """
    if media:
        require(can, Capability.MEDIA, f"media {where}")
    if payload is not None:
        require(can, Capability.PAYLOAD, f"a payload {where}")
    if parts is not None:
        for capability, what in _needed(parts):
            require(can, capability, f"{what} {where}")
        for action, what in ((Action.SEND_WITH_EFFECT, parts.effect), (Action.STICKER, parts.sticker)):
            if what is not None and action not in can.actions:
                raise InvalidSend(f"{action.value} {where}: the adapter cannot do that", Reason.UNSUPPORTED)
    if poll is None:
        return None
    require(can, Capability.POLL, f"a poll {where}")
    return check_poll(poll, can)


def _needed(parts: MessageParts) -> Iterator[tuple[Capability, str]]:
    """The capabilities that the parts of a message need, each with what it is for."""
    if parts.silent:
        yield Capability.SILENT, "a silent message"
    if parts.buttons:
        yield Capability.BUTTONS, "buttons"
    if parts.card is not None:
        yield Capability.CARDS, "a card"
    if parts.components is not None:
        yield Capability.COMPONENTS, "components"
    if parts.embed is not None:
        yield Capability.EMBEDS, "an embed"


def check_poll(poll: Poll, capabilities: Capabilities) -> Poll:
    """A poll in the form to send: texts trimmed, blank options dropped.

    Raises `InvalidSend` for an invalid one. `require` checks whether the adapter has polls at all.
    """
    try:
        # Clients construct it without validation.
        poll = msgspec.convert(msgspec.structs.asdict(poll), Poll)
    except msgspec.ValidationError as error:
        raise _bad(f"Poll is malformed: {error}") from error
    question = well_formed(poll.question).strip()
    options = tuple(option for option in (well_formed(one).strip() for one in poll.options) if option)
    most = capabilities.poll_options
    if not question:
        raise _bad("Poll question is required")
    if len(options) < _LEAST_OPTIONS:
        raise _bad(f"Poll requires at least {_LEAST_OPTIONS} options")
    if most is not None and len(options) > most:
        raise _bad(f"Poll supports at most {most} options")
    if poll.max_selections < 1:
        raise _bad("maxSelections must be at least 1")
    if poll.max_selections > len(options):
        raise _bad("maxSelections cannot exceed option count")
    if poll.duration_hours is not None and poll.duration_hours < 1:
        raise _bad("durationHours must be at least 1")
    return msgspec.structs.replace(poll, question=question, options=options)


def _bad(facts: str) -> InvalidSend:
    return InvalidSend(facts, Reason.BAD_POLL)


def check_capabilities(capabilities: Capabilities) -> tuple[str, ...]:
    """The inconsistencies in an adapter's capabilities, one sentence each; empty if there are none."""
    can, key_seconds = capabilities.can, capabilities.key_seconds
    by_key, by_look_up = (capabilities.idempotency is kind for kind in (Idempotency.KEY, Idempotency.LOOKUP))
    in_flight, options = capabilities.in_flight_seconds, capabilities.poll_options
    captions, beside = capabilities.caption_limit, capabilities.button_text_limit
    wrong = {
        "it cannot send texts": Capability.TEXT not in can,
        f"its text limit is not positive: {capabilities.text_limit}": capabilities.text_limit < 1,
        f"a limit below 1: {captions} for captions, {beside} with buttons": any(
            one is not None and one < 1 for one in (captions, beside)
        ),
        "it opens threads and has no threads": capabilities.opens_threads and Capability.THREADS not in can,
        "it limits poll options and has no polls": options is not None and Capability.POLL not in can,
        f"a limit of {options} poll options allows no poll": options is not None and options < _LEAST_OPTIONS,
        f"in_flight_seconds is no time: {in_flight}": not (math.isfinite(in_flight) and in_flight >= 0),
        "look-up needs a time in flight: in_flight_seconds is 0": by_look_up and in_flight == 0,
        "it has key_seconds and no idempotency keys": key_seconds is not None and not by_key,
        f"key_seconds is no time: {key_seconds}": key_seconds is not None and not key_seconds > 0,
        f"it forgets a key after {key_seconds} s, but a request with that key may still arrive for {in_flight} s": (
            by_key and key_seconds is not None and 0 < key_seconds < in_flight
        ),
    }
    return tuple(sentence for sentence, is_wrong in wrong.items() if is_wrong)
