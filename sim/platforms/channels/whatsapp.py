"""A fake WhatsApp: people by phone number, groups by JID, no threads, and neither idempotency keys nor look-up.

By default it is the account's own connection, as of the apps, which is the only interface: so everything uses the
gateway transport, and nothing can be sent while that connection is down. A person's JID is the same conversation as the
phone number. Limits: 12 options in a poll; 4096 characters, as in the strictest of its interfaces.

An account in `direct` mode is a business number of the Cloud API: no polls, edits or deletions, three reply buttons,
one file in a message, and free texts to a person only for 24 hours after they wrote. Before the run, everybody had
written.
"""

import re

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import Refused
from trunkline.core.values import Address, Capabilities, Capability, ChatKind, DeedKind, DeliveryMode, SendRequest
from trunkline.sim.platforms.actions.server import ActionRules
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import digits, letters
from trunkline.sim.scenario.model.world import AccountSpec

_PERSON = re.compile(r"\+?([0-9]+)(?::[0-9]+)?(?:@(?:s\.whatsapp\.net|c\.us))?", re.IGNORECASE)
_HEX = "0123456789ABCDEF"
#: what the Cloud API does not have
_NOT_BY_CLOUD = frozenset({Action.POLL, Action.POLL_RESULTS, Action.EDIT, Action.DELETE})
#: of the Cloud API: characters of a text with a file or with buttons, and of a button; number of buttons
_CAPTION, _BUTTON, _BUTTONS = 1024, 20, 3


class WindowClosed(Refused):
    """The person wrote too long ago: only a template reaches them."""


class FakeWhatsApp(FakePlatform):
    channel = "whatsapp"
    albums = "nameless"
    extras = frozenset({Capability.POLL})
    rules = ActionRules(one_reaction=True, edit_seconds=15 * 60.0, delete_seconds=60 * 3600.0)
    has_threads = False
    deeds = frozenset({DeedKind.REACT, DeedKind.UNREACT})
    mode = DeliveryMode.GATEWAY
    poll_options = 12
    #: seconds after their last message for which a person can be written to by the Cloud API
    window_seconds = 24 * 3600.0

    def _can(self, account: AccountSpec) -> Capabilities:
        can = super()._can(account)
        if can.mode is not DeliveryMode.DIRECT:
            return can
        return msgspec.structs.replace(
            can,
            can=can.can - {Capability.POLL} | {Capability.BUTTONS},
            actions=can.actions - _NOT_BY_CLOUD,
            poll_options=None,
            caption_limit=_CAPTION,
            button_text_limit=_CAPTION,
        )

    def visible(self, request: SendRequest | ActionRequest) -> str:
        """The text; raises `Refused` for what the Cloud API does not take."""
        place = request.address
        if isinstance(request, SendRequest) and self.capabilities[place.account].mode is DeliveryMode.DIRECT:
            _check_form(request)
            room = self.room_at(place)
            if room is not None and room.kind is ChatKind.DIRECT:
                said = (message.at for message in self.board.within(room) if message.account is None)
                if self._world.now() - max(said, default=0.0) > self.window_seconds:
                    raise WindowClosed(f"more than {self.window_seconds / 3600:g} hours ago")
        return request.text

    def new_id(self, *what: str) -> str:
        """``120363...@g.us`` for a group, a phone number for a person, ``3EB0...`` for a message."""
        if what[0] == "room":
            return f"120363{digits(self.channel, *what, length=12)}@g.us"
        if what[0] in ("person", "bot"):
            return f"+1555{digits(self.channel, *what, length=7)}"
        return f"3EB0{letters(self.channel, *what, length=16, alphabet=_HEX)}"

    def canonical(self, address: Address) -> tuple[str, str | None]:
        """The phone number for a person's JID; a group's JID is case-insensitive."""
        person = _PERSON.fullmatch(address.conversation)
        return f"+{person[1]}" if person else address.conversation.lower(), address.thread


def _check_form(request: SendRequest) -> None:
    buttons = () if request.parts is None else tuple(button for row in request.parts.buttons for button in row)
    if len(request.media) > 1:
        raise Refused("a message has one file")
    if len(buttons) > _BUTTONS or any(not 0 < len(button.text) <= _BUTTON for button in buttons):
        raise Refused(f"more than {_BUTTONS} buttons, or one with more than {_BUTTON} characters")
    if (request.media or buttons) and len(request.text) > _CAPTION:
        raise Refused(f"longer than {_CAPTION}")
