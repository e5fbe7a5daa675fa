"""The server of a platform: its members, the limits of its actions, and buttons, as changes and questions use them."""

import json
from collections.abc import Iterator
from typing import Any, Protocol, cast

import msgspec

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import UnknownName
from trunkline.core.values import Capabilities, ChatKind, Peer, SendRequest
from trunkline.sim.platforms.actions.message_board import BoardMessage, MessageBoard, PostedMessage
from trunkline.sim.platforms.rooms import RoomsHost
from trunkline.sim.platforms.threads import Threads


class Member(msgspec.Struct):
    """A person on the platform, as far as the gateway changed something about them."""

    peer: Peer
    #: roles that the gateway gave or took away; others are the scenario's
    given: set[str] = set()
    taken: set[str] = set()
    #: ``kicked`` or ``banned``
    out: str | None = None
    #: may not post in rooms until then
    timeout: float = 0.0


class Server:
    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        #: kind, such as ``category`` or ``emoji`` -> id -> its fields
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        #: account -> the presence that it shows
        self.presences: dict[str, dict[str, Any]] = {}
        self.profiles: dict[str, dict[str, Any]] = {}
        #: conversation -> the settings of a room or group that the gateway changed
        self.rooms: dict[str, dict[str, Any]] = {}

    def meet(self, peer: Peer) -> None:
        self.members.setdefault(peer.id, Member(peer))

    def roles(self, person: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The roles of a person now; `usual`: those of the scenario."""
        member = self.members.get(person)
        if member is None or not (member.given or member.taken):
            return usual
        kept = tuple(role for role in usual if role not in member.taken)
        return (*kept, *sorted(member.given - set(kept)))

    def may_post(self, person: str, now: float) -> str | None:
        """Why a person may not post in a room; None if they may."""
        member = self.members.get(person)
        if member is None:
            return None
        return member.out or ("timed out" if now < member.timeout else None)

    def objects_of(self, kind: str) -> dict[str, dict[str, Any]]:
        return self.objects.setdefault(kind, {})

    def settings(self, conversation: str) -> dict[str, Any]:
        return self.rooms.setdefault(conversation, {})


class ActionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The actions allowed by a platform, how often and how long."""

    #: a bot has one reaction on a message, and another one replaces it
    one_reaction: bool = False
    #: a bot may delete messages of others in rooms
    deletes_others: bool = False
    #: seconds after which a message can no longer be edited, or deleted; None: always
    edit_seconds: float | None = None
    delete_seconds: float | None = None
    #: how often a message can be edited; None: any number of times
    edits: int | None = None
    #: how many messages a room can have pinned; None: any number
    pins: int | None = None
    effects: frozenset[str] = frozenset()


class ActionHost(RoomsHost, Protocol):
    """A platform as changes and questions use it: its messages, its members, and its rules."""

    board: MessageBoard
    server: Server
    threads: Threads
    rules: ActionRules
    capabilities: dict[str, Capabilities]
    usual_roles: dict[str, tuple[str, ...]]
    room_kind: ChatKind
    text_limit: int

    def bot_id(self, account: str) -> str: ...
    def visible(self, request: SendRequest | ActionRequest) -> str: ...


#: names of a component's text and value in Discord's JSON and in the tool's
_TEXTS, _VALUES = ("label", "text", "title"), ("custom_id", "customId", "value", "data")


def buttons_of(message: BoardMessage) -> dict[str, str]:
    """The buttons of a message: text -> value. A button that opens a page is none."""
    parts = message.request.parts if isinstance(message, PostedMessage) else None
    if parts is None:
        return {}
    found = {button.text: button.value or button.text for row in parts.buttons for button in row if button.url is None}
    for source in (parts.components, parts.card):
        for component in _components(None if source is None else json.loads(source)):
            text = next((component[name] for name in _TEXTS if isinstance(component.get(name), str)), "")
            value = next((component[name] for name in _VALUES if isinstance(component.get(name), str)), None)
            if value is not None:
                found[text or value] = value
    return found


def value_of_button(message: BoardMessage, button: str) -> str:
    """The value of a button, named by its text or its value. Raises `UnknownName` if the message has no such button."""
    there = buttons_of(message)
    if button in there:
        return there[button]
    if button in there.values():
        return button
    raise UnknownName(f"the message has no button {button!r}; it has {', '.join(there) or 'none'}")


def _components(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        yield found
        for inner in found.values():
            yield from _components(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _components(inner)
