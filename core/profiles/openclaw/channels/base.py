"""Rules of OpenClaw for all channels, and those of channels that it has no resolver for."""

import re
from collections.abc import Mapping

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.channels.channel_actions import ChannelAction
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, ChannelRules, Hints, OutboundPlace, ParsedTarget
from trunkline.core.errors import TargetError
from trunkline.core.values import ChatKind

#: kind words that are stripped, in any case
WORDS = ("user", "channel", "group", "conversation", "room", "dm")
#: actions that only we have, on any channel
_OURS = frozenset({Action.POLL_RESULTS})
#: messages in other forms
FORMS = frozenset({Action.REPLY, Action.THREAD_REPLY, Action.SEND_ATTACHMENT, Action.UPLOAD_FILE})
#: for platforms whose reactions require an emoji
STRICT: Mapping[Action, str] = {}
_NOT_PHONE = re.compile(r"[^0-9+]")


def phone(text: str) -> str:
    """Any text as a phone number: ``+`` and the digits in it, perhaps none."""
    return "+" + _NOT_PHONE.sub("", text).removeprefix("+")


class KeyedPlace(OutboundPlace, frozen=True, kw_only=True, gc=False):
    """The place of a send. Its session key is built from the target and a suffix, not from the place."""

    #: the thread in the session key: word and id
    key_thread: tuple[str, str] | None = None
    #: the thread is part of the peer (a forum topic), not a suffix, so the base key has it too
    in_peer: bool = False


class Folding(ChannelRules):
    """Ids are folded, also those that our rules for the platform keep."""

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower()


class OpenClawRules(ChannelRules):
    """The rules of a channel. Ids are folded everywhere, and groups are called channels."""

    keeps_indent = True
    #: of our actions, those that it does not have on this channel
    lacks: frozenset[Action] = FORMS
    #: action -> the parameter that it does not require
    lenient: Mapping[Action, str] = {Action.REACT: "emoji"}

    def action(self, which: Action) -> ChannelAction | None:
        found = super().action(which)
        lacks = _OURS | self.lacks
        if found is None or which in lacks or (self.without_table and which not in (Action.SEND, Action.POLL)):
            return None
        needs = tuple(need for need in found.needs if need != self.lenient.get(which))
        return msgspec.structs.replace(found, needs=needs)

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower()

    def key_account(self, account: str) -> str:
        """The account in the key of an outbound message."""
        return account

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """March takes the kind only from the directory, so ``room:Lobby`` is a person."""
        _, bare = self.kind_word(self.strip(self.clean(text)), WORDS)
        how = "according to a directory" if hints.kind else "by default"
        return self.target(hints.kind or ChatKind.DIRECT, bare, text, how)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        placed = super().place(target, thread, reply_to)
        own = None if placed.thread is None else (self.thread_word, self.fold(target.kind, placed.thread))
        return KeyedPlace(**msgspec.structs.asdict(placed), key_thread=own)

    def to(self, target: ParsedTarget) -> str:
        return f"{'user' if target.kind is ChatKind.DIRECT else 'channel'}:{target.id}"

    def comparable(self, text: str) -> str:
        """The form in which two targets are compared, e.g. ``channel:c1``; any text has one."""
        try:
            # Without a word before them, ids are those of channels.
            found = self.read(text, Hints(kind=ChatKind.CHANNEL))
        except TargetError:
            return text.strip().lower()
        word = "user" if found.kind is ChatKind.DIRECT else "channel"
        return f"{word}:{found.id}{':' + found.thread if found.thread else ''}".lower()


class Threadless(ChannelRules):
    """A send has no thread, whatever is named."""

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return super().place(target, None, None)


class OpenClawAnyChannel(Threadless, OpenClawRules):
    """The rules of a channel without a resolver: no threads, and in keys the default account."""

    def key_account(self, account: str) -> str:
        return DEFAULT_ACCOUNT

    def comparable(self, text: str) -> str:
        return text.strip().lower()


class AugustRules(OpenClawRules):
    """In August kind words count."""

    read = ChannelRules.read


class AugustAnyChannel(OpenClawAnyChannel):
    """In August kind words count here too, and keys have the account."""

    key_account = OpenClawRules.key_account
    read = ChannelRules.read
