"""Changes of messages: edits, deletions, reactions, pins."""

from __future__ import annotations

from typing import Any

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.json_values import as_object, as_objects
from trunkline.core.adapters.slack.emoji import name_of
from trunkline.core.adapters.slack.inbound.events import SlackSelf
from trunkline.core.adapters.slack.places import SlackPlaces
from trunkline.core.adapters.slack.requests import TextForm, text_of
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.errors import Refused
from trunkline.core.values import Receipt

#: what is in force already is no failure
_REACTED, _NOT_REACTED = frozenset({"already_reacted"}), frozenset({"no_reaction"})
_PINNED, _NOT_PINNED = frozenset({"already_pinned"}), frozenset({"not_pinned", "no_pin"})
_NO_MESSAGE = frozenset({"message_not_found"})


class SlackChanges:
    """Carries out changes."""

    def __init__(self, web: SlackWeb, places: SlackPlaces, form: TextForm) -> None:
        self._web = web
        self._places = places
        self._form: TextForm = form

    async def act(self, request: ActionRequest, me: SlackSelf) -> Receipt:
        """Carry out a change of a message. Raises `PlatformError`."""
        if request.message_id is None:
            raise Refused(f"{request.action.value} names no message")
        channel, ts = await self._places.channel_of(request.address), request.message_id
        match request.action:
            case Action.EDIT:
                await self._web.call("chat.update", channel=channel, ts=ts, **text_of(request.text, self._form))
            case Action.DELETE:
                # A message that is gone when a deletion is repeated was deleted by the deletion in doubt.
                fine = _NO_MESSAGE if request.attempt > 1 else ()
                await self._web.call("chat.delete", channel=channel, ts=ts, fine=fine)
            case Action.REACT:
                await self._react(request, channel, ts, me)
            case Action.PIN:
                await self._web.call("pins.add", channel=channel, timestamp=ts, fine=_PINNED)
            case Action.UNPIN:
                await self._web.call("pins.remove", channel=channel, timestamp=ts, fine=_NOT_PINNED)
            case _:
                raise Refused(f"there is no {request.action.value} here")
        return Receipt(provider_id=ts, address=request.address)

    async def _react(self, request: ActionRequest, channel: str, ts: str, me: SlackSelf) -> None:
        emoji = request.text.strip()
        if not request.remove:
            await self._web.call("reactions.add", channel=channel, timestamp=ts, name=name_of(emoji), fine=_REACTED)
            return
        names = [name_of(emoji)] if emoji else await self._own_reactions(channel, ts, me)
        for name in names:
            await self._web.call("reactions.remove", channel=channel, timestamp=ts, name=name, fine=_NOT_REACTED)

    async def _own_reactions(self, channel: str, ts: str, me: SlackSelf) -> list[str]:
        found = await self._web.call("reactions.get", channel=channel, timestamp=ts, full=True)
        return [name for name, users in reactions_of(found) if me.user in users]


def reactions_of(response: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The reactions of a message: name and users."""
    reactions = as_objects(as_object(response.get("message")).get("reactions"))
    return [(str(found.get("name", "")), [str(user) for user in found.get("users") or ()]) for found in reactions]
