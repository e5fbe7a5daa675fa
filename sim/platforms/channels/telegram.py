"""A fake Telegram: groups, forum topics, direct messages. The Bot API has neither idempotency keys nor look-up.

Rules taken from the real platform: message ids grow in each chat by itself, so equal ids in two chats are two messages.
A topic is a thread of its group. Limits: 4096 visible characters; 12 options in a poll. A request has HTML beside its
plain text; the HTML is displayed, and refused if it cannot be parsed. A text below files has at most 1024 characters,
the value of a button 64 bytes, the question of a poll 300 characters and an option 100.
"""

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import Refused
from trunkline.core.values import Capability, DeedKind, Markup, SendRequest
from trunkline.sim.platforms.actions.server import ActionRules
from trunkline.sim.platforms.api.request_checks import PartLimits, text_of_html
from trunkline.sim.platforms.base import TimedPlatform
from trunkline.sim.platforms.rooms import Room, digits

_LONGEST_CAPTION = 1024
PART_LIMITS = PartLimits(button_bytes=64, question=300, option=100)


class FakeTelegram(TimedPlatform):
    channel = "telegram"
    extras = frozenset({Capability.POLL, Capability.PAYLOAD, Capability.SILENT, Capability.BUTTONS})
    rules = ActionRules(one_reaction=True, deletes_others=True, delete_seconds=48 * 3600.0)
    markup = Markup.HTML
    poll_options = 12
    part_limits = PART_LIMITS
    caption_limit = _LONGEST_CAPTION
    per_second = 10
    deeds = frozenset({DeedKind.EDIT, DeedKind.REACT, DeedKind.UNREACT})
    threadless = frozenset({DeedKind.REACT, DeedKind.UNREACT})
    albums = "named"

    def visible(self, request: SendRequest | ActionRequest) -> str:
        """The text of the HTML; without HTML, the plain text. A text below files is shorter."""
        shown = request.text if request.html is None else text_of_html(request.html)
        if isinstance(request, SendRequest) and request.media and len(shown) > _LONGEST_CAPTION:
            raise Refused(f"longer than {_LONGEST_CAPTION} below a file")
        return shown

    def new_id(self, *what: str) -> str:
        """``-100`` and ten digits for groups, small numbers for topics, nine digits for people."""
        kind = what[0]
        if kind == "room":
            return f"-100{digits(self.channel, *what, length=10)}"
        return digits(self.channel, *what, length=3 if kind == "thread" else 9)

    def poll_id(self, message_id: str, room: Room) -> str:
        return digits(self.channel, "poll", room.conversation, message_id, length=19)

    def id_at(self, number: int) -> str:
        return str(2 + number)
