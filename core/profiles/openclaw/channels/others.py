"""The platforms on which OpenClaw reads targets in another way than we do, and little else."""

from __future__ import annotations

import msgspec

from trunkline.core.channels.platforms import mattermost
from trunkline.core.channels.platforms.feishu import Feishu
from trunkline.core.channels.platforms.googlechat import GoogleChat
from trunkline.core.channels.platforms.mattermost import Mattermost, MattermostMessage
from trunkline.core.channels.platforms.nextcloud_talk import NextcloudTalk
from trunkline.core.channels.platforms.nostr import Nostr
from trunkline.core.channels.platforms.tlon import Tlon
from trunkline.core.channels.platforms.voice import Voice
from trunkline.core.channels.platforms.zalo import Zalo
from trunkline.core.channels.platforms.zalouser import ZaloPersonal
from trunkline.core.channels.rules import Hints, InboundPlace, OutboundPlace, ParsedTarget
from trunkline.core.profiles.openclaw.channels.base import (
    WORDS,
    AugustAnyChannel,
    Folding,
    OpenClawAnyChannel,
    OpenClawRules,
)
from trunkline.core.values import Address, ChatKind

_FEISHU_WORDS = {"group": ChatKind.GROUP, "chat": ChatKind.GROUP, "user": ChatKind.DIRECT, "dm": ChatKind.DIRECT}


class OpenClawFeishu(Feishu, OpenClawRules):
    """The rules of Feishu."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A chat is a user unless a kind word says group."""
        bare = self.clean(text)
        for name in (self.channel, *self.prefixes):
            bare = self.kind_word(bare, (name,))[1]
        word, id = self.kind_word(bare, tuple(_FEISHU_WORDS))  # noqa: A001 -- the word
        how = f"by the prefix {word}:" if word else "by default"
        return self.target(_FEISHU_WORDS.get(word, ChatKind.DIRECT), id, text, how)

    def to(self, target: ParsedTarget) -> str:
        return target.id


class OpenClawGoogleChat(Folding, GoogleChat, OpenClawRules):
    """The rules of Google Chat, for which there is no resolver."""

    unknown = OpenClawAnyChannel("googlechat")

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        return OpenClawRules.key_thread(self, address)

    def key_account(self, account: str) -> str:
        return self.unknown.key_account(account)

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        return self.unknown.read(text, hints)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return self.unknown.place(target, thread, reply_to)


class AugustGoogleChat(OpenClawGoogleChat):
    """In August too there is no resolver."""

    unknown = AugustAnyChannel("googlechat")


class OpenClawMattermost(Mattermost, OpenClawRules):
    """The rules of Mattermost."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The directory decides first; else all but users are channels, even ``dm:`` and ``group:``."""
        stripped = self.strip(self.clean(text))
        named = stripped.startswith("@") or stripped.lower().startswith("user:")
        direct = named if hints.kind is None else hints.kind is ChatKind.DIRECT
        bare = stripped[1:].strip() if stripped.startswith("@") else stripped
        word, id = self.kind_word(bare, WORDS)  # noqa: A001 -- the word
        how = "according to a directory" if hints.kind else f"by the prefix {word}:" if word else "by its sign"
        return self.target(ChatKind.DIRECT if direct else ChatKind.CHANNEL, id, text, how)


def read_post(message: MattermostMessage, account: str, reply_mode: str = "off") -> InboundPlace:
    """The place of a post. Without a reply mode threads are ignored, else every post outside threads starts one."""
    found = mattermost.read_inbound(message, account, reply_mode)
    thread = None if reply_mode == "off" else found.message_thread
    return msgspec.structs.replace(
        found,
        address=msgspec.structs.replace(found.address, thread=thread),
        message_thread=thread,
        inherits_parent=thread is not None,
    )


class OpenClawNextcloudTalk(NextcloudTalk, OpenClawRules):
    """The rules of Nextcloud Talk: every room is a group."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        _, token = self.kind_word(self.strip(self.clean(text)), ("room",))
        return self.target(ChatKind.GROUP, token, text, "by default")

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.id}"


class OpenClawNostr(Folding, Nostr, OpenClawRules):
    """The rules of Nostr: any text is a person, and two spellings of a key are two."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        return self.target(ChatKind.DIRECT, self.strip(self.clean(text)), text, "by default")


class OpenClawTlon(Tlon, OpenClawRules):
    """The rules of Tlon."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Any two parts are a nest, and any one part is a ship; the id after a word may be empty."""
        bare = self.strip(self.clean(text))
        if not bare:
            raise self.wrong(text, "there is nothing after the name of the platform")
        word, id = self.kind_word(bare, ("dm", "group", "room"))  # noqa: A001 -- the word
        group, parts = word in ("group", "room"), [part for part in id.split("/") if part]
        if word == "dm" or (not group and "/" not in id):
            kind, id = ChatKind.DIRECT, _tilde(id)  # noqa: A001
        elif id.startswith("chat/") or (not group and id.lower().startswith("chat/")):
            kind = ChatKind.GROUP
        elif len(parts) == 2:
            kind, id = ChatKind.GROUP, f"chat/{_tilde(parts[0])}/{parts[1]}"  # noqa: A001
        else:
            kind = ChatKind.GROUP if group else ChatKind.DIRECT
        return ParsedTarget(kind=kind, id=id, understood=f"a {kind.value} conversation, by the form of the text")


def _tilde(ship: str) -> str:
    """Any text with ``~`` in front."""
    return ship if not ship or ship.startswith("~") else f"~{ship}"


class OpenClawVoice(Voice, OpenClawRules):
    """The rules of voice calls: a send names none."""

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return super().place(target, None, reply_to)


class OpenClawZalo(Zalo, OpenClawRules):
    """The rules of Zalo. To does not distinguish groups from users."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Only ``group:`` is a group; other kind words are stripped. The id may be empty."""
        bare = self.clean(text)
        # One name after another, so that `zl:zalo:` leaves `zalo:`.
        for name in (self.channel, *self.prefixes):
            bare = self.kind_word(bare, (name,))[1]
        if not bare:
            raise self.wrong(text, "there is nothing after the name of the platform")
        word, id = self.kind_word(bare, WORDS)  # noqa: A001 -- the word
        kind = ChatKind.GROUP if word == "group" else ChatKind.DIRECT
        return ParsedTarget(kind=kind, id=id, understood=f"a {kind.value} conversation, by the prefix {word}:")

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.id}"


class OpenClawZaloPersonal(ZaloPersonal, OpenClawZalo):
    """The rules of Zalo Personal."""
