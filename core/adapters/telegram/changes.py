"""Changes of the gateway as calls of the Bot API, and their answers. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.json_values import parameters_of
from trunkline.core.adapters.telegram.errors import BotApiAnswer
from trunkline.core.adapters.telegram.requests import BotCall
from trunkline.core.adapters.telegram.sends import chat_of, number_of
from trunkline.core.adapters.telegram.update_types import CreatedTopic
from trunkline.core.errors import Ambiguous, Refused
from trunkline.core.values import Receipt


def change_of(request: ActionRequest) -> BotCall:
    """The call to carry out a change. Raises `Refused` for a change unknown to Telegram."""
    make = _CHANGES.get(request.action)
    if make is None or request.identity is not None:
        raise Refused(f"there is no {request.action.value} on Telegram")
    return make(request)


def after_refusal(request: ActionRequest, answer: BotApiAnswer) -> BotCall | None:
    """The call after a refused change; None for a change already in force. Raises `PlatformError`.

    A repeated deletion finds nothing to delete; the first attempt is refused.
    """
    if answer.no_change or (answer.already_deleted and request.attempt > 1):
        return None
    if request.action is Action.EDIT and answer.has_no_text:
        return _edit_caption(request)
    raise answer.error()


def receipt_of(request: ActionRequest, result: Any) -> Receipt:
    """The receipt of a change: the message, or the created topic."""
    if request.action is Action.TOPIC_CREATE:
        topic = topic_in(result)
        return Receipt(provider_id=topic, address=msgspec.structs.replace(request.address, thread=topic))
    if request.action is Action.TOPIC_EDIT:
        topic = _topic(request)
        return Receipt(provider_id=topic, address=msgspec.structs.replace(request.address, thread=topic))
    return Receipt(provider_id=request.message_id or "", address=request.address)


def topic_in(result: Any) -> str:
    """The number of a created topic. Raises `Ambiguous` for an answer without a number."""
    try:
        return str(msgspec.convert(result, CreatedTopic).message_thread_id)
    except msgspec.ValidationError:
        raise Ambiguous("the answer names no topic") from None


def _of_message(request: ActionRequest) -> dict[str, Any]:
    return {"chat_id": chat_of(request.address), "message_id": number_of(request.message_id, "a message")}


def _formed(request: ActionRequest, name: str) -> dict[str, Any]:
    return {name: request.text} if request.html is None else {name: request.html, "parse_mode": "HTML"}


def _edit(request: ActionRequest) -> BotCall:
    if not request.text.strip():
        raise Refused("the new text is empty")
    more = _formed(request, "text")
    return BotCall(
        method="edit_message_text",
        arguments={"text": more.pop("text")},
        more={**_of_message(request), **more},
    )


def _edit_caption(request: ActionRequest) -> BotCall:
    return BotCall(
        method="edit_message_caption",
        arguments={},
        more={**_of_message(request), **_formed(request, "caption")},
    )


def _delete(request: ActionRequest) -> BotCall:
    return BotCall(method="delete_message", arguments=_of_message(request))


def _react(request: ActionRequest) -> BotCall:
    """Set the reaction: a bot has only one on a message, so to take any away takes all away."""
    emoji = request.text.strip()
    if not emoji and not request.remove:
        raise Refused("there is no emoji")
    reaction = [] if request.remove else [{"type": "emoji", "emoji": emoji}]
    return BotCall(method="set_message_reaction", arguments=_of_message(request), more={"reaction": reaction})


def _pin(request: ActionRequest) -> BotCall:
    return BotCall(method="pin_chat_message", arguments=_of_message(request), more={"disable_notification": True})


def _unpin(request: ActionRequest) -> BotCall:
    return BotCall(method="unpin_chat_message", arguments=_of_message(request))


def _create_topic(request: ActionRequest) -> BotCall:
    fields = parameters_of(request.fields)
    more = _given(fields, {"iconColor": "icon_color", "iconCustomEmojiId": "icon_custom_emoji_id"})
    name = _word(request, fields, "name", "threadName")
    return BotCall(
        method="create_forum_topic", arguments={"chat_id": chat_of(request.address), "name": name}, more=more
    )


def _edit_topic(request: ActionRequest) -> BotCall:
    fields = parameters_of(request.fields)
    more = _given(fields, {"iconCustomEmojiId": "icon_custom_emoji_id"})
    more["name"] = _word(request, fields, "name", "topicName")
    arguments = {"chat_id": chat_of(request.address), "message_thread_id": number_of(_topic(request), "a topic")}
    return BotCall(method="edit_forum_topic", arguments=arguments, more=more)


def _topic(request: ActionRequest) -> str:
    fields = parameters_of(request.fields)
    named = fields.get("threadId") or fields.get("messageThreadId")
    topic = request.address.thread if request.address.thread is not None else named
    if topic is None:
        raise Refused("no such topic")
    return str(topic)


def _given(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {theirs: fields[ours] for ours, theirs in names.items() if fields.get(ours) is not None}


def _word(request: ActionRequest, fields: dict[str, Any], *names: str) -> str:
    found = next((str(fields[name]).strip() for name in names if fields.get(name)), "") or request.text.strip()
    if not found:
        raise Refused(f"{names[0]} is missing")
    return found


_CHANGES: dict[Action, Callable[[ActionRequest], BotCall]] = {
    Action.EDIT: _edit,
    Action.DELETE: _delete,
    Action.REACT: _react,
    Action.PIN: _pin,
    Action.UNPIN: _unpin,
    Action.TOPIC_CREATE: _create_topic,
    Action.TOPIC_EDIT: _edit_topic,
}
#: the changes that the adapter carries out
CHANGES = frozenset(_CHANGES)
