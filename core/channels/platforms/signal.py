"""Signal: people have a phone number, UUID or username, groups a case-sensitive base64 id; no threads.

Only Signal knows which names belong to one person, so a phone number and a UUID are two conversations unless identity
links join them.
"""

import re

from trunkline.core.action_catalogue import Action
from trunkline.core.channels.channel_actions import ChannelAction, PollFeatures, action, table
from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.channels.target_parsing import normal_phone
from trunkline.core.values import Address, Capabilities, ChatKind, Markup

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_COMPACT = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)
_USERNAME = re.compile(r"[a-z_][a-z0-9_]{2,31}\.[0-9]{2,}", re.IGNORECASE)
#: the time of a message, and its author where two have the same time
_MESSAGE = re.compile(r"[0-9]{1,18}(?::(\S{1,100}))?")
WORDS = ("group", "username", "u", "uuid", "user", "dm")


_ACTIONS = table(
    {
        Action.REACT: ChannelAction(
            needs=("messageId", "emoji"),
            gate="reactions",
            labels={"messageId": "messageId (timestamp)"},
            errors={
                "emoji": "Emoji required to add reaction.",
                "emoji to remove": "Emoji required to remove reaction.",
            },
        ),
        Action.EDIT: action("messageId", "message", gate="messages"),
        Action.DELETE: action("messageId", gate="messages"),
    }
)


class Signal(ChannelRules):
    channel = "signal"
    forms = ("+15551234567", "uuid:UUID", "username:alice.01", "group:ID")
    #: for people; ids of groups keep their case, see `fold`
    case_sensitive = False
    #: a longer text becomes an attachment, which is loaded separately and may be truncated in notifications
    capabilities = Capabilities(text_limit=2000, markup=Markup.STYLED)
    chunk_limit = 4000
    actions = _ACTIONS
    polls = PollFeatures()
    unsupported = "Action {action} not supported for {channel}."

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """Ids of groups keep their case."""
        return super().fold(kind, id).removeprefix("uuid:") if kind is ChatKind.DIRECT else id

    def unusable_reference(self, action: Action, place: Address, message_id: str, *, author: bool) -> str | None:
        """A message is named by its time, and a reaction in a group by its author too."""
        found = _MESSAGE.fullmatch(message_id)
        if found is None:
            return "the id of a message on Signal is its time in milliseconds"
        if action is Action.REACT and place.kind is ChatKind.GROUP and not author and found[1] is None:
            return "nobody is known to have written it in this group; say who did by targetAuthor"
        return None

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The word or the form of a person's id decides; a group needs its word."""
        trimmed = self.clean(text)
        word, id = self.kind_word(self.strip(trimmed, repeat=True), WORDS)  # noqa: A001 -- the word
        if word == "group" or (not word and hints.kind is ChatKind.GROUP):
            how = "by the prefix group:" if word else "according to a directory"
            return self.target(ChatKind.GROUP, id, text, how)
        if not id:
            return self.target(ChatKind.DIRECT, id, text, f"by the prefix {word or self.channel}:")
        return self._person(word, id, text)

    def _person(self, word: str, id: str, text: str) -> ParsedTarget:  # noqa: A002
        """A person by UUID, username or phone number; `word` may require one of them."""
        if word in ("user", "dm") and id.lower().startswith(("username:", "uuid:", "u:")):
            word, id = self.kind_word(id, WORDS)  # noqa: A001
        name = word in ("username", "u")
        if not name and (uuid := _hyphenated(id)):
            return self.target(ChatKind.DIRECT, uuid, text, "by UUID")
        if word != "uuid" and _USERNAME.fullmatch(id):
            return self.target(ChatKind.DIRECT, f"username:{id}", text, "by username")
        phone = None if name or word == "uuid" else normal_phone(id)
        if phone is None:
            expected = {"uuid": "a UUID", "username": "a username", "u": "a username"}
            what = expected.get(word, "a phone number with its country, a UUID or a username")
            raise self.wrong(text, f"expected {what}, but {id!r} is none")
        return self.target(ChatKind.DIRECT, phone, text, "by phone number")

    def to(self, target: ParsedTarget) -> str:
        if target.kind is not ChatKind.DIRECT:
            return f"group:{target.id}"
        return f"{self.channel}:{target.id.removeprefix('uuid:')}"


def _hyphenated(id: str) -> str | None:  # noqa: A002
    if _UUID.fullmatch(id):
        return id
    if _COMPACT.fullmatch(id):
        return "-".join((id[:8], id[8:12], id[12:16], id[16:20], id[20:]))
    return None
