"""WhatsApp: people have a phone number, JID or hidden id (``@lid``), groups and newsletters a JID; no threads.

A person's JID is the phone number at ``s.whatsapp.net`` (``c.us`` in some libraries), sometimes with a device number in
between, so number and JID are one conversation with one key. A hidden id is not a phone number: its digits, taken
for one, may be those of a stranger (scenario B082).
"""

import re

from trunkline.core.action_catalogue import Action
from trunkline.core.channels.channel_actions import NO_HANDLER, PollFeatures, action, react, table
from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.channels.target_parsing import agree, normal_phone, word_kind
from trunkline.core.values import Capabilities, ChatKind

GROUP = re.compile(r"([0-9]+(?:-[0-9]+)*)@g\.us", re.IGNORECASE)
_GROUP_LOCAL = re.compile(r"[0-9]+(?:-[0-9]+)*")
_JID = re.compile(r"([0-9]+)(?::[0-9]+)?@(s\.whatsapp\.net|c\.us|lid|newsletter)", re.IGNORECASE)
_NUMBERED = re.compile(r"([0-9]+)(?:(?::[0-9]+)?@(s\.whatsapp\.net|c\.us|lid))?")


_ACTIONS = table(
    {
        Action.POLL: action(gate="polls"),
        Action.POLL_RESULTS: action("messageId|pollId", gate="polls"),
        Action.REACT: react("Emoji is required to remove a WhatsApp reaction."),
        Action.EDIT: action("messageId", "message", gate="messages"),
        Action.DELETE: action("messageId", gate="messages"),
    }
)


class WhatsApp(ChannelRules):
    channel = "whatsapp"
    forms = (
        "+15551234567",
        "15551234567@s.whatsapp.net",
        "123456789012345@lid",
        "120363040000000000@g.us (a group)",
        "120363040000000000@newsletter (a channel)",
    )
    case_sensitive = False
    #: the lowest limit of its interfaces (the business API); the apps accept 65536
    capabilities = Capabilities(text_limit=4096, caption_limit=1024, button_text_limit=1024)
    chunk_limit = 4000
    # WhatsApp would show it, but a transcript has none.
    strips_leading_whitespace = True
    actions = _ACTIONS
    polls = PollFeatures()
    unsupported = NO_HANDLER

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """A person's JID is folded to the phone number, and a device is the person's."""
        folded = super().fold(kind, id)
        if kind is ChatKind.DIRECT and (jid := _NUMBERED.fullmatch(folded)):
            return f"+{jid[1]}" if jid[2] != "lid" else f"{jid[1]}@lid"
        return folded

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The form of the id decides; a kind word must agree with it."""
        bare = self.strip(self.clean(text), repeat=True)
        word, id = self.kind_word(bare)  # noqa: A001 -- the word
        if word_kind(word) is ChatKind.GROUP and _GROUP_LOCAL.fullmatch(id):
            id = f"{id}@g.us"  # noqa: A001
        found = self._by_form(id)
        if found is None:
            if not id:
                return self.target(
                    word_kind(word) or ChatKind.DIRECT, id, text, f"by the prefix {word or self.channel}:"
                )
            raise self.wrong(text, "it is neither a phone number with its country nor a JID that can be written to")
        agree(self, text, word, found.kind)
        return found

    def _by_form(self, id: str) -> ParsedTarget | None:  # noqa: A002
        if group := GROUP.fullmatch(id):
            return ParsedTarget(kind=ChatKind.GROUP, id=f"{group[1]}@g.us", understood="a group, by its JID")
        if jid := _JID.fullmatch(id):
            domain = jid[2].lower()
            kind = ChatKind.CHANNEL if domain == "newsletter" else ChatKind.DIRECT
            return ParsedTarget(kind=kind, id=f"{jid[1]}@{domain}", understood=f"a {_NAMES[domain]}, by the JID")
        if phone := normal_phone(id):
            return ParsedTarget(kind=ChatKind.DIRECT, id=phone, understood="a user, by phone number")
        return None

    def sender(self, target: ParsedTarget) -> str:
        return target.id

    def to(self, target: ParsedTarget) -> str:
        return target.id


_NAMES = {"s.whatsapp.net": "user", "c.us": "user", "lid": "user under a hidden id", "newsletter": "newsletter"}
