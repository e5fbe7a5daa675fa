"""Microsoft Teams: people, group chats and channels of teams; an answer in a channel stays in its thread.

Ids are case-sensitive, and their form mostly shows their kind: ``...@thread.tacv2`` is a channel of a team,
``...@thread.v2`` a group chat or meeting, ``a:...`` and ``...@unq.gbl.spaces`` are chats with one person, ``29:...``,
``8:...`` and GUIDs are people. ``...@thread.skype`` may be an old channel or an old group chat. In a channel,
``;messageid=<id>`` after the id names the root message of a thread.
"""

import re

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels.channel_actions import THREAD_REPLY, PollFeatures, action, table
from trunkline.core.channels.rules import ChannelRules, Hints, OutboundPlace, ParsedTarget
from trunkline.core.channels.target_parsing import agree, word_kind
from trunkline.core.values import Capabilities, ChatKind, Chunker

CHANNEL = re.compile(r"@thread\.tacv2", re.IGNORECASE)
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_FORMS = (
    (CHANNEL, ChatKind.CHANNEL, "by the id of a channel"),
    (re.compile(r"@thread\.v2\Z", re.IGNORECASE), ChatKind.GROUP, "by the id of a group chat"),
    (re.compile(r"@unq\.gbl\.spaces\Z|\A(?:a|8|28|29):", re.IGNORECASE), ChatKind.DIRECT, "by the id of a user"),
    (re.compile(rf"\A{_GUID.pattern}\Z", re.IGNORECASE), ChatKind.DIRECT, "by the id of a user"),
)
_MESSAGE = re.compile(r"messageid=([0-9]+)", re.IGNORECASE)


_ACTIONS = table(
    {
        Action.THREAD_REPLY: THREAD_REPLY,
        Action.POLL: action(gate="polls"),
        Action.POLL_RESULTS: action("messageId|pollId", gate="polls"),
        Action.EDIT: action("messageId", "message", gate="messages"),
        Action.DELETE: action("messageId", gate="messages"),
    }
)


class MsTeams(ChannelRules):
    channel = "msteams"
    prefixes = ("teams",)
    forms = ("user:ID", "group:ID", "channel:ID", "conversation:ID@thread.tacv2", "29:ID, a:ID or a GUID (a user)")
    has_threads = True
    #: a message may have about 28 KB in UTF-16, including everything, and a character up to 4 bytes
    capabilities = Capabilities(text_limit=7000)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000
    actions = _ACTIONS
    features = frozenset({Feature.CARDS})
    polls = PollFeatures()

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """Ids keep their case, except GUIDs."""
        return id.lower() if _GUID.fullmatch(id) else id

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The form of the id decides, else the kind word, else a directory."""
        trimmed = self.clean(text)
        word, rest = self.kind_word(self.strip(trimmed, repeat=True))
        id, _, suffix = (part.strip() for part in rest.partition(";"))  # noqa: A001
        kind, how = next(((kind, how) for form, kind, how in _FORMS if form.search(id)), (None, ""))
        if kind is not None:
            agree(self, text, word, kind)
        elif (kind := word_kind(word) or hints.kind) is not None:
            how = f"by the prefix {word}:" if word_kind(word) else "according to a directory"
        elif id:
            raise self.ambiguous(text, "the id does not show whether it is a user, a group or a channel; add the word")
        found = self.target(kind or ChatKind.GROUP, id, text, how or "by default")
        message = _MESSAGE.search(suffix) if found.kind is ChatKind.CHANNEL else None
        return msgspec.structs.replace(found, thread=message[1] if message else None)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """Only channels have threads."""
        return super().place(target, thread if target.kind is ChatKind.CHANNEL else None, None)
